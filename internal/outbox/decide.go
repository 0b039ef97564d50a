package outbox

import (
	"cmp"
	"time"
)

// OutcomeKind is what a sender knows about one attempt.
type OutcomeKind int

const (
	// KindUnknown: the effect may or may not have happened. It is the zero value, so that a sender
	// that forgot to say is not believed to have failed or succeeded.
	KindUnknown OutcomeKind = iota
	// KindCompleted: the remote says that the effect happened, now or at an earlier attempt.
	KindCompleted
	// KindRetryable: demonstrably the effect did not happen; a later attempt may succeed.
	KindRetryable
	// KindPermanent: demonstrably the effect did not happen, and the same attempt would be refused again.
	KindPermanent
)

func (k OutcomeKind) String() string {
	switch k {
	case KindCompleted:
		return "completed"
	case KindRetryable:
		return "retryable"
	case KindPermanent:
		return "permanent"
	default:
		return "unknown"
	}
}

// Outcome is the fact that a sender reports about one attempt. What follows from it is decided by
// [Decide], never by the sender.
type Outcome struct {
	Kind OutcomeKind
	// Code is a stable, dotted code of the trouble, free of payload, key and secret.
	Code string
	// Ref is what the remote called the effect, if it said so.
	Ref string
	// After is how long the remote asked to wait; for KindRetryable and KindUnknown.
	After time.Duration
	// Unsent says that not a byte of a request left: the connection was refused, for instance, or the row cannot be a
	// request. It is for the log; nothing is decided by it.
	Unsent bool
}

// Completed says that the effect happened; ref is what the remote calls it, or "".
func Completed(ref string) Outcome { return Outcome{Kind: KindCompleted, Ref: ref} }

// Retryable says that the attempt demonstrably did not arrive. after is the wait that the remote
// asked for, or 0.
func Retryable(code string, after time.Duration) Outcome {
	return Outcome{Kind: KindRetryable, Code: code, After: after}
}

// Permanent says that the attempt demonstrably had no effect and that repeating it is of no use.
func Permanent(code string) Outcome { return Outcome{Kind: KindPermanent, Code: code} }

// Unknown says that the attempt may have arrived; ref is what the remote calls it, if it got that far.
func Unknown(ref, code string) Outcome { return Outcome{Kind: KindUnknown, Ref: ref, Code: code} }

// Codes that the domain itself writes. Senders have their own, below "landfall.<kind>.".
const (
	CodeAttemptsExhausted = "landfall.dispatch.attempts_exhausted"
	CodeExpired           = "landfall.dispatch.expired"
	CodeWindowOver        = "landfall.dispatch.window_over"
	CodeRowInvalid        = "landfall.row.invalid"
	CodeHeaderNotAllowed  = "landfall.row.header_not_allowed" // written by senders: a deployment may be under way
	CodeClaimAbandoned    = "landfall.claim.abandoned"
	CodeClaimLate         = "landfall.claim.late"
	CodeSenderPanicked    = "landfall.sender.panicked"
	CodeNoAnswer          = "landfall.sender.no_answer"
)

// Decide says what follows from the outcome of an attempt. row is the row as claimed, now is after the
// send. It is the table of docs/architecture.md, "The life of a row":
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
		out.After = 0 // retry early instead of escalating to a person
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
	s.Code = "" // whatever went wrong before, it is over
	return s
}

// without ends the attempts at a row whose effect is not known to have happened: failed with the code
// if no attempt can have arrived, otherwise outcome_unknown, keeping the attempt's own code if any.
func (s Settlement) without(p Policy, row Row, code string, now time.Time) Settlement {
	if row.MayHaveArrived() {
		s.Status, s.Lane, s.LaneAt = StatusOutcomeUnknown, laneOf(p, row, UnknownLane), p.settledBy(later(row.Until, row.ClaimedAt))
		if row.Until.IsZero() || row.claimedAhead(now) { // unreadable, or no time to wait for: as if it had been claimed just now
			s.LaneAt = p.settledBy(p.until(now))
		}
		if s.Code == "" {
			s.Code, s.Cause = code, cause(row, s, code)
		}
		return s
	}
	s.Cause = cause(row, s, code)
	return s.failed(p, row, code, now)
}

