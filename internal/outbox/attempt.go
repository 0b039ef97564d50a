package outbox

import (
	"context"
	"errors"
	"time"

	"github.com/landfall-dev/landfall/internal/bounded"
)

// land claims a row and delivers it, or follows what the refusal says. from is what is known of the row, nil
// for the blind claim.
func (l *lanes) land(id ID, from *Row, takeOver bool) {
	refused := l.claim(Claim{ID: id, At: l.now(), Attempts: l.Policy.Attempts, From: from}, takeOver)
	if refused != nil && (from == nil || !sameClaim(*from, refused.Row)) {
		l.follow(refused.Row, Examine(l.Policy, refused.Row, l.now()), takeOver)
	}
}

// claim makes a claim, to which it adds what is the same for all, and delivers the row if it is won. It returns
// the refusal if there was one.
func (l *lanes) claim(c Claim, takeOver bool) *RefusedError {
	if !l.hasTime() { // the claim that was refused before this one may have taken long
		return nil
	}
	token, err := l.token()
	if err != nil {
		l.fail(err)
		return nil
	}
	c.Token, c.ClaimedBy, c.Until, c.Window = token, l.ClaimedBy, l.Policy.until(c.At), l.Policy.Deduplicates
	row, err := l.Store.Claim(l.ctx, c)
	var refused *RefusedError
	switch {
	case err == nil:
		l.deliver(row, takeOver)
	case !errors.As(err, &refused):
		l.recoverClaim(c.ID, token, takeOver, err)
	}
	return refused
}

// recoverClaim follows a claim whose answer never came: if it took effect, this worker holds the row and
// knows, as nobody after it can, that nothing was sent.
func (l *lanes) recoverClaim(id ID, token string, takenOver bool, cause error) {
	row, err := l.Store.Get(l.ctx, id)
	if err == nil && row.Status == StatusDispatching && row.Token == token {
		l.deliver(row, takenOver)
		return
	}
	l.fail(cause)
}

// sameClaim reports whether nothing happened between two readings: then a refusal of a claim from the
// first is final, and trying again would loop.
func sameClaim(a, b Row) bool {
	return a.Status == b.Status && a.Token == b.Token && a.AttemptCount == b.AttemptCount && a.LaneAt.Equal(b.LaneAt)
}

// follow takes the step that Examine decided on. alone says that nothing else is in flight.
func (l *lanes) follow(row Row, step Step, alone bool) {
	switch step.Kind {
	case ClaimFrom:
		l.land(row.ID, &row, false)
	case TakeOver:
		if alone {
			l.land(row.ID, &row, row.Status == StatusDispatching)
		} else {
			l.abandon(abandonedRow{l, row})
		}
	case End:
		l.end(step.Settlement)
	}
}

// deliver sends a row that was just claimed, if there is still time, and settles it.
func (l *lanes) deliver(row Row, takenOver bool) {
	a := Attempt{ID: row.ID, Number: row.AttemptCount, TakenOver: takenOver, Trace: row.Trace}
	if !row.CreatedAt.IsZero() {
		a.Waited = max(0, row.ClaimedAt.Sub(row.CreatedAt)) // the writer's clock may be ahead
	}
	var s Settlement
	checked := time.Now() // what delays this process after the checks counts as the send's time
	switch late := l.now().After(row.ClaimedAt.Add(SkewMargin)); {
	case row.Unreadable != nil:
		s = Settlement{ID: row.ID, Token: row.Token}.without(l.Policy, row, CodeRowInvalid, l.now())
	case late || l.remaining() < l.Policy.SendTimeout+ClaimMargin/2:
		s = Decide(l.Policy, row, Retryable(CodeClaimLate, 0), l.now())
	default:
		a.Sent, a.Outcome = true, l.send(row, checked.Add(l.Policy.SendTimeout))
		a.Latency = time.Since(checked)
		l.Stalls.note(l.Name, a.Latency, l.Policy.SendTimeout)
		s = Decide(l.Policy, row, a.Outcome, l.now())
	}
	a.Code = s.Code
	if a.Err = l.settle(s, row.Until); a.Err == nil {
		a.Status = s.Status
	}
	l.ended(a)
	if a.Err == nil && s.Status == StatusPending {
		if settled, err := s.Apply(row); err == nil {
			l.putOff(settled)
		}
	}
}

// send makes the attempt. It returns when the sender does, or shortly after the send timeout if the
// sender does not: then nothing is known. A panic is the row's own trouble: unknown.
func (l *lanes) send(row Row, deadline time.Time) Outcome {
	return bounded.Call(l.ctx, deadline, Unknown("", CodeSenderPanicked), Unknown("", CodeNoAnswer),
		func(ctx context.Context) Outcome { return l.Sender.Send(ctx, row) })
}

// end settles a row that was read, not claimed.
func (l *lanes) end(s Settlement) {
	a := Attempt{ID: s.ID, Number: s.From.AttemptCount, Code: s.Code, Trace: s.From.Trace}
	if a.Err = l.settle(s, l.now().Add(ClaimMargin)); errors.Is(a.Err, ErrConflict) {
		return // somebody else was faster; the row is in their hands
	}
	if a.Err != nil {
		l.fail(a.Err)
		return
	}
	a.Status = s.Status
	l.run.mu.Lock()
	l.report.Ended = append(l.report.Ended, s.ID)
	l.run.mu.Unlock()
	l.ended(a)
}

// settle writes a settlement, again and again until the given time if the store does not answer.
func (l *lanes) settle(s Settlement, until time.Time) error {
	return settleFor(l.ctx, l.Store, s, max(until.Sub(l.now()), time.Second))
}
