package outbox

import (
	"errors"
	"fmt"
	"time"
)

// Claim is one worker's attempt to become the only one that may send and settle a row (I2).
type Claim struct {
	ID
	// Token is random and new; it names this claim.
	Token string
	// ClaimedBy names the invocation that claims, for people: its request id.
	ClaimedBy string
	At        time.Time
	// Due is by when the row must be due; zero: at At. The fast path claims within the head start that a row has; then
	// the row must never have been claimed, not even before a person gave it a new budget: the time alone would not
	// keep out a copy of the claim that lands late.
	Due time.Time
	// Until is when the claim ends.
	Until time.Time
	// Window replaces the row's, unless an attempt may have arrived.
	Window Window
	// Attempts is the budget: a row that was claimed as often refuses.
	Attempts int
	// From is nil for the blind claim of the common case, whose condition is on the row alone: pending,
	// due, no attempt that may have arrived, deliver_by later than At, budget left, not
	// abandoned when it was last claimed, and not under this claim's own token: a late copy must not take a
	// row that was settled and given back meanwhile.
	// Otherwise From is the row that was read and examined, and the condition is that the row is
	// still that one: same status, token, attempt count, order of a person and MaybeSince, which decides about the
	// window; and due if pending. From a dispatching row the claim is a take over.
	From *Row
}

// ErrNotFound is a row that does not exist.
var ErrNotFound = errors.New("no such row")

// ErrExists is a put under a destination and key that are in use with other content.
var ErrExists = errors.New("the destination and idempotency key are in use with other content")

// RefusedError is a claim that was refused and changed nothing.
type RefusedError struct {
	// Row is the row as it is; its Status is "" if there is no row.
	Row Row
}

func (e *RefusedError) Error() string {
	if e.Row.Status == "" {
		return "claim refused: no such row"
	}
	return fmt.Sprintf("claim refused: the row is %s", e.Row.Status)
}

// Apply is the meaning of a claim: the row that it makes of row, or a [RefusedError]. A claim whose
// answer was lost may be applied again: it finds its own token and is granted again, unchanged.
func (c Claim) Apply(row Row) (Row, error) {
	if row.Status == StatusDispatching && row.Token == c.Token {
		return row, nil
	}
	if !c.admits(row) {
		return Row{}, &RefusedError{Row: row}
	}
	if row.Status == StatusDispatching {
		row = row.suspected(c.At) // the abandoned attempt may have arrived
	}
	until := c.Until
	if row.MayHaveArrived() {
		if row.Until.After(until) {
			until = row.Until
		}
	} else {
		row.Window = c.Window
	}
	row.Status = StatusDispatching
	row.AttemptCount++
	row.Token, row.ClaimedBy, row.ClaimedAt, row.Until = c.Token, c.ClaimedBy, c.At, until
	return row, nil
}

// DueBy is by when the row must be due.
func (c Claim) DueBy() time.Time {
	if c.Due.IsZero() {
		return c.At
	}
	return c.Due
}

func (c Claim) admits(row Row) bool {
	due := row.Status == StatusPending && !row.LaneAt.After(c.DueBy())
	if c.From == nil {
		return due && !row.MayHaveArrived() && !row.expired(c.At) && row.AttemptCount < c.Attempts && !row.crashed() &&
			row.Token != c.Token && (c.Due.IsZero() || row.Token == "")
	}
	return (due || row.Status == StatusDispatching) && row.Status == c.From.Status &&
		row.Token == c.From.Token && row.AttemptCount == c.From.AttemptCount && row.ResolutionID == c.From.ResolutionID &&
		row.MaybeSince.Equal(c.From.MaybeSince)
}

// ErrConflict is a settlement that does not apply: the row has changed since it was read, or the
// move is illegal. The row was left as it was.
var ErrConflict = errors.New("the row has changed since it was read")

// Settlement ends an attempt, a wait or a doubt: one conditional write, fenced either by the token of
// the claim (its holder) or by the row that was read (any reader).
type Settlement struct {
	ID
	// Token is the holder's fence.
	Token string
	// From is a reader's fence; nil in a holder's settlement. The row must still have its
	// status, token, attempt count and order of a person, and its lookup count where the settlement leaves it unknown.
	From *Row

	Status Status
	// Lane and LaneAt are zero for a completed row only.
	Lane   Lane
	LaneAt time.Time
	// MaybeSince is set when not zero; Certain removes it: no earlier attempt has arrived.
	MaybeSince time.Time
	Certain    bool
	// Code and RemoteRef are set when not empty. Cause goes with Code and replaces the one before. A completed row has
	// neither code nor cause.
	Code      string
	Cause     string
	RemoteRef string
	// CompletedAt and ExpiresAt are set on ending; ExpiresAt is removed from a row that leaves its end.
	CompletedAt time.Time
	ExpiresAt   time.Time
	// LookedUp counts one more lookup.
	LookedUp bool
	// NewBudget sets the attempt count to 0.
	NewBudget bool
	// Resolution replaces the row's as a whole if its time is set. Its ID is new for each order: by it, a repetition is
	// told from the same end by other hands.
	Resolution
}

