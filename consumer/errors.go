package consumer

import "errors"

// What can be wrong with a message that the router forwarded; see [Consumer.Accept].
var (
	// ErrStale is an attempt that is over: the message was rerouted, declined or dead-lettered. Delete the copy.
	ErrStale = errors.New("the message has moved on from this consumer")
	// ErrAccepted is a message that can no longer be declined: this consumer accepted it before, or delivery is
	// acceptance in its group.
	ErrAccepted = errors.New("this consumer has accepted the message already")
	// ErrNoEnvelope is a message that the router did not forward, or that was received without its message
	// attributes.
	ErrNoEnvelope = errors.New("the message has no attribute landfall: was it received with its message attributes?")
	// ErrEnvelope is an envelope that the router did not write.
	ErrEnvelope = errors.New("the message's attribute landfall cannot be read")
	// ErrNoReceipt is a message without a receipt: the table belongs to another deployment, or the message is older
	// than its receipt's retention.
	ErrNoReceipt = errors.New("the receipts table does not know the message: is it the table of the router that forwarded it?")
)
