package memory_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outbox/memory"
	"github.com/landfall-dev/landfall/internal/outbox/outboxtest"
)

func TestConformance(t *testing.T) {
	outboxtest.Run(t, outboxtest.Harness{New: func(t *testing.T) outboxtest.Subject {
		s := &lossy{}
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

// lossy loses the answer of a write that took effect, on demand.
type lossy struct {
	memory.Store
	lose bool
}

var errLost = errors.New("connection reset before the answer")

func (s *lossy) lost(err error) error {
	if s.lose {
		s.lose = false
		return errLost
	}
	return err
}

func (s *lossy) Put(ctx context.Context, row outbox.Row) error { return s.lost(s.Store.Put(ctx, row)) }

func (s *lossy) Claim(ctx context.Context, c outbox.Claim) (outbox.Row, error) {
	row, err := s.Store.Claim(ctx, c)
	return row, s.lost(err)
}

func (s *lossy) Settle(ctx context.Context, settlement outbox.Settlement) error {
	return s.lost(s.Store.Settle(ctx, settlement))
}