// Apply is the meaning of a settlement: the row that it makes of row, or [ErrConflict]. A repeated
// terminal settlement changes nothing and succeeds, and so does a holder's repeated unknown, except
// that it fills in a missing remote reference.
func (s Settlement) Apply(row Row) (Row, error) {
	switch {
	case s.Repeats(row):
		if row.Status == StatusOutcomeUnknown && row.RemoteRef == "" {
			row.RemoteRef = s.RemoteRef
		}
		return row, nil
	case !s.admits(row):
		return Row{}, ErrConflict
	}
	row.Status, row.Lane, row.LaneAt = s.Status, s.Lane, s.LaneAt
	if s.Certain {
		row.MaybeSince = time.Time{}
	} else if !s.MaybeSince.IsZero() {
		row.MaybeSince = s.MaybeSince
	}
	if s.Status == StatusCompleted {
		row.Code, row.Cause = "", ""
	} else if s.Code != "" {
		row.Code, row.Cause = s.Code, s.Cause
	}
	if s.RemoteRef != "" {
		row.RemoteRef = s.RemoteRef
	}
	if !s.CompletedAt.IsZero() {
		row.CompletedAt = s.CompletedAt
	}
	row.ExpiresAt = s.ExpiresAt
	if s.LookedUp {
		row.LookupCount++
	}
	if s.NewBudget {
		row.AttemptCount = 0
	}
	if !s.ResolvedAt.IsZero() {
		row.Resolution = s.Resolution
	}
	return row, nil
}

// Repeats reports whether row shows that this very settlement took effect before: its answer was
// lost, or another process recorded the same end of the same claim.
func (s Settlement) Repeats(row Row) bool {
	if row.Status != s.Status || row.Token != s.fenceToken() {
		return false
	}
	if !s.ResolvedAt.IsZero() && row.ResolutionID != s.ResolutionID {
		return false
	}
	switch s.Status {
	case StatusCompleted, StatusFailed:
		return true
	case StatusOutcomeUnknown:
		return s.From == nil || s.From.Status != StatusOutcomeUnknown ||
			s.LookedUp && row.LookupCount == s.From.LookupCount+1 && row.LaneAt.Equal(s.LaneAt)
	case StatusPending:
		return (s.From == nil || s.From.Status != StatusPending) && row.LaneAt.Equal(s.LaneAt)
	}
	return false
}

func (s Settlement) fenceToken() string {
	if s.From != nil {
		return s.From.Token
	}
	return s.Token
}

// admits is the table of legal moves: those of the holder, and those of a reader.
func (s Settlement) admits(row Row) bool {
	if s.From == nil {
		return s.Token != "" && row.Token == s.Token && legalForHolder(row, s.Status)
	}
	seen := row.Status == s.From.Status && row.Token == s.From.Token && row.AttemptCount == s.From.AttemptCount &&
		row.ResolutionID == s.From.ResolutionID
	return seen && legalForReader(row, s.Status) &&
		(s.Status != StatusOutcomeUnknown || row.LookupCount == s.From.LookupCount)
}

func legalForHolder(row Row, to Status) bool {
	switch row.Status {
	case StatusDispatching:
		return to == StatusPending || to == StatusOutcomeUnknown || to == StatusCompleted || to == StatusFailed && !row.MayHaveArrived()
	case StatusOutcomeUnknown:
		return to == StatusCompleted // a late answer under the last token
	}
	return false
}

func legalForReader(row Row, to Status) bool {
	switch row.Status {
	case StatusPending, StatusInvalid: // expired, cancelled, unreadable, no longer deduplicated
		return to == StatusOutcomeUnknown || to == StatusFailed && !row.MayHaveArrived()
	case StatusDispatching: // abandoned or unreadable
		return to == StatusOutcomeUnknown
	case StatusOutcomeUnknown:
		return to == StatusCompleted || to == StatusFailed || to == StatusPending || to == StatusOutcomeUnknown
	case StatusFailed:
		return to == StatusPending && !row.MayHaveArrived()
	}
	return false
}
