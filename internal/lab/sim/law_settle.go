package sim

import (
	"errors"
	"fmt"
	"time"

	"github.com/landfall-dev/landfall/internal/outbox"
)

// settled is called when a settlement changed a row's status, or began a new wait.
func (l *law) settled(o *operation, before, after outbox.Row) {
	s, h := o.settlement, l.history(o.id())
	l.stage.Must(after.Token == before.Token && after.ClaimedAt.Equal(before.ClaimedAt) && after.Until.Equal(before.Until) && after.Window == before.Window,
		"I2", "%s changed the claim", o)
	l.asRead(o, s.From, before)
	l.stage.Must(o.by.knows(o.id().Destination), "I6", "%s, and its destination is not in the configuration", o)
	switch {
	case s.From == nil:
		l.settledByHolder(o, h, before, after)
	case o.by.actor.Kind == "reconciler" && before.Status == outbox.StatusOutcomeUnknown:
		l.settledByLookup(o, h, before, after)
	case o.by.actor.Kind == "operator":
		l.settledByPerson(o, h, before, after)
	default:
		l.settledByReader(o, h, before, after)
	}
	l.stage.Happened[fmt.Sprintf("%s made %s of %s", o.by.actor.Kind, after.Status, before.Status)]++
	if after.Status == outbox.StatusCompleted {
		l.mustHaveLanded(o)
	}
	if after.Status == outbox.StatusOutcomeUnknown {
		l.mustBeAskedInTime(o, after)
	}
	if s.Code == "landfall.row.invalid" {
		l.stage.Must(after.Cause != "", "conservation", "%s: it does not say what could not be read", o)
	}
	if after.Status == outbox.StatusCompleted {
		l.stage.Must(after.Code == "" && after.Cause == "", "conservation", "%s: completed, and its trouble still shows: %s, %s", o, after.Code, after.Cause)
	} else {
		l.stage.Must(after.Code != "" || before.Code == "", "conservation", "%s forgot the last trouble", o)
	}
	l.stage.Must(after.RemoteRef != "" || before.RemoteRef == "", "conservation", "%s forgot the remote's reference", o)
	if o.by.actor.Kind != "operator" {
		l.stage.Must(after.Resolution == before.Resolution, "conservation", "%s changed what a person had noted", o)
		l.stage.Must(after.AttemptCount == before.AttemptCount, "I8", "%s changed the number of attempts", o)
	}
	if o.by.actor.Kind != "reconciler" {
		l.stage.Must(after.LookupCount == before.LookupCount, "conservation", "%s changed the number of lookups", o)
	}
	if after.Status.Terminal() {
		keeps := time.Until(after.ExpiresAt)
		retention := o.by.policy(o.id().Destination).Retention
		const about = 2 * time.Hour // it may have been decided a while ago, by another clock
		l.stage.Must(keeps > retention-about && keeps < retention+about, "retention", "%s: kept for %v, want %v", o, keeps, retention)
	}
}

// settledByHolder is the table of outcomes.
func (l *law) settledByHolder(o *operation, h *history, before, after outbox.Row) {
	a := h.find(o.settlement.Token)
	if a == nil || a.by != o.by || before.Token != a.token {
		l.stage.Violated("I2", "%s was accepted from a process that does not hold the claim", o)
		return
	}
	if before.Status != outbox.StatusDispatching {
		l.stage.Must(before.Status == outbox.StatusOutcomeUnknown && after.Status == outbox.StatusCompleted, "I2", "%s after the claim was over", o)
	}
	out := outbox.Retryable("", 0)
	l.stage.Must(a.sends > 0 || a.late || before.Unreadable != nil, "effort", "%s: it was claimed in time, and not sent", o)
	if a.sends > 0 {
		out = outbox.Unknown("", "")
		if a.answer != nil {
			out = *a.answer
		}
	}
	switch out.Kind {
	case outbox.KindCompleted:
		a.verdict = landed
	case outbox.KindUnknown:
		a.verdict = suspect
	default:
		a.verdict = harmless
	}
	l.stage.Must(out.Ref == "" || after.RemoteRef == out.Ref, "conservation", "%s forgot the remote's reference", o)
	l.follows(o, h, a, out, before, after)
}

