package consumer

import "errors"

// The errors of [Consumer.Accept] and [Consumer.Decline] about a message.
var (
	// ErrStale: the attempt is over. The message was rerouted, declined or dead-lettered. Delete the copy.
	ErrStale = errors.New("the message has moved on from this consumer")
	// ErrAccepted: the message can no longer be declined. This consumer accepted it before, or its group has
	// accept: on_delivery.
	ErrAccepted = errors.New("this consumer has accepted the message already")
	// ErrNoEnvelope: the router did not forward the message, or it was received without its message attributes.
	ErrNoEnvelope = errors.New("the message has no attribute landfall: receive it with its message attributes")
	// ErrEnvelope: the router did not write this envelope.
	ErrEnvelope = errors.New("invalid attribute landfall")
	// ErrNoReceipt: the message has no receipt. The table belongs to another deployment, or the receipt has expired.
	ErrNoReceipt = errors.New("the receipts table does not have the message: check that ReceiptsTable names the router's table")
)
