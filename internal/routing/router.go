package routing

import (
	"context"
	"errors"
	"io"
	"time"
)

// Receipts is where receipts are kept. Every write is one conditional write; its meaning is [Move.Apply].
// routingtest is the suite that every store passes.
type Receipts interface {
	// Get reads strongly consistently. The State of a receipt that does not exist is "".
	Get(ctx context.Context, id ID) (Receipt, error)
	// Write returns the receipt as written, or a [*RefusedError] that carries the receipt as it is; any
	// other error leaves open whether the move took effect.
	Write(ctx context.Context, m Move) (Receipt, error)
}

// Groups is where groups are read.
type Groups interface {
	// Snapshot reads a group strongly consistently. It returns [ErrNoGroup] if there is none.
	Snapshot(ctx context.Context, group string) (Snapshot, error)
}

// Incoming is a message as the ingress queue handed it out.
type Incoming struct {
	Message
	Group string
	// Handle deletes or shows this very handing out.
	Handle string
	// SentAt is when the message came into the queue; zero if unknown.
	SentAt time.Time
	// Receives is how often it was handed out, 0 if unknown. It proves nothing.
	Receives int
	// Bytes is its size with attributes, AttributeCount their number.
	Bytes          int
	AttributeCount int
	// Source is the message as it came, for the [Forwarder] and the [DeadLetters]; the domain only hands it
	// back.
	Source any
}

// What an ingress message may have at most, so that there is room for the envelope.
const (
	MaxIncomingBytes      = 1<<20 - MaxEnvelopeBytes
	MaxIncomingAttributes = 9
)

func (in Incoming) receiptID() ID { return ID{Group: in.Group, Message: in.ID} }

// Hold hides a message.
type Hold struct {
	Message Incoming
	// For is whole seconds from now; 0 shows it at once.
	For time.Duration
}

// ErrLeaseLost is a handle that has expired: another invocation may have the message. It is harmless, because only the
// receipt counts.
var ErrLeaseLost = errors.New("the handle has expired")

// Ingress is the queue that messages come from. Its methods return an error or nil for each message, in
// order, [ErrLeaseLost] among them.
type Ingress interface {
	Hold(ctx context.Context, holds []Hold) []error
	// Delete may do nothing if the platform deletes what is not reported as kept.
	Delete(ctx context.Context, messages []Incoming) []error
}

// Forward is a message for a consumer: its body as it was, with the envelope beside it.
type Forward struct {
	Message  Incoming
	Consumer Consumer
	Envelope Envelope
}

// AnswerKind is what is known of a forward.
type AnswerKind int

const (
	// NoAnswer: it may have been taken. It is the zero value, so that a missing answer never counts as a refusal.
	NoAnswer AnswerKind = iota
	// Taken: the consumer has it; its queue holds it, or the function ended well.
	Taken
	// NotTaken: it demonstrably was not delivered, because the consumer's queue or function refused.
	NotTaken
	// NotSent: it demonstrably was not delivered, because nothing was sent.
	NotSent
	// Failed: the consumer is a function and failed; it may have done something before.
	Failed
)

// Answer is what is known of a forward. Text says what the trouble was, free of content and secrets.
type Answer struct {
	Kind AnswerKind
	Text string
}

// Forwarder forwards messages to consumers.
type Forwarder interface {
	// Forward returns an answer for each forward, in order. When ctx ends it returns.
	Forward(ctx context.Context, forwards []Forward) []Answer
}

// DeadLetter is a message that was given up, with its receipt, which says why.
type DeadLetter struct {
	Message Incoming
	Receipt Receipt
}

// DeadLetters is the queue for what was given up.
type DeadLetters interface {
	// Bury returns an error or nil for each letter, in order. A letter may be buried again.
	Bury(ctx context.Context, letters []DeadLetter) []error
}

// Handled is what one invocation did about one message.
type Handled struct {
	ID ID
	// Receipt is the message's as far as this invocation knows; its State is "" if it has none. It is the
	// [Receipt.Outcome] that counts.
	Receipt Receipt
	// Kept says that the message must stay in the ingress queue: report it as failed.
	Kept bool
	// Held is for how long it was hidden last; 0: it was not, or is shown at once.
	Held time.Duration
	// GivenBack says that there was no time for it.
	GivenBack bool
	// Forwards counts the forwards. Extended says that the deadline was moved: no other consumer was left, or the forward
	// was not taken.
	Forwards int
	Extended bool
	// Reroutes are those of this invocation.
	Reroutes []Reroute
	// Age is the message's when it was done with.
	Age time.Duration
	// Err is the last trouble: [ErrNoConsumerAvailable], an [*UnknownConsumerSelectedError], an
	// [*EvaluationError], a [*ForwardError], or that of a port.
	Err error
}

// Timing of a batch.
const (
	// DefaultReserve is what one message takes in the worst of ordinary cases: a slow routing function, a
	// receipt, a hold, a forward.
	DefaultReserve = 15 * time.Second
	// DefaultForwardTimeout bounds a round of forwards.
	DefaultForwardTimeout = 20 * time.Second
	// closing is the time to write down what forwards answered.
	closing = 3 * time.Second
	// LapseMemory is for how long a consumer that let a message lapse is passed over while others are there.
	LapseMemory = 30 * time.Second
)

// Router routes batches of messages. Its fields are read only once it routes. It may route several batches at
// once, and should live from batch to batch: it remembers which consumers let messages lapse.
type Router struct {
	Receipts    Receipts
	Groups      Groups
	Ingress     Ingress
	Forwarder   Forwarder
	DeadLetters DeadLetters
	// Reserve is how much time must be left to begin with a message. Defaults to DefaultReserve.
	Reserve time.Duration
	// ForwardTimeout bounds a round of forwards. Defaults to DefaultForwardTimeout.
	ForwardTimeout time.Duration
	// Now is the clock; timers are real. Defaults to time.Now. Readings are cut to the millisecond.
	Now func() time.Time
	// Rand is where tokens come from. Defaults to crypto/rand.Reader.
	Rand io.Reader

	lapses lapses
}

// Route takes the next steps of each message: with one snapshot of each group, and within the time that ctx
// leaves. A message that cannot be begun in time is given back. It returns what it did, in the order of the
// batch. One message's failure never affects another.
func (r *Router) Route(ctx context.Context, messages []Incoming) []Handled {
	b := newBatch(ctx, r, messages)
	for open := b.flows; len(open) > 0; {
		open = b.round(open)
	}
	handled := make([]Handled, len(b.flows))
	for i, f := range b.flows {
		handled[i] = f.report(b.router.now())
	}
	return handled
}
