package outbox

import "time"

// Decide is what follows from the outcome of an attempt. row is the row as claimed, now is after the
// send. It is the table of the design, "Dispatching":
//
//	outcome    no attempt may have arrived      one may have
//	completed  completed                        completed
//	retryable  put off, else failed             put off, else outcome_unknown
//	permanent  failed                           outcome_unknown
//	unknown    -                                put off, else outcome_unknown
//
// Putting off needs room in the budget, before deliver_by and, if an attempt may have arrived, within
// the remote's window of deduplication.
func Decide(p Policy, row Row, out Outcome, now time.Time) Settlement {
	s := Settlement{ID: row.ID, Token: row.Token, Code: out.Code, RemoteRef: out.Ref}
	if out.Kind == KindUnknown && !row.MayHaveArrived() {
		row.MaybeSince, s.MaybeSince = row.ClaimedAt, row.ClaimedAt
	}
	switch out.Kind {
	case KindCompleted:
		return s.completed(p, now)
	case KindPermanent:
		return s.without(p, row, out.Code, now)
	}
	wait := jitter(p.Backoff.Wait(row.AttemptCount), row.ID, row.AttemptCount)
	if out.Kind == KindUnknown && obstacle(p, row, now.Add(min(out.After, MaxRetryAfter))) != "" {
		out.After = 0 // it is bothered too early rather than a person
	}
	next := now.Add(max(wait, min(out.After, MaxRetryAfter)).Round(time.Millisecond))
	if code := obstacle(p, row, next); code != "" {
		return s.without(p, row, code, now)
	}
	s.Status, s.Lane, s.LaneAt = StatusPending, row.Lane, next
	return s
}

// obstacle is the code of what forbids a claim of the row at the given time, or "".
func obstacle(p Policy, row Row, at time.Time) string {
	switch {
	case row.AttemptCount >= p.Attempts:
		return CodeAttemptsExhausted
	case row.expired(at):
		return CodeExpired
	case row.MayHaveArrived() && !p.windowHolds(row, later(row.Until, p.until(at))):
		return CodeWindowOver
	}
	return ""
}

// completed ends the row with its effect landed.
func (s Settlement) completed(p Policy, now time.Time) Settlement {
	s.Status, s.CompletedAt, s.ExpiresAt = StatusCompleted, now, now.Add(p.Retention)
	return s
}

// without ends the attempts at a row whose effect is not known to have happened: failed with the code
// if no attempt can have arrived, otherwise outcome_unknown, keeping the attempt's own code if any.
func (s Settlement) without(p Policy, row Row, code string, now time.Time) Settlement {
	if row.MayHaveArrived() {
		s.Status, s.Lane, s.LaneAt = StatusOutcomeUnknown, laneOf(p, row, UnknownLane), p.settledBy(later(row.Until, row.ClaimedAt))
		if row.Until.IsZero() { // unreadable: as if it had been claimed just now
			s.LaneAt = p.settledBy(p.until(now))
		}
		if s.Code == "" {
			s.Code = code
		}
		return s
	}
	return s.failed(p, row, code, now)
}

// failed ends the row with its effect known not to have happened.
func (s Settlement) failed(p Policy, row Row, code string, now time.Time) Settlement {
	s.Status, s.Lane, s.LaneAt = StatusFailed, laneOf(p, row, FailedLane), now
	s.Code, s.ExpiresAt = code, now.Add(p.Retention)
	return s
}

func laneOf(p Policy, row Row, kind LaneKind) Lane {
	if row.Lane == (Lane{}) {
		return Lane{Kind: kind, Destination: row.Destination, Shard: row.Shard(p.Shards)}
	}
	return row.Lane.as(kind)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
