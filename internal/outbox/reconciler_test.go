package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/landfall-dev/landfall/internal/outbox"
)

// inquiry is a world whose rows are in doubt, a reconciler, and remotes that answer as they are told.
type inquiry struct {
	*world
	reconciler outbox.Reconciler

	mu    sync.Mutex
	asked map[outbox.ID]int
	looks []outbox.Look
}

type answers func(ctx context.Context, row outbox.Row) outbox.Answer

func (a answers) Look(ctx context.Context, row outbox.Row) outbox.Answer { return a(ctx, row) }

func says(kind outbox.AnswerKind) answers {
	return func(context.Context, outbox.Row) outbox.Answer { return outbox.Answer{Kind: kind} }
}

func inInquiry(t *testing.T, name string, test func(q *inquiry)) {
	t.Helper()
	inWorld(t, name, func(w *world) {
		q := &inquiry{world: w, asked: map[outbox.ID]int{}}
		q.reconciler = outbox.Reconciler{Store: &w.Store, Observer: q}
		test(q)
	})
}

func (q *inquiry) Looked(l outbox.Look) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.looks = append(q.looks, l)
}

// remote adds a destination; without answers it has no lookup.
func (q *inquiry) remote(name string, policy outbox.Policy, a answers) {
	d := outbox.Destination{Name: name, Policy: policy}
	if a != nil {
		d.Lookup = answers(func(ctx context.Context, row outbox.Row) outbox.Answer {
			q.mu.Lock()
			q.asked[row.ID]++
			q.mu.Unlock()
			return a(ctx, row)
		})
	}
	q.reconciler.Destinations = append(q.reconciler.Destinations, d)
}

// doubt puts n rows, sends each once with an unknown outcome, and lets the time pass until which such an
// attempt may arrive.
func (q *inquiry) doubt(destination string, n int, with ...func(*outbox.Row)) (ids []outbox.ID) {
	q.Helper()
	ids = q.put(destination, n, with...)
	for _, id := range ids {
		q.settleUnknown(id)
	}
	pass(40*time.Second + outbox.DefaultLateArrival + outbox.SkewMargin)
	return ids
}

func (q *inquiry) settleUnknown(id outbox.ID) {
	q.Helper()
	row, err := q.Claim(q.Context(), outbox.Claim{ID: id, Token: "t-" + id.Key, At: q.now(), Until: q.now().Add(40 * time.Second), Attempts: 5})
	if err == nil {
		err = q.Settle(q.Context(), outbox.Decide(outbox.Policy{}.WithDefaults(), row, outbox.Unknown("", "test.cut"), q.now()))
	}
	if err != nil {
		q.Fatal(err)
	}
}

func (q *inquiry) reconcile() outbox.ReconcileReport {
	q.Helper()
	ctx, cancel := context.WithTimeout(q.Context(), 80*time.Second)
	defer cancel()
	report, err := q.reconciler.RunOnce(ctx)
	if err != nil {
		q.Fatalf("reconcile: %v", err)
	}
	return report
}

