package routing

import (
	"math"
	"time"
)

// EventKind is what happened to a message.
type EventKind int

const (
	// Returned: the ingress queue handed it out. It is the first event of every invocation.
	Returned EventKind = iota
	// Overtaken: a write was refused, because another process has just written.
	Overtaken
	// Chosen: the routing function picked a consumer.
	Chosen
	// NoneChosen: it picked none, or failed.
	NoneChosen
	// Delivered: the forward was taken.
	Delivered
	// ForwardRefused: the forward demonstrably was not taken.
	ForwardRefused
	// ForwardNotSent: it did not even leave, which says nothing of the consumer.
	ForwardNotSent
	// ForwardErrored: the consumer is a function, and it failed.
	ForwardErrored
	// ForwardUnknown: the forward may have been taken or not.
	ForwardUnknown
)

// Event is what happened to a message; the fields belong to Chosen, End also to NoneChosen.
type Event struct {
	Kind     EventKind
	Consumer string
	// End and Seen are those of the step that asked.
	End  End
	Seen time.Time
}

// Situation is everything that a step is decided from.
type Situation struct {
	ID      ID
	Policy  Policy
	Receipt Receipt
	Event   Event
	// SentAt is when the message came into the ingress queue; zero if unknown.
	SentAt time.Time
	// Receives is how often it was handed out, as far as the queue can tell.
	Receives int
	// Oversize says that there is no room for the envelope.
	Oversize bool
	// Current is the membership of the consumer that has the message.
	Current Membership
	// Others says that other live members are left that were not tried.
	Others bool
	// Token is random and new.
	Token string
	Now   time.Time
}

// Step is what to do next, each part that is there, in the order of the fields: an invocation may die between
// any two.
type Step struct {
	// Select: ask the routing function, and decide again with its answer. Nothing else is there then,
	// but End and Seen if the message leaves a consumer.
	Select bool
	End    End
	Seen   time.Time

	// Move is the write. If it is refused, nothing else is done: decide again about what is there.
	Move *Move
	// Hold hides the message for so long, in whole seconds; 0: it does not.
	Hold time.Duration
	// Forward hands the attempt to its consumer. Decide again with the answer.
	Forward bool
	// Bury puts the message into the dead-letter queue, with the receipt's reason. If that fails, hold it.
	Bury bool
	// Delete deletes the message from the ingress queue.
	Delete bool
}

// Decide is the router's decision table.
//
//	receipt    event                        step
//	accepted   any                          delete
//	dead       any but overtaken            dead-letter it (once more), delete
//	dead       overtaken                    hold: the writer is about to
//	any other  past max_wait, near          kill, dead-letter, delete
//	           maxReceiveCount, oversize
//	none       returned                     select
//	none       chosen                       assign, hold, forward
//	none       none chosen                  hold with back-off
//	pending    returned before the deadline forward the same attempt again: hold, forward
//	pending    overtaken, likewise          hold
//	pending    returned, lapsed             another consumer is left: select
//	           or declined                  live and not declined: extend, hold, forward once more
//	                                        draining: hold with back-off
//	                                        else kill, dead-letter, delete
//	           chosen                       reassign, hold, forward
//	           none chosen                  hold with back-off
//	pending    delivered, unknown           nothing: it is held
//	pending    refused, errored             another consumer is left: select
//	                                        else hold with back-off; extended before: extend as not taken
//	pending    not sent                     as refused with no other consumer
//
// Where delivery counts as acceptance:
//
//	pending    returned                     mark it again, hold, forward to the same consumer
//	pending    returned, not taken          extend, hold, forward to the same consumer; if that left: select
//	pending    delivered                    accept, delete
//	pending    errored, unknown             nothing: it is held
//	pending    refused                      as above, unless it is marked: another forward may have been taken.
//	                                        No other consumer, or none chosen: as not sent
//	pending    not sent                     extend as not taken, hold with back-off; marked: hold with back-off
func Decide(s Situation) Step {
	switch s.Receipt.State {
	case Accepted:
		return Step{Delete: true}
	case Dead:
		if s.Event.Kind == Overtaken {
			return s.wait()
		}
		return Step{Bury: true, Delete: true}
	}
	switch s.Event.Kind {
	case Chosen:
		return s.assign()
	case NoneChosen:
		return s.stay(s.Receipt.OnDelivery && s.Event.End == EndRefused && !s.Receipt.notTaken())
	case Delivered, ForwardUnknown, ForwardRefused, ForwardNotSent, ForwardErrored:
		return s.answered()
	}
	if reason := s.over(); reason != "" {
		return s.kill(reason)
	}
	switch beforeDeadline := s.Now.Before(s.Receipt.Deadline); {
	case s.Receipt.State == "":
		return Step{Select: true}
	case s.Receipt.State == Declined:
		return s.moveOn(EndDeclined)
	case s.Event.Kind == Overtaken && beforeDeadline:
		return Step{Hold: s.until(s.Receipt.Deadline)}
	case s.Receipt.OnDelivery:
		return s.deliverAgain()
	case beforeDeadline:
		return Step{Hold: s.until(s.Receipt.Deadline), Forward: s.Current != NoMember}
	}
	return s.moveOn(EndLapsed)
}

