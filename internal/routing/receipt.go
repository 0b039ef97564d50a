package routing

import "time"

// ID names a message within its group, and its receipt. It is free of the message's content.
type ID struct {
	Group   string
	Message string
}

// String is the receipt's key, "<group>#<message id>".
func (id ID) String() string { return id.Group + "#" + id.Message }

// State is where a receipt stands; "" is a message without one.
type State string

// The states, as they are stored. Accepted and Dead are final.
const (
	// Pending: a consumer was picked and has until the deadline to accept, or until the message moves on.
	Pending State = "pending"
	// Declined: the consumer declined.
	Declined State = "declined"
	// Accepted: the consumer accepted. The message is its own.
	Accepted State = "accepted"
	// Dead: the message was given up and belongs in the dead-letter queue.
	Dead State = "dead"
)

// End is why a message moved on from a consumer.
type End string

// The ends of attempts.
const (
	// EndLapsed: the deadline passed.
	EndLapsed End = "lapsed"
	// EndDeclined: the consumer declined.
	EndDeclined End = "declined"
	// EndRefused: its queue demonstrably refused the message.
	EndRefused End = "refused"
	// EndErrored: it is a function, and it failed.
	EndErrored End = "errored"
)

// Reason is why a message is dead.
type Reason string

// The reasons.
const (
	// ReasonMaxWait: no consumer accepted it within max_wait.
	ReasonMaxWait Reason = "max_wait"
	// ReasonNobodyLeft: all consumers were tried, and the last one declined or left.
	ReasonNobodyLeft Reason = "nobody_left"
	// ReasonReceiveCount: the queue is about to dead-letter it without a reason.
	ReasonReceiveCount Reason = "receive_count"
	// ReasonDeliveryUnknown: as ReasonMaxWait or ReasonReceiveCount, and the consumer may have taken the message.
	ReasonDeliveryUnknown Reason = "delivery_unknown"
	// ReasonOversize: there is no room for the envelope. It is dead-lettered unchanged.
	ReasonOversize Reason = "oversize"
)

// Past is an attempt that is over: its consumer is never picked for the message again.
type Past struct {
	Consumer string
	End      End
	// AssignedAt is when the attempt was written, Deadline the end of its time, EndedAt when the router saw its end.
	AssignedAt time.Time
	Deadline   time.Time
	EndedAt    time.Time
}

// Retention is how long a receipt is kept after its last write: longer than any queue keeps a message.
const Retention = 15 * 24 * time.Hour

// Receipt is the stored state of a message: the attempt under way, its state, and the attempts before it.
// Times have a resolution of one millisecond; zero values stand for absent attributes.
type Receipt struct {
	ID
	State State
	// Attempt counts the consumers that the message was given to, from 1; 0: dead before any.
	Attempt int
	// Token is random and names the attempt. A consumer needs it to accept or decline.
	Token    string
	Consumer string
	// OnDelivery says that the attempt counts as accepted when it is forwarded.
	OnDelivery bool
	// AssignedAt is when the attempt was written, Deadline the end of the consumer's time to accept.
	AssignedAt time.Time
	Deadline   time.Time
	// Extensions counts how often the deadline was moved because no other consumer was left. A forward that was not taken
	// sets it to 0.
	Extensions int
	// Again says that a second invocation forwards the attempt. Then a refusal does not prove that the message was not
	// delivered. OnDelivery only.
	Again bool
	// Mark names the last Extend or Kill; the token names the other writes.
	Mark string
	// History is what came before, oldest first.
	History []Past
	// EndedAt is when the receipt was accepted, declined or dead.
	EndedAt time.Time
	Reason  Reason
	// ExpiresAt has a resolution of one second.
	ExpiresAt time.Time
}

// Tried are the consumers that the message has moved on from, in order.
func (r Receipt) Tried() []string {
	tried := make([]string, len(r.History))
	for i, past := range r.History {
		tried[i] = past.Consumer
	}
	return tried
}

// passed are the consumers that cannot be the next one: those tried, and the one that has the message.
func (r Receipt) passed() []string {
	if r.Consumer == "" {
		return nil
	}
	return append(r.Tried(), r.Consumer)
}

// notTaken reports whether the forward of an attempt that counts as accepted when it is forwarded demonstrably was not
// taken, and no invocation has forwarded it since.
func (r Receipt) notTaken() bool {
	return r.OnDelivery && r.Mark != "" && r.Extensions == 0 && !r.Again
}

// same reports whether nothing that moves depend on has changed between two readings of a receipt. The mark tells a deadline that
// was moved; the deadline itself may be the same by another clock.
func (r Receipt) same(other Receipt) bool {
	return r.State == other.State && r.Attempt == other.Attempt && r.Token == other.Token &&
		r.Mark == other.Mark && r.Again == other.Again
}

// Outcome is what became of a message, as far as its receipt tells.
type Outcome struct {
	// DeliveredTo is the consumer that accepted, "" if none has.
	DeliveredTo string
	// ReroutedFrom are the consumers that the message moved on from, in order, and Reroutes how it did.
	ReroutedFrom []string
	Reroutes     []Reroute
	// DeliveredFirstTry says that the first consumer accepted.
	DeliveredFirstTry bool
	// Reason is why the message is dead, "" if it is not.
	Reason Reason
}

// Reroute is a message's move from one consumer to the next.
type Reroute struct {
	From, To string
	End      End
	// Deadline is until when From had, Seen when the end of its attempt was seen, Written when the next
	// consumer was written.
	Deadline time.Time
	Seen     time.Time
	Written  time.Time
}

// Outcome is what became of the message so far.
func (r Receipt) Outcome() Outcome {
	o := Outcome{ReroutedFrom: r.Tried(), Reason: r.Reason}
	for i, past := range r.History {
		to, written := r.Consumer, r.AssignedAt
		if i+1 < len(r.History) {
			to, written = r.History[i+1].Consumer, r.History[i+1].AssignedAt
		}
		o.Reroutes = append(o.Reroutes, Reroute{
			From: past.Consumer, To: to, End: past.End, Deadline: past.Deadline, Seen: past.EndedAt, Written: written,
		})
	}
	if r.State == Accepted {
		o.DeliveredTo, o.DeliveredFirstTry = r.Consumer, r.Attempt == 1
	}
	return o
}