func TestReconciling(t *testing.T) {
	inInquiry(t, "each answer of a remote is filed under its own status and counted once", func(q *inquiry) {
		kinds := []outbox.AnswerKind{outbox.AnswerCompleted, outbox.AnswerFailed, outbox.AnswerNotFound, outbox.AnswerUnresolved}
		q.remote("charge", outbox.Policy{}, func(_ context.Context, row outbox.Row) outbox.Answer {
			return outbox.Answer{Kind: kinds[row.Key[0]-'0'], Ref: "ch_" + row.Key}
		})
		ids := q.doubt("charge", 4)
		r := q.reconcile()
		for i, got := range [][]outbox.ID{r.Completed, r.Failed, r.Resent, r.Unresolved} {
			if !slices.Equal(got, ids[i:i+1]) {
				q.Errorf("%v: %v, want %v", kinds[i], got, ids[i])
			}
			if row := q.row(ids[i]); row.RemoteRef != fmt.Sprint("ch_", i) || row.LookupCount != 1 {
				q.Errorf("%v: remote_ref %q, %d lookups", kinds[i], row.RemoteRef, row.LookupCount)
			}
		}
	})
	inInquiry(t, "a remote is never asked while an attempt may still arrive", func(q *inquiry) {
		q.remote("charge", outbox.Policy{}, says(outbox.AnswerNotFound))
		ids := q.put("charge", 1)
		q.settleUnknown(ids[0])
		pass(40*time.Second + outbox.DefaultLateArrival + outbox.SkewMargin - time.Millisecond)
		if r := q.reconcile(); len(q.asked) != 0 || len(r.Resent) != 0 {
			q.Errorf("asked a millisecond early: %+v", r)
		}
		pass(time.Millisecond)
		q.expect("resent at the time", len(q.reconcile().Resent), 1)
	})
	inInquiry(t, "a longer late_arrival holds for rows from before the change", func(q *inquiry) {
		q.remote("charge", outbox.Policy{LateArrival: time.Hour}, says(outbox.AnswerNotFound))
		ids := q.doubt("charge", 1)
		if r := q.reconcile(); !slices.Equal(r.Skipped, ids) || len(q.asked) != 0 {
			q.Errorf("report = %+v", r)
		}
	})
	inInquiry(t, "a remote that cannot say is asked less and less often, for ever", func(q *inquiry) {
		q.remote("charge", outbox.Policy{Attempts: 1}, says(outbox.AnswerUnresolved))
		ids := q.doubt("charge", 1, func(r *outbox.Row) { r.DeliverBy = q.now().Add(time.Minute) })
		for range 24 * 60 {
			q.reconcile()
			pass(time.Minute)
		}
		if n := q.asked[ids[0]]; n < 24 || n > 28 || q.row(ids[0]).Status != outbox.StatusOutcomeUnknown {
			q.Errorf("asked %d times in a day, row is %s", n, q.row(ids[0]).Status)
		}
		if age := q.looks[len(q.looks)-1].Age; age < 22*time.Hour {
			q.Errorf("after a day the age of the doubt is %v", age)
		}
	})
	inInquiry(t, "a row that never arrived is sent again", func(q *inquiry) {
		q.remote("mail", outbox.Policy{}, says(outbox.AnswerNotFound))
		q.destination("mail", outbox.Policy{}, accepts)
		ids := q.doubt("mail", 3)
		q.expect("resent", len(q.reconcile().Resent), 3)
		q.expect("completed", len(q.run().Completed), 3)
		if row := q.row(ids[0]); row.AttemptCount != 2 || row.MayHaveArrived() {
			q.Errorf("%d attempts, maybe_since = %v", row.AttemptCount, row.MaybeSince)
		}
	})
	inInquiry(t, "a lookup that panics, hangs or fails decides nothing and touches no other row", func(q *inquiry) {
		release := make(chan struct{})
		q.remote("charge", outbox.Policy{}, func(_ context.Context, row outbox.Row) outbox.Answer {
			switch row.Key {
			case "1":
				panic("secret payload")
			case "2":
				<-release
			case "3":
				return outbox.Answer{Code: "test.down"}
			}
			return outbox.Answer{Kind: outbox.AnswerCompleted}
		})
		ids := q.doubt("charge", 6)
		r := q.reconcile()
		close(release)
		q.expect("completed", len(r.Completed), 3)
		if !slices.Equal(r.Unresolved, ids[1:4]) {
			q.Errorf("unresolved = %v", r.Unresolved)
		}
		for i, code := range map[int]string{1: outbox.CodeLookupPanicked, 2: outbox.CodeLookupNoAnswer, 3: "test.down"} {
			if row := q.row(ids[i]); row.Status != outbox.StatusOutcomeUnknown || row.Code != code || !row.MayHaveArrived() {
				q.Errorf("row %d is %s, %q", i, row.Status, row.Code)
			}
		}
		for _, look := range q.looks {
			if (look.Panic != nil) != (look.ID == ids[1]) || look.Panic != nil && look.Panic.Type != "string" {
				q.Errorf("%v: panic %+v", look.ID, look.Panic)
			}
			if look.ID == ids[2] && look.Latency < outbox.LookupTimeout {
				q.Errorf("the lookup that hung took %v", look.Latency)
			}
		}
	})
}

