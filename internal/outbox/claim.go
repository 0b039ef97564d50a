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
	// ClaimedBy says who claims, for people: the request id of the invocation.
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
	// due, no attempt that may have arrived, deliver_by later than At, budget left, and not
	// abandoned when it was last claimed.
	// Otherwise From is the row that was read and examined, and the condition is that the row is
	// still that one: same status, token and attempt count, and due if pending. From a
	// dispatching row the claim is a take over.
	From *Row
}

// ErrNotFound is a row that does not exist.
var ErrNotFound = errors.New("no such row")

// ErrExists is a put under a destination and key that are in use with other content.
var ErrExists = errors.New("the destination and idempotency key are in use with other content")

// RefusedError is a claim that was refused and changed nothing.
type RefusedError struct {
	// Row is the row as it is; its Status is "" if there is none.
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
			(c.Due.IsZero() || row.Token == "")
	}
	return (due || row.Status == StatusDispatching) && row.Status == c.From.Status &&
		row.Token == c.From.Token && row.AttemptCount == c.From.AttemptCount
}
