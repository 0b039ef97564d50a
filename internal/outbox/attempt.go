package outbox

import (
	"context"
	"errors"
	"time"

	"github.com/landfall-dev/landfall/internal/bounded"
)

// One attempt at a row, from the fast path, a sweep or a take over, in the order in which it happens:
//
//	claim      one conditional write; what a refusal says is examined and followed
//	check      is the row readable, was the claim answered in time, is there time to send and to settle?
//	send       once
//	decide     what the outcome leads to: [Decide]
//	settle     one conditional write, under the claim's token

// claimKnown claims a row and attempts it, or follows what the refusal says. from is what is known of the row, nil
// for the blind claim.
func (d *destinationRun) claimKnown(id ID, from *Row, takeOver bool) {
	refused := d.claim(Claim{ID: id, At: d.run.now(), Attempts: d.to.Policy.Attempts, From: from}, takeOver)
	if refused != nil && (from == nil || !sameClaim(*from, refused.Row)) {
		d.follow(refused.Row, Examine(d.to.Policy, refused.Row, d.run.now()), takeOver)
	}
}

// claim makes a claim, to which it adds what is the same for all, and attempts the row if it is won. It returns
// the refusal if there was one.
func (d *destinationRun) claim(c Claim, takeOver bool) *RefusedError {
	if !d.hasTime() || !d.run.trusted() { // the claim that was refused before this one may have taken long, or told the time
		return nil
	}
	token, err := newToken(d.run.dispatcher.Rand)
	if err != nil {
		d.run.fail(err)
		return nil
	}
	c.Token, c.ClaimedBy, c.Until, c.Window = token, d.run.dispatcher.ClaimedBy, d.to.Policy.until(c.At), d.to.Policy.Deduplicates
	row, err := d.run.dispatcher.Store.Claim(d.run.ctx, c)
	var refused *RefusedError
	switch {
	case err == nil:
		d.attempt(row, takeOver)
	case !errors.As(err, &refused):
		d.recoverClaim(c.ID, token, takeOver, err)
	}
	return refused
}

// recoverClaim follows a claim whose answer never came: if it took effect, this process holds the row and
// knows, as no later one can, that nothing was sent.
func (d *destinationRun) recoverClaim(id ID, token string, takenOver bool, cause error) {
	row, err := d.run.dispatcher.Store.Get(d.run.ctx, id)
	if err == nil && row.Status == StatusDispatching && row.Token == token {
		d.attempt(row, takenOver)
		return
	}
	d.run.fail(cause)
}

// sameClaim reports whether nothing happened between two readings: then a refusal of a claim from the
// first is final, and trying again would loop.
func sameClaim(a, b Row) bool {
	return a.Status == b.Status && a.Token == b.Token && a.AttemptCount == b.AttemptCount && a.LaneAt.Equal(b.LaneAt) &&
		a.ResolutionID == b.ResolutionID
}

// follow takes the step that Examine decided on. alone says that nothing else is in flight.
func (d *destinationRun) follow(row Row, step Step, alone bool) {
	switch step.Kind {
	case ClaimFrom:
		d.claimKnown(row.ID, &row, false)
	case TakeOver:
		if alone {
			d.claimKnown(row.ID, &row, row.Status == StatusDispatching)
		} else {
			d.run.abandon(abandonedRow{d, row})
		}
	case End:
		d.end(step.Settlement)
	}
}

// attempt sends a row that was just claimed, if there is still time, and settles it.
func (d *destinationRun) attempt(row Row, takenOver bool) {
	a := Attempt{ID: row.ID, Number: row.AttemptCount, TakenOver: takenOver, Trace: row.Trace}
	if !row.CreatedAt.IsZero() {
		a.Waited = max(0, row.ClaimedAt.Sub(row.CreatedAt)) // the writer's clock may be ahead
	}
	p := d.to.Policy
	var s Settlement
	checked := time.Now() // what delays this process after the checks counts as the send's time
	switch late := d.run.now().After(row.ClaimedAt.Add(SkewMargin)); {
	case row.Unreadable != nil:
		s = Settlement{ID: row.ID, Token: row.Token}.without(p, row, CodeRowInvalid, d.run.now())
	case !d.run.trusted(): // the claim's own answer told the time; when the row is due was true before this clock read it
		s = Settlement{ID: row.ID, Token: row.Token, Status: StatusPending, Lane: row.Lane, LaneAt: row.LaneAt, Code: CodeClaimLate}
	case late || remaining(d.run.ctx) < p.SendTimeout+ClaimMargin/2:
		s = Decide(p, row, Retryable(CodeClaimLate, 0), d.run.now())
	default:
		a.Sent = true
		a.Outcome, a.Panic = d.send(row, checked.Add(p.SendTimeout))
		a.Latency = time.Since(checked)
		d.run.dispatcher.Stalls.note(d.to.Name, a.Latency, p.SendTimeout)
		s = Decide(p, row, a.Outcome, d.run.now())
	}
	a.Code, a.Cause = s.Code, s.Cause
	if a.Err = d.settle(s, row.Until); a.Err == nil {
		a.Status = s.Status
	}
	d.run.ended(a)
	if a.Err == nil && s.Status == StatusPending {
		if settled, err := s.Apply(row); err == nil {
			d.putOff(settled)
		}
	}
}

// send makes the attempt. It returns when the sender does, or shortly after the send timeout if the
// sender does not: then nothing is known. A panic is the row's own trouble: unknown.
func (d *destinationRun) send(row Row, deadline time.Time) (Outcome, *bounded.Panic) {
	out, panicked := bounded.Call(d.run.ctx, deadline, Unknown("", CodeNoAnswer),
		func(ctx context.Context) Outcome { return d.to.Sender.Send(ctx, row) })
	if panicked != nil {
		out = Unknown("", CodeSenderPanicked)
	}
	return out, panicked
}

// settle writes a settlement, again and again until the given time if the store does not answer.
func (d *destinationRun) settle(s Settlement, until time.Time) error {
	return settleFor(d.run.ctx, d.run.dispatcher.Store, s, max(until.Sub(d.run.now()), time.Second))
}

// ended files a row under what became of it and tells the observer.
func (r *run) ended(a Attempt) {
	r.mu.Lock()
	r.report.file(a)
	r.mu.Unlock()
	if r.dispatcher.Observer != nil {
		r.dispatcher.Observer.Attempted(a)
	}
}

// end settles a row that was read, not claimed.
func (d *destinationRun) end(s Settlement) {
	if !d.run.trusted() {
		return
	}
	a := Attempt{ID: s.ID, Number: s.From.AttemptCount, Code: s.Code, Cause: s.Cause, Trace: s.From.Trace}
	if a.Err = d.settle(s, d.run.now().Add(ClaimMargin)); errors.Is(a.Err, ErrConflict) {
		return // another process was faster, and reports the row
	}
	if a.Err != nil {
		d.run.fail(a.Err)
		return
	}
	a.Status = s.Status
	d.run.mu.Lock()
	d.run.report.Ended = append(d.run.report.Ended, s.ID)
	d.run.mu.Unlock()
	d.run.ended(a)
}
