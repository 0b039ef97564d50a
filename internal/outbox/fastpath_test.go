package outbox_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/landfall-dev/landfall/internal/outbox"
)

const headStart = 5 * time.Second

// ahead gives a row the head start that writers give it.
func ahead(r *outbox.Row) { r.LaneAt = r.LaneAt.Add(headStart) }

// reports are what the stream says about rows.
func (w *world) reports(ids ...outbox.ID) (all []outbox.Fresh) {
	for _, id := range ids {
		row := w.row(id)
		all = append(all, outbox.Fresh{Entry: outbox.Entry{ID: id, LaneAt: row.LaneAt}, CreatedAt: row.CreatedAt})
	}
	return all
}

// fast is one invocation of the fast path.
func (w *world) fast(rows []outbox.Fresh) outbox.Report {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), time.Minute+outbox.FastPathFor)
	defer cancel()
	report, err := w.dispatcher.RunFastPath(ctx, rows)
	if err != nil {
		w.Fatalf("deliver: %v", err)
	}
	return report
}

// countedClaims counts claims that are tried.
type countedClaims struct {
	outbox.Store
	claims atomic.Int32
}

func (c *countedClaims) Claim(ctx context.Context, claim outbox.Claim) (outbox.Row, error) {
	c.claims.Add(1)
	return c.Store.Claim(ctx, claim)
}

