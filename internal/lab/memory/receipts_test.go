package memory_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/landfall-dev/landfall/internal/lab/memory"
	"github.com/landfall-dev/landfall/internal/lab/routingtest"
	"github.com/landfall-dev/landfall/internal/routing"
)

func TestReceiptsConformance(t *testing.T) {
	routingtest.Run(t, routingtest.Harness{New: func(t *testing.T) routingtest.Subject {
		s := &lossyReceipts{}
		return routingtest.Subject{
			Store:      s,
			LoseAnswer: func() { s.lose = true },
			Raw: func(t *testing.T, id routing.ID) string {
				receipt, err := s.Get(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				raw, err := json.Marshal(receipt)
				if err != nil {
					t.Fatal(err)
				}
				return string(raw)
			},
		}
	}})
}

// lossyReceipts loses the answer of a write that took effect, on demand.
type lossyReceipts struct {
	memory.Receipts
	lose bool
}

var errLost = errors.New("connection reset before the answer")

func (s *lossyReceipts) Write(ctx context.Context, m routing.Move) (routing.Receipt, error) {
	receipt, err := s.Receipts.Write(ctx, m)
	if s.lose {
		s.lose = false
		return routing.Receipt{}, errLost
	}
	return receipt, err
}

func TestUnknownGroupIsErrNoGroup(t *testing.T) {
	t.Parallel()
	var groups memory.Groups
	if _, err := groups.Snapshot(t.Context(), "couriers"); !errors.Is(err, routing.ErrNoGroup) {
		t.Errorf("err = %v, want ErrNoGroup", err)
	}
	groups.Set(routing.Snapshot{Group: routing.NewGroup("couriers")})
	if s, err := groups.Snapshot(t.Context(), "couriers"); err != nil || s.Name != "couriers" {
		t.Errorf("snapshot = %v, %v", s, err)
	}
}