// follows checks that the table of outcomes allows a settlement by the holder.
func (l *law) follows(o *operation, h *history, a *attempt, out outbox.Outcome, before, after outbox.Row) {
	p, maybe := o.by.policy(o.id().Destination), len(h.suspects()) > 0
	heard := a.answered
	if a.sends == 0 {
		heard = a.at
	}
	soonest, latest := waits(p, before, out)
	reason := l.noRoom(p, before, h, o.by.actor.Now(), heard.Add(soonest), o.by.actor.Now().Add(latest))
	switch after.Status {
	case outbox.StatusCompleted:
		l.stage.Must(out.Kind == outbox.KindCompleted, "I5", "%s: completed, and the sender said %s", o, out.Kind)
	case outbox.StatusPending:
		l.stage.Must(out.Kind == outbox.KindRetryable || out.Kind == outbox.KindUnknown, "I4", "%s: put off, and the sender said %s", o, out.Kind)
		l.stage.Must(h.claims < p.Attempts, "I8", "%s: put off after %d attempts, with a budget of %d", o, h.claims, p.Attempts)
		l.stage.Must(after.DeliverBy.IsZero() || after.LaneAt.Before(after.DeliverBy), "deliver_by", "%s: put off past it", o)
		l.stage.Must(!after.LaneAt.Before(heard.Add(soonest-2*time.Millisecond)), "schedule", "%s: put off by less than %v", o, soonest)
		l.stage.Must(!after.LaneAt.After(o.by.actor.Now().Add(latest)), "schedule", "%s: put off by more than %v", o, latest)
		l.stage.Must(!maybe || p.Deduplicates != outbox.Never, "I4", "%s: put off, and the remote never deduplicates", o)
	case outbox.StatusFailed:
		l.stage.Must(out.Kind != outbox.KindCompleted && !maybe, "I5", "%s: failed, and an attempt arrived or may have", o)
		l.stage.Must(out.Kind == outbox.KindPermanent || reason || before.Unreadable != nil, "effort", "%s: given up with room for another attempt", o)
	case outbox.StatusOutcomeUnknown:
		l.stage.Must(out.Kind != outbox.KindCompleted, "I5", "%s: unknown, and the sender said completed", o)
		l.stage.Must(out.Kind == outbox.KindPermanent || reason || before.Unreadable != nil, "effort", "%s: given up with room for another attempt", o)
	}
	l.stage.Must(after.Status == outbox.StatusCompleted || after.Code != "", "conservation", "%s: no code says why", o)
	if last := out.Code; overdue(after.Code) {
		if a.sends == 0 {
			last = "landfall.claim.late"
		}
		l.stage.Must(after.Cause == last, "conservation", "%s: the last attempt's code was %q, and the cause is %q", o, last, after.Cause)
	}
	l.stage.Must(after.Status != outbox.StatusOutcomeUnknown || out.Code == "" || after.Code == out.Code, "conservation", "%s: the code is %q, not %q", o, after.Code, out.Code)
}

// overdue reports whether a code says that a row was given up for want of attempts or time.
func overdue(code string) bool {
	return code == "landfall.dispatch.attempts_exhausted" || code == "landfall.dispatch.expired" || code == "landfall.dispatch.window_over"
}

// waits is the shortest and the longest wait after an attempt.
func waits(p outbox.Policy, row outbox.Row, out outbox.Outcome) (shortest, longest time.Duration) {
	wait := p.Backoff.First
	for range row.AttemptCount - 1 {
		wait = min(time.Duration(float64(wait)*p.Backoff.Factor), p.Backoff.Max)
	}
	wait = min(wait, p.Backoff.Max)
	asked := min(out.After, time.Hour)
	return max(wait-wait/10, asked), max(wait+wait/10, asked) + time.Millisecond
}

// noRoom reports whether there may have been no room for another attempt, one that would have been made
// between the soonest and the latest time.
func (l *law) noRoom(p outbox.Policy, row outbox.Row, h *history, now, soonest, latest time.Time) bool {
	if row.AttemptCount >= p.Attempts || !row.DeliverBy.IsZero() && !latest.Before(row.DeliverBy) {
		return true
	}
	return len(h.suspects()) > 0 && !l.recognised(p, h, row, latest.Add(p.SendTimeout+settleTime))
}