// over is why the message is to be given up now, or "".
func (s Situation) over() Reason {
	var reason Reason
	switch {
	case s.Oversize && s.Receipt.State == "":
		return ReasonOversize
	case !s.SentAt.IsZero() && !s.Now.Before(s.SentAt.Add(s.Policy.MaxWait)):
		reason = ReasonMaxWait
	case s.Receives >= backstop(s.Policy.MaxReceives):
		reason = ReasonReceiveCount
	}
	if reason != "" && s.Receipt.State == Pending && s.Receipt.OnDelivery {
		return ReasonDeliveryUnknown
	}
	return reason
}

// backstop is 90 % of what the queue allows: beyond that it gives a message up by itself.
func backstop(maxReceives int) int { return int(math.Ceil(0.9 * float64(maxReceives))) }

func (s Situation) kill(reason Reason) Step {
	m := s.move(Kill)
	m.Reason = reason
	return Step{Move: &m, Bury: true, Delete: true}
}

// assign gives the message to the consumer that was chosen.
func (s Situation) assign() Step {
	kind := Assign
	if s.Receipt.State != "" {
		kind = Reassign
	}
	m := s.move(kind)
	m.Consumer, m.OnDelivery, m.Deadline = s.Event.Consumer, s.Policy.Accept == OnDelivery, s.Now.Add(s.Policy.AcceptTimeout)
	m.End, m.Seen = s.Event.End, s.Event.Seen
	return Step{Move: &m, Hold: s.until(m.Deadline), Forward: true}
}

// moveOn is for an attempt that is over: the message goes to another consumer, if one is left.
func (s Situation) moveOn(end End) Step {
	switch {
	case s.Others:
		return Step{Select: true, End: end, Seen: s.Now}
	case end == EndDeclined || s.Current == NoMember:
		return s.kill(ReasonNobodyLeft)
	case s.Current == DrainingMember: // it may still accept, and a consumer may join
		return s.wait()
	}
	m := s.extend()
	return Step{Move: &m, Hold: s.until(m.Deadline), Forward: s.Receipt.Extensions == 0}
}

func (s Situation) extend() Move {
	m := s.move(Extend)
	m.Deadline = s.Now.Add(s.Policy.AcceptTimeout)
	return m
}

// deliverAgain is for an attempt that may have been delivered: the same consumer gets it again, and no other. If it
// demonstrably was not delivered, another consumer may get it.
func (s Situation) deliverAgain() Step {
	switch {
	case s.Current != NoMember:
	case s.Receipt.notTaken() && s.Others:
		return Step{Select: true, End: EndRefused, Seen: s.Now}
	default:
		return s.wait()
	}
	step := Step{Hold: s.until(s.Now.Add(s.Policy.AcceptTimeout)), Forward: true}
	switch {
	case s.Receipt.notTaken(): // only the invocation that writes this forwards it, as with the attempt itself
		m := s.extend()
		step.Move = &m
	case !s.Receipt.Again:
		m := s.move(MarkAgain)
		step.Move = &m
	}
	return step
}

// answered is for an attempt that was forwarded and is held.
func (s Situation) answered() Step {
	onDelivery := s.Receipt.OnDelivery
	var end End
	switch s.Event.Kind {
	case Delivered:
		if onDelivery {
			m := s.move(Accept)
			return Step{Move: &m, Delete: true}
		}
		return Step{}
	case ForwardRefused:
		end = EndRefused
	case ForwardErrored:
		end = EndErrored
	}
	switch {
	case s.Event.Kind == ForwardNotSent: // no other queue is nearer: try the same consumer soon
	case end == "" || end == EndErrored && onDelivery:
		return Step{}
	case s.Others && !(onDelivery && s.Receipt.Again): // unmarked: only its writer has forwarded it
		return Step{Select: true, End: end, Seen: s.Now}
	}
	if onDelivery {
		return s.stay(!s.Receipt.Again)
	}
	return s.stay(s.Receipt.Extensions > 0 && s.Current == LiveMember) // or it would not be forwarded any more
}

// stay leaves the message to its consumer for now, with a note, if need be, that it demonstrably was not taken.
func (s Situation) stay(notTaken bool) Step {
	step := s.wait()
	if notTaken {
		m := s.extend()
		m.NotTaken = true
		step.Move = &m
	}
	return step
}

func (s Situation) move(kind MoveKind) Move {
	return Move{ID: s.ID, Kind: kind, From: s.Receipt, Token: s.Token, At: s.Now}
}

// Bounds of the back-off of a message that no consumer takes now.
const (
	MinBackOff = time.Second
	MaxBackOff = 5 * time.Minute
)

// wait holds the message with back-off: an eighth of its age, so that nothing needs to be remembered and the
// receive count stays far from its end. It is back when its time is over, and before its deadline, if any.
func (s Situation) wait() Step {
	wait := MinBackOff
	if !s.SentAt.IsZero() {
		age := s.Now.Sub(s.SentAt)
		wait = min(max(age/8, MinBackOff), MaxBackOff)
		if left := s.Policy.MaxWait - age; left > 0 {
			wait = min(wait, left)
		}
	}
	if left := s.Receipt.Deadline.Sub(s.Now); s.Receipt.State == Pending && left > 0 {
		wait = min(wait, left)
	}
	return Step{Hold: wholeSeconds(wait)}
}

// until is the time to hold a message to be back at the given time, not earlier.
func (s Situation) until(t time.Time) time.Duration { return wholeSeconds(t.Sub(s.Now)) }

// wholeSeconds rounds up, to at least one: a queue counts in seconds, and 0 is at once.
func wholeSeconds(d time.Duration) time.Duration {
	return max(time.Second, (d + time.Second - 1).Truncate(time.Second))
}
