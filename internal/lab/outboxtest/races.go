package outboxtest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/landfall-dev/landfall/internal/outbox"
)

func (h Harness) races(t *testing.T) {
	h.claimRaces(t)
	h.settlementRaces(t)
	h.orderRaces(t)
	h.staleReadings(t)
	h.lookupRaces(t)
}

// claimRaces are between workers that claim one row.
func (h Harness) claimRaces(t *testing.T) {
	for name, fromReading := range map[string]bool{"blind": false, "as read": true} {
		h.each(t, "a row is never claimed by two workers, "+name, func(b *bench) {
			b.put(b.fresh())
			var from *outbox.Row
			if fromReading {
				row := b.get()
				from = &row
			}
			b.exclusive(from)
		})
	}
	h.each(t, "an abandoned claim is never taken over by two workers", func(b *bench) {
		b.put(b.fresh())
		row := b.claimed(nil)
		b.exclusive(&row)
		if after := b.get(); !after.MaybeSince.Equal(row.ClaimedAt) || after.AttemptCount != 2 {
			b.t.Errorf("maybe_since = %v, attempt_count = %d; want the abandoned claim's time, 2", after.MaybeSince, after.AttemptCount)
		}
	})
	h.each(t, "the end of a claim does not move back while an attempt may have arrived", func(b *bench) {
		b.put(b.fresh())
		row := b.claimed(nil)
		shorter := b.claim(&row)
		shorter.Until, shorter.Window = b.now.Add(time.Second), outbox.Never
		if _, err := b.subject.Store.Claim(b.t.Context(), shorter); err != nil {
			b.t.Fatal(err)
		}
		if after := b.get(); !after.Until.Equal(row.Until) || after.Window != row.Window {
			b.t.Errorf("until = %v, window = %v; want those of the first claim: %v, %v", after.Until, after.Window, row.Until, row.Window)
		}
	})
}

// settlementRaces are between claims and settlements of other readings.
func (h Harness) settlementRaces(t *testing.T) {
	h.each(t, "a claim that was taken over cannot settle", func(b *bench) {
		b.put(b.fresh())
		first := b.claimed(nil)
		second := b.claimed(&first)
		for _, status := range []outbox.Status{outbox.StatusCompleted, outbox.StatusFailed, outbox.StatusPending, outbox.StatusOutcomeUnknown} {
			b.conflicts(held(b.to(status), first.Token))
		}
		b.settled(held(b.to(outbox.StatusCompleted), second.Token))
	})
	h.each(t, "a late copy of a blind claim is refused once its row was settled and given back", func(b *bench) {
		b.put(b.fresh())
		claim := b.claim(nil)
		if _, err := b.subject.Store.Claim(b.t.Context(), claim); err != nil {
			b.t.Fatal(err)
		}
		b.settled(held(b.to(outbox.StatusFailed), claim.Token))
		retry := operator(outbox.StatusPending, false)(b, b.get())
		retry.LaneAt = b.now.Add(-time.Second) // by a clock that is behind
		b.settled(retry)
		before := b.subject.Raw(b.t, b.id)
		_, err := b.subject.Store.Claim(b.t.Context(), claim)
		var refused *outbox.RefusedError
		if !errors.As(err, &refused) {
			b.t.Errorf("the copy: %v, want a refusal", err)
		}
		if after := b.subject.Raw(b.t, b.id); after != before {
			b.t.Errorf("the stored row changed:\n%s\n%s", before, after)
		}
		b.claimed(nil) // under another token it is claimed
	})
	h.each(t, "a settlement of a row as read before a claim ended is a conflict", func(b *bench) {
		b.put(b.fresh())
		fresh := b.get()
		claimed := b.claimed(nil)
		b.settled(held(b.to(outbox.StatusPending), claimed.Token))
		before := b.subject.Raw(b.t, b.id)
		for name, row := range map[string]outbox.Row{"before the claim": fresh, "during the claim": claimed} {
			_, err := b.subject.Store.Claim(b.t.Context(), b.claim(&row))
			var refused *outbox.RefusedError
			if !errors.As(err, &refused) {
				b.t.Errorf("claim from a reading %s: %v, want a refusal", name, err)
			}
			for _, status := range []outbox.Status{outbox.StatusFailed, outbox.StatusOutcomeUnknown} {
				b.conflicts(seen(b.to(status), row))
			}
		}
		if after := b.subject.Raw(b.t, b.id); after != before {
			b.t.Errorf("the stored row changed:\n%s\n%s", before, after)
		}
	})
}

// orderRaces are between people.
func (h Harness) orderRaces(t *testing.T) {
	for name, end := range map[string]func(*bench, outbox.Row) outbox.Settlement{
		"the first": reader(outbox.StatusFailed), "the second": operator(outbox.StatusFailed, false),
	} {
		h.each(t, "an order that another order followed is refused: "+name, func(b *bench) {
			b.put(b.fresh())
			b.settled(end(b, b.get()))
			retry := operator(outbox.StatusPending, false)(b, b.get())
			b.settled(retry) // and its answer is lost
			b.settled(operator(outbox.StatusFailed, false)(b, b.get()))
			b.conflicts(retry)
			if row := b.get(); row.Status != outbox.StatusFailed {
				b.t.Errorf("the row that was cancelled is %s", row.Status)
			}
		})
	}
	h.each(t, "an order succeeds when repeated, and another person's same order does not", func(b *bench) {
		b.put(b.fresh())
		row := b.get()
		ada, bob := operator(outbox.StatusFailed, false)(b, row), operator(outbox.StatusFailed, false)(b, row)
		b.settled(ada)
		b.settled(ada)
		b.conflicts(bob)
	})
	h.each(t, "a reading from before an order is good for no write", func(b *bench) {
		b.putOff(time.Time{})
		again := b.claim(nil)
		if _, err := b.subject.Store.Claim(b.t.Context(), again); err != nil {
			b.t.Fatal(err)
		}
		b.settled(held(b.to(outbox.StatusFailed), again.Token))
		order := func(status outbox.Status) {
			b.settled(operator(status, false)(b, b.get()))
		}
		order(outbox.StatusPending)
		row := b.get()
		order(outbox.StatusFailed)
		order(outbox.StatusPending)
		_, err := b.subject.Store.Claim(b.t.Context(), late(b.claim(&row)))
		var refused *outbox.RefusedError
		if !errors.As(err, &refused) {
			b.t.Errorf("claim from the reading: %v, want a refusal", err)
		}
		b.conflicts(seen(b.to(outbox.StatusFailed), row))
	})
}