func TestRowsThatCannotBeAskedAbout(t *testing.T) {
	inInquiry(t, "rows without a lookup are counted and left alone", func(q *inquiry) {
		q.remote("mail", outbox.Policy{}, nil)
		ids := q.doubt("mail", 25)
		before := q.Rows()
		pass(time.Hour)
		store := &broken{Store: &q.Store}
		store.get.Store(-1) // reading them all every time would cost more than it tells
		q.reconciler.Store = store
		if r := q.reconcile(); !slices.EqualFunc(r.WithoutLookup, ids, func(a, b outbox.ID) bool { return a.Destination == b.Destination }) {
			q.Errorf("%d rows wait for a person, want %d", len(r.WithoutLookup), len(ids))
		}
		if walk := q.walks[0]; walk.Due != 25 || walk.OldestDue != time.Hour {
			q.Errorf("walk = %+v", walk)
		}
		for i, row := range q.Rows() {
			if row.LookupCount != 0 || !row.LaneAt.Equal(before[i].LaneAt) {
				q.Errorf("row %v was touched", row.ID)
			}
		}
	})
	inInquiry(t, "a row that cannot be read is not asked about and stays for a person", func(q *inquiry) {
		q.remote("charge", outbox.Policy{}, says(outbox.AnswerNotFound))
		q.remote("other", outbox.Policy{}, says(outbox.AnswerNotFound))
		ids := q.put("charge", 2, func(r *outbox.Row) {
			r.Status, r.Lane.Kind, r.MaybeSince = outbox.StatusOutcomeUnknown, outbox.UnknownLane, q.now()
			if r.Key == "0" {
				r.Unreadable = errors.New("payload: missing")
			} else {
				r.Lane.Destination = "other"
			}
		})
		for range 3 {
			if r := q.reconcile(); !slices.Equal(r.WithoutLookup, ids) || len(q.asked) != 0 {
				q.Errorf("report = %+v", r)
			}
		}
	})
	inInquiry(t, "a row that strayed into an unknown lane is ended", func(q *inquiry) {
		q.remote("charge", outbox.Policy{}, says(outbox.AnswerNotFound))
		ids := q.put("charge", 2, func(r *outbox.Row) {
			if r.Lane.Kind = outbox.UnknownLane; r.Key == "1" {
				r.MaybeSince = q.now()
			}
		})
		r := q.reconcile()
		if !slices.Equal(r.Failed, ids[:1]) || !slices.Equal(r.Unresolved, ids[1:]) || len(q.asked) != 0 {
			q.Errorf("report = %+v", r)
		}
		if row := q.row(ids[0]); row.Code != outbox.CodeRowInvalid {
			q.Errorf("code %q", row.Code)
		}
	})
	inInquiry(t, "rows of a stale index are skipped", func(q *inquiry) {
		q.remote("charge", outbox.Policy{}, func(_ context.Context, row outbox.Row) outbox.Answer {
			return outbox.Answer{Kind: outbox.AnswerKind(row.Key[0] - '0')} // unresolved, completed
		})
		ids := q.doubt("charge", 2)
		stale := &frozen{Store: &q.Store}
		q.reconciler.Store = stale
		q.reconcile()
		pass(time.Second)
		q.walks = nil
		if r := q.reconcile(); !slices.Equal(r.Skipped, ids) || q.asked[ids[0]] != 1 {
			q.Errorf("report = %+v, asked %d times", r, q.asked[ids[0]])
		}
		if walk := q.walks[0]; walk.Due != 2 || walk.OldestDue != 0 {
			q.Errorf("walk = %+v", walk)
		}
	})
}

// frozen is a store whose index shows for ever what it showed at first.
type frozen struct {
	outbox.Store
	page []outbox.Entry
}

func (f *frozen) List(ctx context.Context, lane outbox.Lane, before time.Time, after string) ([]outbox.Entry, string, error) {
	if f.page != nil {
		return f.page, "", nil
	}
	page, next, err := f.Store.List(ctx, lane, before, after)
	f.page = page
	return page, next, err
}
