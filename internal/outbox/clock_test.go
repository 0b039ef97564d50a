package outbox_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/landfall-dev/landfall/internal/outbox"
)

// faultyClock is trusted until it is off.
type faultyClock struct{ off atomic.Bool }

var errOff = errors.New("4 s ahead")

func (c *faultyClock) Trusted(time.Time) error {
	if c.off.Load() {
		return errOff
	}
	return nil
}

func TestNothingIsClaimedOrEndedWhileTheClockIsOff(t *testing.T) {
	runs := map[string]func(w *world, ids ...outbox.ID) (outbox.Report, error){
		"a sweep": func(w *world, _ ...outbox.ID) (outbox.Report, error) { return w.dispatcher.RunOnce(w.Context()) },
		"the fast path": func(w *world, ids ...outbox.ID) (outbox.Report, error) {
			return w.dispatcher.RunFastPath(w.Context(), w.reports(ids...))
		},
	}
	for name, run := range runs {
		inWorld(t, name+" leaves rows and says why once", func(w *world) {
			clock := &faultyClock{}
			w.dispatcher.Clock = clock
			w.destination("mail", outbox.Policy{}, accepts)
			ids := w.put("mail", 40)
			clock.off.Store(true)
			report, err := run(w, ids...)
			if !report.Empty() || !errors.Is(err, errOff) || strings.Count(err.Error(), errOff.Error()) != 1 || len(w.attempts) != 0 {
				w.Errorf("off: %+v, %v", report, err)
			}
			clock.off.Store(false)
			if report, err = run(w, ids...); err != nil || len(report.Completed) != 40 {
				w.Errorf("right again: %d completed, %v", len(report.Completed), err)
			}
		})
		inWorld(t, name+" sends nothing when the claim's own answer shows that the clock is off", func(w *world) {
			clock := &faultyClock{}
			w.dispatcher.Clock = clock
			w.dispatcher.Store = &turning{Store: w.dispatcher.Store, clock: clock}
			w.destination("mail", outbox.Policy{}, accepts)
			ids := w.put("mail", 1)
			before := w.row(ids[0])
			report, err := run(w, ids...)
			after := w.row(ids[0])
			if !errors.Is(err, errOff) || len(report.Retried) != 1 || w.arrived[ids[0]] != 0 ||
				after.Status != outbox.StatusPending || !after.LaneAt.Equal(before.LaneAt) || after.Code != outbox.CodeClaimLate || after.MayHaveArrived() {
				w.Errorf("%+v, %v; arrived %d times, %s, due at %v, want %v", report, err, w.arrived[ids[0]], after.Status, after.LaneAt, before.LaneAt)
			}
		})
		inWorld(t, name+" settles what it has sent when the clock turns out to be off", func(w *world) {
			clock := &faultyClock{}
			w.dispatcher.Clock, w.dispatcher.Concurrency = clock, 4
			w.destination("mail", outbox.Policy{Concurrency: 4}, func(context.Context, outbox.Row) outbox.Outcome {
				pass(time.Second)
				clock.off.Store(true)
				return outbox.Completed("")
			})
			ids := w.put("mail", 12)
			if report, err := run(w, ids...); len(report.Completed) != 4 || len(report.Unsettled) != 0 || !errors.Is(err, errOff) {
				w.Errorf("%+v, %v; want what was in flight completed", report, err)
			}
		})
	}
	for name, prepare := range map[string]func(w *world){
		"an abandoned claim is not taken over": func(w *world) { w.abandon(w.put("mail", 1)[0], outbox.Always) },
		"a row past deliver_by is not ended": func(w *world) {
			w.put("mail", 1, func(r *outbox.Row) { r.DeliverBy = w.now().Add(-time.Second) })
		},
	} {
		inWorld(t, name, func(w *world) {
			clock := &faultyClock{}
			w.destination("mail", outbox.Policy{Deduplicates: outbox.Always}, accepts)
			prepare(w)
			before := w.row(outbox.ID{Destination: "mail", Key: "0"})
			w.dispatcher.Clock = clock
			w.dispatcher.Store = &turning{Store: w.dispatcher.Store, clock: clock}
			report, err := w.dispatcher.RunOnce(w.Context())
			after := w.row(before.ID)
			if !report.Empty() || !errors.Is(err, errOff) || after.Status != before.Status || after.Token != before.Token {
				w.Errorf("%s became %s: %+v, %v", before.Status, after.Status, report, err)
			}
		})
	}
	inWorld(t, "a retired destination's row past deliver_by is not ended", func(w *world) {
		clock := &faultyClock{}
		clock.off.Store(true)
		w.dispatcher.Clock = clock
		w.destination("mail", outbox.Policy{Retired: true}, accepts)
		id := w.put("mail", 1, func(r *outbox.Row) { r.DeliverBy = w.now().Add(-time.Second) })[0]
		if report, err := w.dispatcher.RunOnce(w.Context()); !report.Empty() || !errors.Is(err, errOff) || w.row(id).Status != outbox.StatusPending {
			w.Errorf("%s: %+v, %v", w.row(id).Status, report, err)
		}
	})
}

// turning is a store whose refusal of a claim tells that the clock is off.
type turning struct {
	outbox.Store
	clock *faultyClock
}

func (s *turning) Claim(ctx context.Context, c outbox.Claim) (outbox.Row, error) {
	row, err := s.Store.Claim(ctx, c)
	s.clock.off.Store(true)
	return row, err
}

func TestNoRemoteIsAskedWhileTheClockIsOff(t *testing.T) {
	inInquiry(t, "nothing is asked, and the error says why once", func(q *inquiry) {
		clock := &faultyClock{}
		clock.off.Store(true)
		q.reconciler.Clock = clock
		q.remote("charge", outbox.Policy{}, says(outbox.AnswerCompleted))
		ids := q.doubt("charge", 12)
		report, err := q.reconciler.RunOnce(q.Context())
		if !errors.Is(err, errOff) || strings.Count(err.Error(), errOff.Error()) != 1 || len(q.asked) != 0 || len(report.Completed) != 0 {
			q.Errorf("off: %d asked, %+v, %v", len(q.asked), report, err)
		}
		clock.off.Store(false)
		q.expect("completed once it is right again", len(q.reconcile().Completed), len(ids))
	})
	for kind, want := range map[outbox.AnswerKind]outbox.Status{
		outbox.AnswerCompleted: outbox.StatusCompleted, outbox.AnswerNotFound: outbox.StatusOutcomeUnknown,
		outbox.AnswerFailed: outbox.StatusOutcomeUnknown, outbox.AnswerUnresolved: outbox.StatusOutcomeUnknown,
	} {
		inInquiry(t, "an answer that comes when the clock is off counts only if it says completed: "+kind.String(), func(q *inquiry) {
			clock := &faultyClock{}
			q.reconciler.Clock = clock
			q.remote("charge", outbox.Policy{}, func(context.Context, outbox.Row) outbox.Answer {
				clock.off.Store(true)
				return outbox.Answer{Kind: kind}
			})
			ids := q.doubt("charge", 1)
			report, err := q.reconciler.RunOnce(q.Context())
			row := q.row(ids[0])
			if row.Status != want || row.LookupCount > 0 != (want == outbox.StatusCompleted) || slices.Equal(report.Unresolved, ids) != (want == outbox.StatusOutcomeUnknown) {
				q.Errorf("%s after %d lookups, want %s; %+v", row.Status, row.LookupCount, want, report)
			}
			if want == outbox.StatusOutcomeUnknown && !errors.Is(err, errOff) {
				q.Errorf("error %v", err)
			}
		})
	}
}
