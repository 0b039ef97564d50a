package outbox_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/landfall-dev/landfall/internal/outbox"
)

func TestRacesOfReconcilers(t *testing.T) {
	during := func(q *inquiry, then func(row outbox.Row), answer outbox.AnswerKind) answers {
		return func(_ context.Context, row outbox.Row) outbox.Answer {
			then(row)
			return outbox.Answer{Kind: answer}
		}
	}
	operator := func(q *inquiry, id outbox.ID, order outbox.Order) {
		order.By, order.Reason = "ada", "the remote's console shows it"
		o := outbox.Operator{Store: &q.Store, Destinations: q.reconciler.Destinations}
		if _, err := o.Do(q.Context(), id, order); err != nil {
			q.Error(err)
		}
	}
	for name, c := range map[string]struct {
		then func(q *inquiry, row outbox.Row)
		want outbox.Status
	}{
		"a late answer of the original send": {func(q *inquiry, row outbox.Row) {
			if err := q.Settle(q.Context(), outbox.Decide(outbox.Policy{}.WithDefaults(), row, outbox.Completed("late"), q.now())); err != nil {
				q.Error(err)
			}
		}, outbox.StatusCompleted},
		"an operator who completes it": {func(q *inquiry, row outbox.Row) {
			operator(q, row.ID, outbox.Order{Move: outbox.MarkCompleted})
		}, outbox.StatusCompleted},
		"an operator who fails it": {func(q *inquiry, row outbox.Row) {
			operator(q, row.ID, outbox.Order{Move: outbox.MarkFailed})
		}, outbox.StatusFailed},
		"a second reconciler and a new claim": {func(q *inquiry, row outbox.Row) {
			second := outbox.Reconciler{Store: &q.Store, Destinations: []outbox.Destination{{Name: "charge", Lookup: says(outbox.AnswerNotFound)}}}
			if r, err := second.RunOnce(q.Context()); err != nil || !slices.Equal(r.Resent, []outbox.ID{row.ID}) {
				q.Errorf("%+v, %v", r, err)
			}
			if _, err := q.Claim(q.Context(), outbox.Claim{ID: row.ID, Token: "new", At: q.now(), Until: q.now().Add(time.Minute), Attempts: 5}); err != nil {
				q.Error(err)
			}
		}, outbox.StatusDispatching},
	} {
		inInquiry(t, "a settlement made during the lookup stays: "+name, func(q *inquiry) {
			for _, answer := range []outbox.AnswerKind{outbox.AnswerNotFound, outbox.AnswerUnresolved} {
				q.reconciler.Destinations = nil
				q.remote("charge", outbox.Policy{}, during(q, func(row outbox.Row) { c.then(q, row) }, answer))
				ids := q.doubt("charge", 1, func(r *outbox.Row) { r.Key = answer.String() })
				if r := q.reconcile(); !slices.Equal(r.Skipped, ids) {
					q.Errorf("%v: report = %+v", answer, r)
				}
				if row := q.row(ids[0]); row.Status != c.want {
					q.Errorf("%v: the row is %s, want %s", answer, row.Status, c.want)
				}
				if look := q.looks[len(q.looks)-1]; look.Status != "" || !errors.Is(look.Err, outbox.ErrConflict) {
					q.Errorf("%v: reported as settled: %+v", answer, look)
				}
			}
		})
	}
	inInquiry(t, "one of two reconcilers counts the lookup", func(q *inquiry) {
		var both sync.WaitGroup
		both.Add(2)
		q.remote("charge", outbox.Policy{}, func(context.Context, outbox.Row) outbox.Answer {
			both.Done()
			both.Wait()
			return outbox.Answer{Kind: outbox.AnswerUnresolved}
		})
		id := q.doubt("charge", 1)[0]
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() { q.reconcile() })
		}
		all.Wait()
		q.expect("lookups counted", q.row(id).LookupCount, 1)
	})
}

