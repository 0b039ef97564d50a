package landfall

import (
	"errors"

	"github.com/landfall-dev/landfall/internal/outbox"
)

// ErrConflict is a row whose destination and key are in use with other content. Nothing was written.
// Repeating the put is of no use; it is either another effect, which needs a key of its own, or the same
// effect with a payload or options that were not made from the command alone.
var ErrConflict = errors.New("the destination and idempotency key are in use with other content")

// ErrNotFound is a row that does not exist: it was never put, or it ended and its retention is over.
var ErrNotFound = errors.New("no such row")

// RowError is a row that breaks a rule. Nothing was sent to DynamoDB. Its text holds no payload, no key and
// no header's value.
type RowError struct {
	// Field of [Row] that is wrong.
	Field string
	// Problem says what is wrong and what would be right.
	Problem string

	row outbox.ID
}

func (e *RowError) Error() string {
	return "landfall: row " + e.row.String() + ": " + e.Field + ": " + e.Problem
}
