package outbox

import (
	"context"
	"errors"
	"math"
	"time"
)

// Lookup asks a remote what became of a row. It changes nothing there, and reports what the remote
// said; it does not decide what follows. It is called only when no attempt can arrive any more, so that
// "no such thing" is an answer. When ctx ends it returns: AnswerUnresolved.
type Lookup interface {
	Look(ctx context.Context, row Row) Answer
}

// LookupTimeout bounds one lookup.
const LookupTimeout = 10 * time.Second

// AnswerKind is what a remote said about a row whose outcome is not known.
type AnswerKind int

const (
	// AnswerUnresolved: the remote did not answer, or cannot say. It is the zero value, so that a lookup that
	// forgot to say is not believed.
	AnswerUnresolved AnswerKind = iota
	// AnswerCompleted: the effect happened.
	AnswerCompleted
	// AnswerFailed: the remote knows the row, and its effect did not and will not happen.
	AnswerFailed
	// AnswerNotFound: the remote does not know the row. Asked late enough, it never will.
	AnswerNotFound
)

// String is the word that configurations and lookups use.
func (k AnswerKind) String() string {
	switch k {
	case AnswerCompleted:
		return "completed"
	case AnswerFailed:
		return "failed"
	case AnswerNotFound:
		return "not_found"
	default:
		return "unresolved"
	}
}

// Answer is the fact that a lookup reports. What follows from it is decided by [Resolve].
type Answer struct {
	Kind AnswerKind
	// Code is a stable, dotted code of the trouble, free of payload, key and secret.
	Code string
	// Ref is what the remote calls the effect, if it said so.
	Ref string
}

// Codes that reconciling writes. Lookups have their own, below "landfall.lookup.<kind>.".
const (
	CodeLookupFailed   = "landfall.lookup.failed" // the remote says so and gives no code
	CodeLookupPanicked = "landfall.lookup.panicked"
	CodeLookupNoAnswer = "landfall.lookup.no_answer"
)

// lookAgain is the wait between lookups of one row.
var lookAgain = Backoff{First: time.Minute, Factor: 4, Max: time.Hour}

// askableFrom is the earliest time at which a remote's word on a row is final: before, an attempt may
// still arrive. A row whose claim cannot be read, or lies in the future, has it in its lane since it became unknown.
func (p Policy) askableFrom(row Row, now time.Time) time.Time {
	if row.Until.IsZero() || row.claimedAhead(now) {
		return row.LaneAt
	}
	return p.settledBy(row.Until)
}

var errMisplaced = errors.New("lane: unknown, though the row's status is not outcome_unknown")

// ExamineUnknown decides about a row as it was read after it had been found in an unknown lane. canAsk
// says whether the destination has a lookup.
//
//	outcome_unknown, unreadable, or no lookup     a person
//	outcome_unknown, an attempt may still arrive  skip
//	outcome_unknown                               ask
//	of another status, and in this lane           unreadable: see [Examine]
//	anything else                                 skip: the index was stale
func ExamineUnknown(p Policy, row Row, canAsk bool, now time.Time) Step {
	switch {
	case row.Status != StatusOutcomeUnknown && row.Lane.Kind == UnknownLane:
		row.Unreadable = errMisplaced
		return Examine(p, row, now)
	case row.Status != StatusOutcomeUnknown:
		return Step{Kind: Skip}
	case row.Unreadable != nil || !canAsk:
		return Step{Kind: AwaitPerson}
	case now.Before(p.askableFrom(row, now)):
		return Step{Kind: Skip}
	}
	return Step{Kind: Ask}
}

// Resolve is what follows from the answer to a lookup that was started when [ExamineUnknown] allowed
// it. row is the row as read before it, now is after it.
//
//	answer      row
//	completed   completed
//	failed      failed; it is not sent again, because an attempt may have arrived
//	not_found   pending, due now; failed if the budget is spent or deliver_by passed. It has not arrived
//	unresolved  outcome_unknown; asked again after 1 minute, 4, 16, then every hour
func Resolve(p Policy, row Row, a Answer, now time.Time) Settlement {
	read := row
	s := Settlement{ID: row.ID, From: &read, Code: a.Code, RemoteRef: a.Ref, LookedUp: true}
	switch a.Kind {
	case AnswerCompleted:
		return s.completed(p, now)
	case AnswerFailed:
		if a.Code == "" {
			a.Code = CodeLookupFailed
		}
		return s.failed(p, row, a.Code, now)
	case AnswerNotFound:
		s.Certain, row.MaybeSince = true, time.Time{}
		if code := obstacle(p, row, now); code != "" {
			return s.without(p, row, code, now)
		}
		s.Status, s.Lane, s.LaneAt = StatusPending, laneOf(p, row, DueLane), now
		return s
	}
	s.Status, s.Lane = StatusOutcomeUnknown, laneOf(p, row, UnknownLane)
	s.LaneAt = now.Add(lookAgain.Wait(min(row.LookupCount, math.MaxInt-1) + 1))
	return s
}
