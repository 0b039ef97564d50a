package outbox

import (
	"errors"
	"time"
)

// ErrConflict is a settlement that does not apply: the row is no longer what its author saw, or the
// move is illegal. The row was left as it was.
var ErrConflict = errors.New("the row has moved on")

// Settlement ends an attempt, a wait or a doubt: one conditional write, fenced either by the token of
// the claim (its holder) or by the row that was read (everybody else).
type Settlement struct {
	ID
	// Token is the holder's fence.
	Token string
	// From is the fence of everybody else; nil in a holder's settlement. The row must still have its
	// status, token and attempt count, and its lookup count where the settlement leaves it unknown.
	From *Row

	Status Status
	// Lane and LaneAt are zero for a completed row only.
	Lane   Lane
	LaneAt time.Time
	// MaybeSince is set when not zero; Certain removes it: no earlier attempt has arrived.
	MaybeSince time.Time
	Certain    bool
	// Code and RemoteRef are set when not empty.
	Code      string
	RemoteRef string
	// CompletedAt and ExpiresAt are set on ending; ExpiresAt is removed from a row that leaves its end.
	CompletedAt time.Time
	ExpiresAt   time.Time
	// LookedUp counts one more lookup.
	LookedUp bool
	// NewBudget sets the attempt count to 0.
	NewBudget bool
	// Resolution replaces the row's as a whole if its time is set.
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
	if s.Code != "" {
		row.Code = s.Code
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
// lost, or somebody else recorded the same end of the same claim.
func (s Settlement) Repeats(row Row) bool {
	if row.Status != s.Status || row.Token != s.fenceToken() {
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

// admits is the table of legal moves, with who may make them.
func (s Settlement) admits(row Row) bool {
	if s.From == nil {
		return s.Token != "" && row.Token == s.Token && legalForHolder(row, s.Status)
	}
	seen := row.Status == s.From.Status && row.Token == s.From.Token && row.AttemptCount == s.From.AttemptCount
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
