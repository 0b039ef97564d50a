package sim

import (
	"errors"
	"time"

	"github.com/landfall-dev/landfall/internal/outbox"
)

// claiming is called when a process begins to claim.
func (l *law) claiming(p *process, c outbox.Claim) {
	policy := p.policy(c.Destination)
	p.told.asked[c.ID] = true
	l.mustBeAllowed(p, c.ID, "claimed")
	l.mustTrust(p, c.ID, "claimed")
	deadline, _ := p.actor.Ctx.Deadline()
	l.stage.Must(time.Until(deadline) >= policy.SendTimeout+settleTime, "I3",
		"%s is claimed with %v left, not enough to send and settle", c.ID, time.Until(deadline))
	if c.From == nil { // the others may be taken over, or were to be: that comes after the drain
		bound := sweepClaimsFor
		if p.actor.Kind == fastPath {
			bound = fastPathClaimsFor
		}
		l.stage.Must(time.Since(p.runs) <= bound, "I3", "%s is claimed %v after the run began", c.ID, time.Since(p.runs))
	}
}

// claimed is called when a claim took effect.
func (l *law) claimed(o *operation, before, after outbox.Row) {
	c, h, p := o.claim, l.history(o.id()), o.by.policy(o.id().Destination)
	l.asRead(o, c.From, before)
	l.stage.Must(c.From != nil || before.Code != outbox.CodeClaimAbandoned, "I8", "%s was abandoned, and is claimed beside others", c.ID)
	switch before.Status {
	case outbox.StatusPending:
		l.onTime(o, before)
	case outbox.StatusDispatching:
		last := h.attempts[len(h.attempts)-1]
		l.stage.Must(time.Now().After(last.until.Add(-last.by.actor.Skew)), "I2", "%s was claimed, and the claim of process %d is alive", c.ID, last.by.actor.Number)
		l.stage.Must(c.At.After(before.Until.Add(margin)), "I2", "%s was taken over at %v, less than the margin after %v", c.ID, c.At, before.Until)
		last.verdict = suspect
	default:
		l.stage.Violated("I2", "%s was claimed from %s", c.ID, before.Status)
	}
	h.claims++
	l.stage.Must(h.claims <= p.Attempts, "I8", "%s was claimed %d times, with a budget of %d", c.ID, h.claims, p.Attempts)
	l.stage.Must(o.by.knows(c.Destination), "I6", "%s was claimed, and its destination is not in the configuration", c.ID)
	l.stage.Must(!p.Retired, "I6", "%s was claimed, and its destination is retired", c.ID)
	l.stage.Must(before.DeliverBy.IsZero() || c.At.Before(before.DeliverBy), "deliver_by", "%s was claimed past it", c.ID)
	l.stage.Must(after.Lane == before.Lane && after.LaneAt.Equal(before.LaneAt), "cost", "claiming %s moved it in its lane", c.ID)
	a := &attempt{
		token: c.Token, by: o.by, at: c.At, until: c.At.Add(p.SendTimeout + settleTime),
		window: p.Deduplicates, takenOver: before.Status == outbox.StatusDispatching, alone: before.Status == outbox.StatusDispatching || before.Code == outbox.CodeClaimAbandoned,
	}
	l.recorded(a, h, before, after)
	l.stage.Must(h.find(c.Token) == nil, "I2", "%s was claimed twice under the same token", c.ID)
	h.attempts = append(h.attempts, a)
	l.stage.Happened[map[bool]string{false: "claimed", true: "taken over"}[a.takenOver]]++
}

// recorded checks that the row shows the claim as it was made.
func (l *law) recorded(a *attempt, h *history, before, after outbox.Row) {
	id := after.ID
	l.stage.Must(after.Status == outbox.StatusDispatching && after.Token == a.token && after.ClaimedAt.Equal(a.at), "I2", "the claim of %s is not on the row", id)
	l.stage.Must(after.AttemptCount == before.AttemptCount+1 && after.AttemptCount >= h.claims, "I8", "attempt %d of %s is counted as %d", h.claims, id, after.AttemptCount)
	suspects := h.suspects()
	until := a.until
	if len(suspects) > 0 && before.Until.After(until) {
		until = before.Until
	}
	l.stage.Must(after.Until.Equal(until), "I4", "the claim of %s ends at %v, want %v", id, after.Until, until)
	window := a.window
	if len(suspects) > 0 {
		window = suspects[0].window
	}
	l.stage.Must(after.Window == window, "I4", "the window of %s is %v, want %v", id, time.Duration(after.Window), time.Duration(window))
	l.stage.Must(after.ClaimedBy == claimedBy, "conservation", "the claim of %s says that it is %q", id, after.ClaimedBy)
	l.stage.Must(after.LookupCount == before.LookupCount && after.Code == before.Code && after.Cause == before.Cause && after.RemoteRef == before.RemoteRef,
		"conservation", "claiming %s changed what had been recorded", id)
}

// toldClaim is called when a process gets the answer to its claim.
func (l *law) toldClaim(o *operation, row outbox.Row, err error) {
	if o.by.actor.Dead {
		return
	}
	var refused *outbox.RefusedError
	switch {
	case err == nil:
		l.stage.Must(o.shown, "I2", "%s: told that it won, and it had not", o)
		l.stage.Must(!o.shown || sameRow(row, o.result), "I3", "%s: told another row than the one claimed", o)
		l.won(o.by, row, o.claim.From)
	case errors.As(err, &refused):
		l.stage.Must(!o.shown, "I7", "%s: told that it was refused, and it took effect", o)
		l.scan("a refusal", err)
	default:
		o.by.told.failed()
		l.scan("an error of the table", err)
	}
}

// toldRow is called when a process has read a row: it may learn that it holds a claim whose answer was
// lost.
func (l *law) toldRow(p *process, row outbox.Row, err error) {
	switch {
	case p.actor.Dead:
	case err != nil:
		if !errors.Is(err, outbox.ErrNotFound) {
			p.told.failed()
		}
	case row.Status == outbox.StatusDispatching && p.sends():
		if a := l.attempt(row); a != nil && a.by == p && !p.told.knows(a.token) {
			l.won(p, row, nil)
		}
	}
}

// won is called when a process learns that it holds a row.
func (l *law) won(p *process, row outbox.Row, from *outbox.Row) {
	p.told.won(row.ID, row.Token, from)
	if a := l.attempt(row); a != nil {
		deadline, _ := p.actor.Ctx.Deadline()
		a.heard = p.actor.Now()
		a.late = a.heard.Truncate(time.Millisecond).After(a.at.Add(margin)) ||
			time.Until(deadline) < p.policy(row.Destination).SendTimeout+settleTime/2
	}
}