// recognised reports whether the remote is certain to recognise a repetition under a claim that ends at
// until: by what the configuration said at the first attempt that may have arrived, and by what it says
// today.
func (l *law) recognised(p outbox.Policy, h *history, row outbox.Row, until time.Time) bool {
	first := h.suspects()[0]
	if row.Until.After(until) {
		until = row.Until
	}
	for _, window := range []outbox.Window{first.window, p.Deduplicates} {
		if window == outbox.Always {
			continue
		}
		if !first.at.Add(time.Duration(window)).After(until.Add(p.LateArrival + margin)) {
			return false
		}
	}
	return true
}

// settledByReader is what a dispatcher may do to a row that it did not claim.
func (l *law) settledByReader(o *operation, h *history, before, after outbox.Row) {
	p, now := o.by.policy(o.id().Destination), o.by.actor.Now()
	l.stage.Must(o.by.sends() || before.Unreadable != nil, "I2", "%s by a %s", o, o.by.actor.Kind)
	switch before.Status {
	case outbox.StatusDispatching:
		last := h.attempts[len(h.attempts)-1]
		l.stage.Must(time.Now().After(last.until.Add(-last.by.actor.Skew)), "I2", "%s, and the claim of process %d is alive", o, last.by.actor.Number)
		l.stage.Must(now.After(before.Until.Add(margin)), "I2", "%s, less than the margin after %v", o, before.Until)
		l.stage.Must(after.Status == outbox.StatusOutcomeUnknown, "I5", "%s: abandoned, and now %s", o, after.Status)
		last.verdict = suspect
	case outbox.StatusPending, outbox.StatusInvalid:
		l.stage.Must(!before.LaneAt.After(now), "schedule", "%s before it was due", o)
		l.stage.Must(!p.Retired || before.Unreadable != nil || !before.DeliverBy.IsZero() && !now.Before(before.DeliverBy),
			"I6", "%s, though its destination may come back", o)
		want := outbox.StatusFailed
		if len(h.suspects()) > 0 {
			want = outbox.StatusOutcomeUnknown
		}
		l.stage.Must(after.Status == want, "I5", "%s: ended from pending, want %s", o, want)
	default:
		l.stage.Violated("I2", "%s from %s", o, before.Status)
		return
	}
	reason := l.noRoom(p, before, h, now, now, now) || before.Unreadable != nil || p.Retired && before.Status == outbox.StatusDispatching
	l.stage.Must(reason, "effort", "%s: given up with room for another attempt", o)
	l.stage.Must(after.Code != "", "conservation", "%s: no code says why", o)
	l.stage.Must(!overdue(after.Code) || before.Code == "" || after.Cause == before.Code || after.Cause == before.Cause && before.Cause != "",
		"conservation", "%s: the cause %q is not the last trouble, %q", o, after.Cause, before.Code)
}

// refined is called when a settlement changed a row that showed it already: it may only have filled in
// what the remote calls the effect.
func (l *law) refined(o *operation, before, after outbox.Row) {
	l.stage.Happened["a reference was filled in"]++
	filled := before
	filled.RemoteRef = after.RemoteRef
	l.stage.Must(sameRow(filled, after) && before.RemoteRef == "" && before.Status == outbox.StatusOutcomeUnknown, "I7", "%s again changed the row", o)
}

// toldSettlement is called when a process gets the answer to its settlement.
func (l *law) toldSettlement(o *operation, err error) {
	if o.by.actor.Dead {
		return
	}
	switch {
	case err == nil:
		l.stage.Must(o.shown, "I5", "%s: told that it is settled, and it is not", o)
	case errors.Is(err, outbox.ErrConflict):
		l.stage.Must(!o.shown, "I7", "%s: told that it conflicts, and it took effect", o)
	}
	l.scan("an error of the table", err)
	o.by.told.settled(o.settlement, err)
}

// toldPut is called when an application gets the answer to its put.
func (l *law) toldPut(o *operation, err error) {
	if o.by.actor.Dead {
		return
	}
	wanted := o.put.Origin == l.history(o.id()).wanted.Origin
	switch {
	case err == nil:
		l.stage.Must(o.shown, "I1", "%s: told that it is there, and it is not", o)
	case errors.Is(err, outbox.ErrExists):
		l.stage.Must(!wanted, "I1", "%s: told that the key is in use, and it is this row's", o)
	}
	l.scan("an error of the table", err)
}