// staleReadings are writes from a reading that the row no longer matches.
func (h Harness) staleReadings(t *testing.T) {
	for name, stale := range map[string]func(row *outbox.Row){
		"its time":             func(row *outbox.Row) { row.LaneAt = row.LaneAt.Add(-time.Hour) },
		"its attempts":         func(row *outbox.Row) { row.AttemptCount++ },
		"no attempt":           func(row *outbox.Row) { row.AttemptCount = 0 },
		"when it was in doubt": func(row *outbox.Row) { row.MaybeSince = row.MaybeSince.Add(-time.Second) },
		"no doubt":             func(row *outbox.Row) { row.MaybeSince = time.Time{} },
	} {
		h.each(t, "a claim from a reading that differs from the row is refused: "+name, func(b *bench) {
			b.putOff(b.now.Add(-time.Minute))
			row := b.get()
			stale(&row)
			claim := b.claim(&row)
			claim.At = claim.At.Add(-time.Minute) // the row is due by the reading alone
			if name != "its time" {
				claim.At = b.now
			}
			before := b.subject.Raw(b.t, b.id)
			_, err := b.subject.Store.Claim(b.t.Context(), claim)
			var refused *outbox.RefusedError
			if !errors.As(err, &refused) || b.subject.Raw(b.t, b.id) != before {
				b.t.Errorf("%v, want a refusal that changes nothing", err)
			}
		})
	}
	for name, attempts := range map[string]int{"more": 2, "none": 0} {
		h.each(t, "a reader's settlement is refused if it read another number of attempts: "+name, func(b *bench) {
			b.putOff(time.Time{})
			row := b.get()
			row.AttemptCount = attempts
			b.conflicts(seen(b.to(outbox.StatusFailed), row))
		})
	}
}

// lookupRaces are between readers of an unknown row.
func (h Harness) lookupRaces(t *testing.T) {
	h.each(t, "of two lookups of the same reading one is counted", func(b *bench) {
		b.unknown()
		row := b.get()
		first := reader(outbox.StatusOutcomeUnknown)(b, row)
		b.settled(first)
		b.settled(first) // the same again is a repetition
		second := first
		second.LaneAt = second.LaneAt.Add(time.Minute)
		b.conflicts(second)
		if after := b.get(); after.LookupCount != 1 {
			b.t.Errorf("lookup_count = %d, want 1", after.LookupCount)
		}
	})
	h.each(t, "a second reader cannot resolve a resolved row otherwise", func(b *bench) {
		b.unknown()
		row := b.get()
		b.settled(reader(outbox.StatusCompleted)(b, row))
		for _, status := range []outbox.Status{outbox.StatusFailed, outbox.StatusPending, outbox.StatusOutcomeUnknown} {
			b.conflicts(reader(status)(b, row))
		}
	})
	h.each(t, "a repeated unknown only fills in a missing remote reference", func(b *bench) {
		b.unknown()
		row := b.get()
		again := held(b.to(outbox.StatusOutcomeUnknown), row.Token)
		again.Code, again.LaneAt, again.RemoteRef = "test.other", b.now, "first"
		b.settled(again)
		again.RemoteRef = "second"
		b.settled(again)
		row.RemoteRef = "first"
		b.same("the stored row", row, b.get())
	})
}

// late is a claim made a minute later.
func late(c outbox.Claim) outbox.Claim { c.At = c.At.Add(time.Minute); return c }

// exclusive lets 64 workers claim the row at once.
func (b *bench) exclusive(from *outbox.Row) {
	b.t.Helper()
	const workers = 64
	var all sync.WaitGroup
	results := make([]error, workers)
	for i := range workers {
		c := b.claim(from)
		c.Token = fmt.Sprintf("token-of-worker-%06d", i)
		all.Go(func() { _, results[i] = b.subject.Store.Claim(b.t.Context(), c) })
	}
	all.Wait()
	won := 0
	for _, err := range results {
		var refused *outbox.RefusedError
		switch {
		case err == nil:
			won++
		case !errors.As(err, &refused):
			b.t.Errorf("claim: %v, want a refusal", err)
		case refused.Row.Status != outbox.StatusDispatching:
			b.t.Errorf("refused with a %q row, want the winner's", refused.Row.Status)
		}
	}
	if won != 1 {
		b.t.Errorf("%d workers won the claim, want 1", won)
	}
}

func (b *bench) conflicts(s outbox.Settlement) {
	b.t.Helper()
	if err := b.subject.Store.Settle(b.t.Context(), s); !errors.Is(err, outbox.ErrConflict) {
		b.t.Errorf("settling as %s: %v, want a conflict", s.Status, err)
	}
}
