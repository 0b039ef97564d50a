package landfall

import (
	"errors"

	"github.com/landfall-dev/landfall/internal/outbox"
)

// ErrConflict means that the row's destination and key are in use with other content. Nothing was written, and repeating
// the put does not help. Either this is another effect, which needs another key, or its payload or options were not made
// from the command alone.
var ErrConflict = errors.New("the destination and idempotency key are in use with other content")

// ErrNotFound is a row that does not exist: it was never put, or it ended and its retention is over.
var ErrNotFound = errors.New("no such row")

// RowError says which rule a row breaks. Nothing was sent to DynamoDB. Its text holds no payload, no key and
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