func TestBoundsOfReconciling(t *testing.T) {
	inInquiry(t, "concurrency is never exceeded", func(q *inquiry) {
		var now, most atomic.Int32
		q.reconciler.Concurrency = 5
		for _, name := range []string{"a", "b"} {
			q.remote(name, outbox.Policy{Concurrency: 3, Shards: 2}, func(context.Context, outbox.Row) outbox.Answer {
				for n := now.Add(1); ; {
					if m := most.Load(); n <= m || most.CompareAndSwap(m, n) {
						break
					}
				}
				pass(time.Second)
				now.Add(-1)
				return outbox.Answer{Kind: outbox.AnswerCompleted}
			})
			q.put(name, 20, func(r *outbox.Row) { r.Lane.Shard = r.Shard(2) })
			for _, row := range q.Rows() {
				if row.Destination == name {
					q.settleUnknown(row.ID)
				}
			}
		}
		pass(time.Hour)
		q.expect("completed", len(q.reconcile().Completed), 40)
		q.expect("most lookups in flight", int(most.Load()), 5)
	})
	inInquiry(t, "a row is asked about only with time left to settle it", func(q *inquiry) {
		q.remote("charge", outbox.Policy{}, says(outbox.AnswerCompleted))
		q.doubt("charge", 3)
		ctx, cancel := context.WithTimeout(q.Context(), outbox.LookupTimeout+outbox.ClaimMargin-time.Millisecond)
		defer cancel()
		if r, err := q.reconciler.RunOnce(ctx); err != nil || len(r.Completed) != 0 {
			q.Errorf("%+v, %v", r, err)
		}
	})
	inInquiry(t, "a row that waited too long for a slot is not asked about", func(q *inquiry) {
		q.remote("charge", outbox.Policy{Concurrency: 1}, func(context.Context, outbox.Row) outbox.Answer {
			pass(9 * time.Second)
			return outbox.Answer{Kind: outbox.AnswerCompleted}
		})
		q.doubt("charge", 5)
		ctx, cancel := context.WithTimeout(q.Context(), 30*time.Second)
		defer cancel()
		if r, err := q.reconciler.RunOnce(ctx); err != nil || len(r.Completed) != 2 {
			q.Errorf("%d lookups of 9 s in 30 s: %v", len(r.Completed), err)
		}
	})
	inInquiry(t, "a run ends in time though a remote is slow", func(q *inquiry) {
		q.remote("charge", outbox.Policy{Concurrency: 1}, func(ctx context.Context, _ outbox.Row) outbox.Answer {
			<-ctx.Done()
			return outbox.Answer{Code: "test.timeout"}
		})
		q.remote("mail", outbox.Policy{}, says(outbox.AnswerCompleted))
		q.doubt("charge", 100)
		q.doubt("mail", 10)
		begun := time.Now()
		r := q.reconcile()
		if took := time.Since(begun); took > outbox.SweepFor+outbox.LookupTimeout || len(r.Completed) != 10 || len(r.Unresolved) != 6 {
			q.Errorf("took %v: %d completed, %d unresolved", took, len(r.Completed), len(r.Unresolved))
		}
	})
	inInquiry(t, "parts never overlap and leave no lane out", func(q *inquiry) {
		for _, name := range []string{"a", "b", "c"} {
			q.remote(name, outbox.Policy{Shards: 7}, nil)
		}
		for q.reconciler.Of = 4; q.reconciler.Part < 4; q.reconciler.Part++ {
			q.reconcile()
		}
		lanes := map[outbox.Lane]int{}
		for _, walk := range q.walks {
			lanes[walk.Lane]++
		}
		if len(lanes) != 21 || len(q.walks) != 21 {
			q.Errorf("%d walks of %d lanes, want 21 of 21", len(q.walks), len(lanes))
		}
		if _, err := q.reconciler.RunOnce(q.Context()); err == nil {
			q.Error("part 4 of 4: no error")
		}
	})
	inInquiry(t, "a run that could not list, read or settle returns the error", func(q *inquiry) {
		q.remote("charge", outbox.Policy{}, says(outbox.AnswerCompleted))
		ids := q.doubt("charge", 1)
		store := &broken{Store: &q.Store}
		q.reconciler.Store = store
		for name, calls := range map[string]*atomic.Int32{"list": &store.list, "get": &store.get, "settle": &store.settle} {
			calls.Store(-1)
			q.walks = nil
			r, err := q.reconciler.RunOnce(q.Context())
			calls.Store(0)
			if name == "list" {
				q.expect("lanes said to have been walked", len(q.walks), 0)
			}
			if !errors.Is(err, errDown) || len(r.Completed) != 0 || q.row(ids[0]).Status != outbox.StatusOutcomeUnknown {
				q.Errorf("%s failed, the run says %v, %+v", name, err, r)
			}
		}
		store.settle.Store(3)
		q.expect("completed by a run that had to repeat", len(q.reconcile().Completed), 1)
	})
}
