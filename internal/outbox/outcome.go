package outbox

import "time"

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
	CodeClaimAbandoned    = "landfall.claim.abandoned"
	CodeClaimLate         = "landfall.claim.late"
	CodeSenderPanicked    = "landfall.sender.panicked"
	CodeNoAnswer          = "landfall.sender.no_answer"
)
