package landfall

import (
	"errors"

	"github.com/landfall-dev/landfall/internal/outbox"
)

// ErrConflict is a row whose destination and key are in use with other content. Nothing was written.
// Repeating the put is of no use; it is either another effect, which needs a key of its own, or the same
// effect with a payload or options that were not made from the command alone.
var ErrConflict = errors.New("the destination and idempotency key are in use with other content")

// What can be wrong with a message that the router forwarded; see [Consumer.Accept].
var (
	// ErrStale is an attempt that is over: the message was rerouted, declined or dead-lettered. The copy is of no
	// use any more.
	ErrStale = errors.New("the message has moved on from this consumer")
	// ErrAccepted is a message that cannot be declined: this consumer accepted it before, or its group says that
	// delivery is acceptance.
	ErrAccepted = errors.New("the message is this consumer's own already")
	// ErrNoEnvelope is a message that the router did not forward, or that was received without its message
	// attributes.
	ErrNoEnvelope = errors.New("the message has no attribute landfall: was it received with its message attributes?")
	// ErrEnvelope is an envelope that is none of the router's.
	ErrEnvelope = errors.New("the message's attribute landfall cannot be read")
	// ErrNoReceipt is a message that the receipts table does not know: it is the table of another deployment, or the
	// message is older than receipts are kept.
	ErrNoReceipt = errors.New("the receipts table does not know the message: is it the table of the router that forwarded it?")
)

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
