package outbox_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/landfall-dev/landfall/internal/outbox"
)

func TestReconcilingLanes(t *testing.T) {
	inInquiry(t, "every unknown lane is walked though one has more rows than a run can ask about", func(q *inquiry) {
		q.remote("charge", outbox.Policy{Shards: 2, Concurrency: 1}, func(ctx context.Context, _ outbox.Row) outbox.Answer {
			<-ctx.Done()
			return outbox.Answer{}
		})
		q.doubt("charge", 100)
		ids := q.doubt("charge", 1, func(row *outbox.Row) { row.Key, row.Lane.Shard = "behind", 1 })
		for range 2 {
			begun := time.Now()
			q.reconcile()
			pass(time.Until(begun.Add(time.Minute)))
		}
		if q.asked[ids[0]] == 0 {
			q.Error("the row of the other lane was not asked about in two runs")
		}
		for _, walk := range q.walks {
			if walk.Due == 0 {
				q.Errorf("lane %v is said to be empty", walk.Lane)
			}
		}
	})
}

func TestFrozenProcessSendsOnlyWithinItsClaim(t *testing.T) {
	inWorld(t, "frozen between the check and the send", func(w *world) {
		var claimed atomic.Bool
		w.dispatcher.Store = &telling{Store: &w.Store, claimed: &claimed}
		w.dispatcher.Now = func() time.Time {
			if claimed.CompareAndSwap(true, false) {
				now := time.Now()
				pass(4 * time.Second)
				return now
			}
			return time.Now()
		}
		begun := time.Now()
		w.destination("mail", outbox.Policy{}, func(ctx context.Context, _ outbox.Row) outbox.Outcome {
			if deadline, _ := ctx.Deadline(); deadline.Sub(begun) > outbox.DefaultSendTimeout {
				w.Errorf("the send may take until %v after the claim, want %v", deadline.Sub(begun), outbox.DefaultSendTimeout)
			}
			return outbox.Completed("")
		})
		w.put("mail", 1)
		w.expect("completed", len(w.run().Completed), 1)
	})
}

// telling is a store that says when it has granted a claim.
type telling struct {
	outbox.Store
	claimed *atomic.Bool
}

func (s *telling) Claim(ctx context.Context, c outbox.Claim) (outbox.Row, error) {
	row, err := s.Store.Claim(ctx, c)
	s.claimed.Store(err == nil)
	return row, err
}
