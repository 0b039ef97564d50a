package outbox_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/landfall-dev/landfall/internal/outbox"
)

func TestOperator(t *testing.T) {
	order := func(move outbox.Move) outbox.Order {
		return outbox.Order{Move: move, By: "ada", Reason: "seen in the console"}
	}
	operator := func(q *inquiry) *outbox.Operator {
		q.remote("mail", outbox.Policy{}, nil)
		return &outbox.Operator{Store: &q.Store, Destinations: q.reconciler.Destinations}
	}
	inInquiry(t, "a plan changes nothing and says what the order would do", func(q *inquiry) {
		o := operator(q)
		id := q.doubt("mail", 1)[0]
		before := q.row(id)
		resend := order(outbox.Resend)
		resend.NeverArrived = true
		op, err := o.Plan(q.Context(), id, resend)
		if err != nil || op.After.Status != outbox.StatusPending || !strings.Contains(op.Explain(), "outcome_unknown -> pending") {
			q.Errorf("%v: %s", err, op.Explain())
		}
		if after := q.row(id); after.Status != before.Status || after.ResolvedBy != "" || !after.LaneAt.Equal(before.LaneAt) {
			q.Errorf("the row became %s", after.Status)
		}
	})
	inInquiry(t, "an order on a row that changed is a conflict", func(q *inquiry) {
		o := operator(q)
		id := q.doubt("mail", 1)[0]
		o.Store = &overtaken{Store: &q.Store, then: func() {
			late := outbox.Decide(outbox.Policy{}.WithDefaults(), q.row(id), outbox.Completed("late"), q.now())
			if err := q.Settle(q.Context(), late); err != nil {
				q.Error(err)
			}
		}}
		resend := order(outbox.Resend)
		resend.NeverArrived = true
		if _, err := o.Do(q.Context(), id, resend); !errors.Is(err, outbox.ErrConflict) {
			q.Errorf("error = %v, want a conflict", err)
		}
		if row := q.row(id); row.Status != outbox.StatusCompleted || row.RemoteRef != "late" || row.ResolvedBy != "" {
			q.Errorf("the row is %s, %q, resolved by %q", row.Status, row.RemoteRef, row.ResolvedBy)
		}
	})
	inInquiry(t, "an order happens once though the store answers late", func(q *inquiry) {
		o := operator(q)
		id := q.doubt("mail", 1)[0]
		store := &broken{Store: &q.Store}
		store.settle.Store(3)
		o.Store = store
		if _, err := o.Do(q.Context(), id, order(outbox.MarkFailed)); err != nil || q.row(id).Status != outbox.StatusFailed {
			q.Errorf("%v: the row is %s", err, q.row(id).Status)
		}
	})
	inInquiry(t, "a retried row has a new budget", func(q *inquiry) {
		o := operator(q)
		fails := true
		q.destination("mail", outbox.Policy{Attempts: 2}, func(context.Context, outbox.Row) outbox.Outcome {
			if fails {
				return outbox.Retryable("test.busy", 0)
			}
			return outbox.Completed("")
		})
		id := q.put("mail", 1)[0]
		q.run()
		if row := q.row(id); row.Status != outbox.StatusFailed || row.AttemptCount != 2 {
			q.Fatalf("the row is %s after %d attempts", row.Status, row.AttemptCount)
		}
		fails = false
		if _, err := o.Do(q.Context(), id, order(outbox.Retry)); err != nil {
			q.Fatal(err)
		}
		q.expect("completed", len(q.run().Completed), 1)
	})
	inInquiry(t, "a cancelled row is never sent", func(q *inquiry) {
		o := operator(q)
		q.destination("mail", outbox.Policy{}, accepts)
		id := q.put("mail", 1)[0]
		if _, err := o.Do(q.Context(), id, order(outbox.Cancel)); err != nil {
			q.Fatal(err)
		}
		q.run()
		if row := q.row(id); row.Status != outbox.StatusFailed || row.Code != outbox.CodeCancelled || q.arrived[id] != 0 {
			q.Errorf("the row is %s, %q, sent %d times", row.Status, row.Code, q.arrived[id])
		}
	})
	inInquiry(t, "a row that does not exist or has no destination is an error", func(q *inquiry) {
		o := operator(q)
		if _, err := o.Do(q.Context(), outbox.ID{Destination: "mail", Key: "none"}, order(outbox.Retry)); !errors.Is(err, outbox.ErrNotFound) {
			q.Errorf("no row: %v", err)
		}
		if _, err := o.Do(q.Context(), outbox.ID{Destination: "nowhere", Key: "none"}, order(outbox.Retry)); !errors.Is(err, outbox.ErrNotAllowed) {
			q.Errorf("no destination: %v", err)
		}
	})
}

// overtaken is a store in which something happens between reading and writing.
type overtaken struct {
	outbox.Store
	then func()
}

func (o *overtaken) Settle(ctx context.Context, s outbox.Settlement) error {
	o.then()
	return o.Store.Settle(ctx, s)
}
