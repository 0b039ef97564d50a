package memory_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/landfall-dev/landfall/internal/lab/memory"
	"github.com/landfall-dev/landfall/internal/lab/outboxtest"
	"github.com/landfall-dev/landfall/internal/outbox"
)

func TestRowsConformance(t *testing.T) {
	outboxtest.Run(t, outboxtest.Harness{New: func(t *testing.T) outboxtest.Subject {
		s := &lossyRows{}
		return outboxtest.Subject{
			Store:      s,
			LoseAnswer: func() { s.lose = true },
			Raw: func(t *testing.T, id outbox.ID) string {
				row, err := s.Get(t.Context(), id)
				if errors.Is(err, outbox.ErrNotFound) {
					return ""
				}
				raw, err := json.Marshal(row)
				if err != nil {
					t.Fatal(err)
				}
				return string(raw)
			},
		}
	}})
}

// lossyRows loses the answer of a write that took effect, on demand.
type lossyRows struct {
	memory.Store
	lose bool
}

func (s *lossyRows) lost(err error) error {
	if s.lose {
		s.lose = false
		return errLost
	}
	return err
}

func (s *lossyRows) Put(ctx context.Context, row outbox.Row) error {
	return s.lost(s.Store.Put(ctx, row))
}

func (s *lossyRows) Claim(ctx context.Context, c outbox.Claim) (outbox.Row, error) {
	row, err := s.Store.Claim(ctx, c)
	return row, s.lost(err)
}

func (s *lossyRows) Settle(ctx context.Context, settlement outbox.Settlement) error {
	return s.lost(s.Store.Settle(ctx, settlement))
}
