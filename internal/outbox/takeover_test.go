package outbox_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/landfall-dev/landfall/internal/outbox"
)

func TestTakingOver(t *testing.T) {
	for _, timeout := range []time.Duration{5 * time.Second, 20 * time.Second, 30 * time.Second, 10 * time.Minute} {
		inWorld(t, fmt.Sprintf("a destination that stalls for %v does not keep another's abandoned row waiting", timeout), func(w *world) {
			w.destination("good", outbox.Policy{Deduplicates: outbox.Always}, accepts)
			w.destination("slow", outbox.Policy{SendTimeout: timeout}, func(ctx context.Context, _ outbox.Row) outbox.Outcome {
				<-ctx.Done()
				return outbox.Unknown("", "test.timeout")
			})
			ids := w.put("good", 1)
			w.abandon(ids[0], outbox.Always)
			w.put("slow", 2000)
			if report := w.runFor(75*time.Second + timeout); !slices.Contains(report.Completed, ids[0]) {
				w.Errorf("the abandoned row is %s still", w.row(ids[0]).Status)
			}
		})
	}
	inWorld(t, "a row that killed its worker is claimed alone, whatever the remote said since", func(w *world) {
		var inFlight, beside atomic.Int32
		w.destination("mail", outbox.Policy{Deduplicates: outbox.Never}, func(_ context.Context, row outbox.Row) outbox.Outcome {
			defer inFlight.Add(-1)
			if n := inFlight.Add(1); row.Key == "0" && n > 1 {
				beside.Add(1)
			}
			pass(time.Second)
			if row.Key == "0" && inFlight.Load() > 1 {
				beside.Add(1)
			}
			return outbox.Completed("")
		})
		ids := w.put("mail", 1)
		w.abandon(ids[0], outbox.Never)
		w.run() // now its outcome is unknown
		row := w.row(ids[0])
		if err := w.Settle(w.Context(), outbox.Settlement{
			ID: row.ID, From: &row, Status: outbox.StatusPending, Lane: outbox.Lane{Kind: outbox.DueLane, Destination: "mail"},
			LaneAt: w.now(), Certain: true,
		}); err != nil {
			w.Fatal(err)
		}
		w.put("mail", 12, func(row *outbox.Row) { row.Key = "n" + row.Key })
		w.expect("completed", len(w.run().Completed), 13)
		w.expect("sends beside it", int(beside.Load()), 0)
	})
	inWorld(t, "a claim that is alive by any clock is left alone", func(w *world) {
		w.destination("charge", outbox.Policy{Deduplicates: day}, accepts)
		ids := w.put("charge", 1)
		w.abandon(ids[0], day)
		w.dispatcher.Now = func() time.Time { return time.Now().Add(-time.Millisecond) }
		if report := w.run(); !report.Empty() {
			w.Errorf("report = %+v, want nothing until 5 s after the claim's end", report)
		}
	})
	inWorld(t, "an abandoned claim is taken over in the run that finds it", func(w *world) {
		w.destination("charge", outbox.Policy{Deduplicates: day}, accepts)
		ids := w.put("charge", 1)
		w.abandon(ids[0], day)
		report := w.run()
		if !slices.Equal(report.Completed, ids) || !slices.Equal(report.TakenOver, ids) || report.Claimed() != 1 {
			w.Errorf("report = %+v", report)
		}
	})
	inWorld(t, "an abandoned row becomes unknown if the remote does not deduplicate", func(w *world) {
		w.destination("mail", outbox.Policy{Deduplicates: outbox.Never}, accepts)
		ids := w.put("mail", 1)
		w.abandon(ids[0], outbox.Never)
		report := w.run()
		row := w.row(ids[0])
		if !slices.Equal(report.Unknown, ids) || report.Claimed() != 0 || row.Code != outbox.CodeClaimAbandoned || w.arrived[ids[0]] != 0 {
			w.Errorf("report = %+v, code %q, sent %d times", report, row.Code, w.arrived[ids[0]])
		}
		if !row.MaybeSince.Equal(row.ClaimedAt) {
			w.Errorf("maybe_since = %v, want the abandoned claim's time %v", row.MaybeSince, row.ClaimedAt)
		}
	})
	inWorld(t, "an abandoned row is in flight alone", func(w *world) {
		var inFlight, beside atomic.Int32
		w.destination("charge", outbox.Policy{Deduplicates: day}, func(_ context.Context, row outbox.Row) outbox.Outcome {
			defer inFlight.Add(-1)
			if n := inFlight.Add(1); row.AttemptCount > 1 && n > 1 {
				beside.Add(1)
			}
			pass(time.Second)
			if row.AttemptCount > 1 && inFlight.Load() > 1 {
				beside.Add(1)
			}
			return outbox.Completed("")
		})
		w.destination("other", outbox.Policy{}, accepts)
		ids := w.put("charge", 3)
		for _, id := range ids {
			w.abandon(id, day)
		}
		w.put("other", 5)
		for i := range 10 {
			w.put("charge", 1, func(row *outbox.Row) { row.Key = fmt.Sprint("fresh", i) })
		}
		w.expect("completed", len(w.run().Completed), 18)
		w.expect("sends beside an abandoned row's", int(beside.Load()), 0)
	})
	inWorld(t, "an abandoned row is taken over in spite of an endless backlog", func(w *world) {
		w.destination("charge", outbox.Policy{Deduplicates: day, Concurrency: 1}, func(context.Context, outbox.Row) outbox.Outcome {
			pass(time.Second)
			return outbox.Completed("")
		})
		ids := w.put("charge", 1)
		w.abandon(ids[0], day)
		w.put("charge", 500, func(row *outbox.Row) { row.Key = "b" + row.Key })
		report := w.run()
		if !slices.Contains(report.Completed, ids[0]) {
			w.Errorf("the abandoned row is %s still after a run that claimed %d", w.row(ids[0]).Status, report.Claimed())
		}
	})
	inWorld(t, "a row that kills every worker ends with its budget", func(w *world) {
		w.destination("charge", outbox.Policy{Deduplicates: outbox.Always}, accepts)
		id := w.put("charge", 1)[0]
		w.abandon(id, outbox.Always)
		for range 20 { // every send dies with its worker
			row := w.row(id)
			if outbox.Examine(w.policy(0), row, w.now()).Kind == outbox.TakeOver {
				if _, err := w.Claim(w.Context(), outbox.Claim{
					ID: id, Token: fmt.Sprint("dead", row.AttemptCount), At: w.now(), Until: w.now().Add(time.Second), Attempts: 5, From: &row,
				}); err != nil {
					w.Fatal(err)
				}
			}
			pass(time.Minute)
		}
		w.run()
		if row := w.row(id); row.Status != outbox.StatusOutcomeUnknown || row.AttemptCount != outbox.DefaultAttempts {
			w.Errorf("row is %s after %d attempts, want outcome_unknown after %d", row.Status, row.AttemptCount, outbox.DefaultAttempts)
		}
	})
}

func (w *world) policy(i int) outbox.Policy {
	return w.dispatcher.Destinations[i].Policy.WithDefaults()
}