// cause is what had led to the code: the trouble of the last attempt, or of the row itself.
func cause(row Row, s Settlement, code string) string {
	switch code {
	case CodeAttemptsExhausted, CodeExpired, CodeWindowOver:
		return cmp.Or(s.Code, row.Cause, row.Code)
	case CodeRowInvalid:
		return row.Unreadable.Error()
	}
	return ""
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

// StepKind is what a dispatcher does with a row that it did not simply claim.
type StepKind int

const (
	// Skip: nothing is due; the index was stale, or the destination is retired.
	Skip StepKind = iota
	// InFlight: a process holds a live claim.
	InFlight
	// ClaimFrom: claim it, conditional on what was read.
	ClaimFrom
	// TakeOver: claim it alone and after all others (I8), from a holder that is gone or after one that was.
	TakeOver
	// End: settle it without a send.
	End
	// Ask: ask the remote what became of it.
	Ask
	// AwaitPerson: only a person can find out what became of it.
	AwaitPerson
)

// Step is what to do with a row; Settlement belongs to End.
type Step struct {
	Kind       StepKind
	Settlement Settlement
}

// Examine decides about a row as it was read: after a refused claim, or instead of one.
//
//	pending, not due                              skip
//	pending, unreadable                           end: failed; outcome_unknown if an attempt may have arrived
//	pending, past deliver_by, budget or window    end: likewise
//	pending, destination retired                  skip
//	pending, its last claim was abandoned         claim alone
//	pending                                       claim, conditional on what was read
//	dispatching, claimed later than can be        end: outcome_unknown
//	dispatching, claim alive (5 s for clocks)     in flight
//	dispatching, may be sent again                take over
//	dispatching                                   end: outcome_unknown
//	anything else                                 skip
func Examine(p Policy, row Row, now time.Time) Step {
	switch {
	case row.Status == StatusDispatching:
		return examineClaimed(p, row, now)
	case row.Status == StatusOutcomeUnknown || row.Status.Terminal() || row.Status == "":
		return Step{Kind: Skip}
	case row.LaneAt.After(now):
		return Step{Kind: Skip}
	case row.Unreadable != nil:
		return end(p, row, row.Status != StatusPending && row.Token != "", CodeRowInvalid, now)
	case p.Retired && !row.expired(now):
		return Step{Kind: Skip}
	}
	if code := obstacle(p, row, now); code != "" {
		return end(p, row, false, code, now)
	}
	if row.crashed() {
		return Step{Kind: TakeOver}
	}
	return Step{Kind: ClaimFrom}
}

func examineClaimed(p Policy, row Row, now time.Time) Step {
	ahead := row.claimedAhead(now) // else it would be in flight until then
	if !ahead && !now.After(row.Until.Add(SkewMargin)) {
		return Step{Kind: InFlight}
	}
	if row.Unreadable != nil {
		return end(p, row, true, CodeRowInvalid, now)
	}
	if abandoned := row.suspected(now); ahead || p.Retired || obstacle(p, abandoned, now) != "" {
		return end(p, row, true, CodeClaimAbandoned, now)
	}
	return Step{Kind: TakeOver}
}

// end settles a row that was read, without a send. suspect says that its last claim may have been
// sent though nothing on the row says so yet.
func end(p Policy, row Row, suspect bool, code string, now time.Time) Step {
	s := Settlement{ID: row.ID, From: &row}
	if suspect && !row.MayHaveArrived() {
		s.MaybeSince = row.suspected(now).MaybeSince
		return Step{Kind: End, Settlement: s.without(p, row.suspected(now), code, now)}
	}
	return Step{Kind: End, Settlement: s.without(p, row, code, now)}
}

// claimedAhead reports whether the last claim lies so far in the future that no process can have made it: further
// than a live claim, or the end of one, ever does. A clock or a foreign hand was wrong.
func (r Row) claimedAhead(now time.Time) bool {
	return r.ClaimedAt.After(now.Add(MaxSendTimeout + ClaimMargin + SkewMargin))
}

// suspected is the row with the attempt of its last claim taken for one that may have arrived.
func (r Row) suspected(now time.Time) Row {
	if r.MayHaveArrived() {
		return r
	}
	for _, since := range []time.Time{r.ClaimedAt, r.CreatedAt, now} {
		if !since.IsZero() && !since.After(now.Add(SkewMargin)) {
			r.MaybeSince = since
			break
		}
	}
	return r
}