func TestFastPath(t *testing.T) {
	charge := outbox.Policy{Deduplicates: day, HeadStart: headStart}
	inWorld(t, "a fresh row is sent before the sweep", func(w *world) {
		w.destination("charge", charge, accepts)
		ids := w.put("charge", 3, ahead)
		w.expect("the sweep claims", w.run().Claimed(), 0)
		report := w.fast(w.reports(ids...))
		w.expect("completed", len(report.Completed), 3)
	})
	inWorld(t, "a repeated report claims nothing, nor does one that comes late", func(w *world) {
		w.destination("charge", charge, accepts)
		reports, counted := w.reports(w.put("charge", 1, ahead)...), &countedClaims{Store: &w.Store}
		w.dispatcher.Store = counted
		w.expect("completed", len(w.fast(append(reports, reports...)).Completed), 1)
		w.expect("claims, each of which costs", int(counted.claims.Load()), 1)
		w.expect("claimed again", w.fast(reports).Claimed(), 0)
		w.expect("arrived", w.arrived[reports[0].ID], 1)
	})
	inWorld(t, "a row for later is left to the sweep until then", func(w *world) {
		w.destination("charge", charge, accepts)
		later := func(r *outbox.Row) { r.LaneAt = r.CreatedAt.Add(time.Hour + headStart) }
		reports, counted := w.reports(w.put("charge", 1, later)...), &countedClaims{Store: &w.Store}
		w.dispatcher.Store = counted
		w.expect("claimed", w.fast(reports).Claimed(), 0)
		w.expect("claims, each of which costs", int(counted.claims.Load()), 0)
		pass(time.Hour - time.Millisecond)
		w.expect("claimed just before", w.fast(reports).Claimed(), 0)
		pass(time.Millisecond)
		w.expect("claimed then", w.fast(reports).Claimed(), 1)
	})
	inWorld(t, "a report with wrong times claims no row early", func(w *world) {
		w.destination("charge", charge, accepts)
		later := func(r *outbox.Row) { r.LaneAt = r.CreatedAt.Add(time.Hour) }
		reports := w.reports(w.put("charge", 1, later)...)
		reports[0].LaneAt = w.now()
		w.expect("claimed", w.fast(reports).Claimed(), 0)
	})
	inWorld(t, "a writer whose clock is ahead does not lose the fast path, unless it is far ahead", func(w *world) {
		w.destination("charge", charge, accepts)
		by := func(d time.Duration) func(*outbox.Row) {
			return func(r *outbox.Row) { r.CreatedAt, r.LaneAt = r.CreatedAt.Add(d), r.LaneAt.Add(d+headStart) }
		}
		w.expect("claimed", w.fast(w.reports(w.put("charge", 1, by(outbox.SkewMargin))...)).Claimed(), 1)
		w.destination("far", charge, accepts)
		w.expect("claimed", w.fast(w.reports(w.put("far", 1, by(outbox.SkewMargin+time.Millisecond))...)).Claimed(), 0)
		w.expect("the earliest wait", int(w.attempts[0].Waited), 0)
	})
	inWorld(t, "a row of a destination that is retired or unknown here stays in its lane", func(w *world) {
		w.destination("gone", outbox.Policy{Retired: true}, accepts)
		ids := append(w.put("gone", 1), w.put("not-yet-deployed", 1)...)
		w.expect("touched", w.fast(w.reports(ids...)).Claimed(), 0)
		for _, id := range ids {
			if row := w.row(id); row.Status != outbox.StatusPending || row.Lane.Kind != outbox.DueLane {
				w.Errorf("%v is %s in lane %v", id, row.Status, row.Lane)
			}
		}
	})
	inWorld(t, "a row that was put off is left to the sweep", func(w *world) {
		w.destination("charge", charge, func(context.Context, outbox.Row) outbox.Outcome { return outbox.Retryable("busy", 0) })
		begun := time.Now()
		reports := w.reports(w.put("charge", 1, ahead)...)
		w.expect("retried", len(w.fast(reports).Retried), 1)
		if took := time.Since(begun); took >= time.Second {
			w.Errorf("took %v, as if it had waited for the next attempt", took)
		}
		pass(time.Minute)
		w.expect("claimed by a late report", w.fast(reports).Claimed(), 0)
	})
	inWorld(t, "a remote that stalls holds up only its own rows, and only while the run claims", func(w *world) {
		stalls := func(ctx context.Context, _ outbox.Row) outbox.Outcome {
			<-ctx.Done()
			return outbox.Unknown("", "landfall.test.stalled")
		}
		w.destination("slow", outbox.Policy{HeadStart: headStart}, stalls)
		w.destination("charge", charge, accepts)
		reports := append(w.reports(w.put("slow", 40, ahead)...), w.reports(w.put("charge", 40, ahead)...)...)
		begun := time.Now()
		report := w.fast(reports)
		w.expect("completed", len(report.Completed), 40)
		w.expect("unknown", len(report.Unknown), outbox.DefaultConcurrency)
		if took := time.Since(begun); took > outbox.DefaultSendTimeout+time.Second {
			w.Errorf("took %v", took)
		}
		for _, a := range w.attempts {
			if a.ID.Destination == "charge" && a.Waited >= time.Second {
				w.Errorf("%v waited %v", a.ID, a.Waited)
			}
		}
	})
	inWorld(t, "a remote that stalls does not hold up batch after batch", func(w *world) {
		w.dispatcher.Stalls = &outbox.Stalls{}
		var took time.Duration
		w.destination("slow", outbox.Policy{HeadStart: time.Hour}, func(context.Context, outbox.Row) outbox.Outcome {
			time.Sleep(took)
			return outbox.Completed("")
		})
		w.destination("charge", outbox.Policy{HeadStart: time.Hour}, accepts)
		slow, others := w.put("slow", 30), w.put("charge", 30)
		batch := func(want int) {
			w.Helper()
			w.expect("claimed", w.fast(w.reports(slow[0], others[0])).Claimed(), want)
			slow, others = slow[1:], others[1:]
		}
		for _, stall := range []struct{ took, leaves time.Duration }{
			{5*time.Second - time.Millisecond, 0},
			{5 * time.Second, time.Minute},
			{outbox.DefaultSendTimeout - time.Millisecond, time.Minute},
			{outbox.DefaultSendTimeout, 15 * time.Minute},
		} {
			took = stall.took
			batch(2)
			took = 0
			if stall.leaves > 0 {
				batch(1)
				pass(stall.leaves - time.Millisecond)
				batch(1)
				pass(time.Millisecond)
			}
			batch(2)
		}
	})
	inWorld(t, "a slow remote stays with the fast path if it is the only one", func(w *world) {
		w.dispatcher.Stalls = &outbox.Stalls{}
		w.destination("slow", outbox.Policy{HeadStart: time.Hour}, func(context.Context, outbox.Row) outbox.Outcome {
			time.Sleep(6 * time.Second)
			return outbox.Completed("")
		})
		for _, id := range w.put("slow", 3) {
			w.expect("claimed", w.fast(w.reports(id)).Claimed(), 1)
		}
	})
	inWorld(t, "a sender that panics leaves the other rows alone", func(w *world) {
		w.destination("charge", charge, func(_ context.Context, row outbox.Row) outbox.Outcome {
			if row.Key == "0" {
				panic("on purpose")
			}
			return outbox.Completed("")
		})
		report := w.fast(w.reports(w.put("charge", 3, ahead)...))
		w.expect("completed", len(report.Completed), 2)
	})
	inWorld(t, "an outage of the store is returned as an error, and every row stays", func(w *world) {
		b := &broken{Store: &w.Store}
		b.claim.Store(1000)
		w.dispatcher.Store = b
		w.destination("charge", charge, accepts)
		ids := w.put("charge", 1, ahead)
		if _, err := w.dispatcher.RunFastPath(w.Context(), w.reports(ids...)); !errors.Is(err, errDown) {
			w.Errorf("error %v, want that of the store", err)
		}
		if row := w.row(ids[0]); row.Status != outbox.StatusPending {
			w.Errorf("the row is %s", row.Status)
		}
	})
}
