package routingsim

import (
	"slices"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/sim/stage"
	"github.com/landfall-dev/landfall/internal/routing"
)

// law records what happens to each message and reports what must not happen. Its methods are called with the stage's mutex
// held.
type law struct {
	stage   *stage.Stage
	world   *routerWorld
	records map[routing.ID]*record
}

// record is what happened to a message, as the law saw it. Several messages with the same id have one.
type record struct {
	id       routing.ID
	messages []*message
	// state is where it stands; attempts are those that were written, the last one is under way.
	state    routing.State
	attempts []*attempt
	reason   routing.Reason
	// owners are the consumers that own it, as they see it: an acceptance was granted, or it was delivered and
	// that is enough.
	owners []string
	// letters counts the dead letters, redriven says that its queue gave it up.
	letters  int
	redriven bool
	// spoilt: a foreign hand has broken its receipt.
	spoilt bool
}

// attempt is one consumer that a message was given to.
type attempt struct {
	number     int
	token      string
	consumer   string
	onDelivery bool
	again      bool
	extended   int
	assigned   time.Time
	deadline   time.Time
	// missed counts the invocations that were given the message past the deadline and left it there.
	missed int
	// end is why the message moved on, "" if it has not, and seen when that was seen.
	end  routing.End
	seen time.Time
}

func (r *record) current() *attempt {
	if len(r.attempts) == 0 {
		return nil
	}
	return r.attempts[len(r.attempts)-1]
}

func (r *record) find(token string) *attempt {
	i := slices.IndexFunc(r.attempts, func(a *attempt) bool { return a.token == token })
	if i < 0 {
		return nil
	}
	return r.attempts[i]
}

// tried are all that it was given to.
func (r *record) tried(consumer string) bool {
	return slices.ContainsFunc(r.attempts, func(a *attempt) bool { return a.consumer == consumer })
}

// ended reports whether it may be deleted.
func (r *record) ended() bool {
	return r.state == routing.Accepted || r.state == routing.Dead && r.letters > 0
}

func (r *record) owned(consumer string) {
	if !slices.Contains(r.owners, consumer) {
		r.owners = append(r.owners, consumer)
	}
}

func (l *law) record(id routing.ID) *record {
	r := l.records[id]
	if r == nil {
		l.stage.Violated("I11", "%s: the message was never sent", id)
		r = &record{id: id}
	}
	return r
}

// sent notes a message.
func (l *law) sent(id routing.ID, m *message) {
	if l.records[id] == nil {
		l.records[id] = &record{id: id}
	}
	r := l.records[id]
	r.messages = append(r.messages, m)
}

// redriven notes that a queue gives a message up: only for what was received without being routed.
func (l *law) redriven(id routing.ID, m *message) {
	l.stage.Happened["given up by the queue"]++
	r := l.record(id)
	r.redriven = true
	final := r.state == routing.Accepted || r.state == routing.Dead // an invocation may be about to bury it
	l.stage.Must(final || m.routed < backstop(m.receives), "backstop", "%s is given up by its queue after %d receives, and was routed at its %dth",
		id, m.receives, m.routed)
}

// backstop is the receive count from which on a router gives up a message that its queue is about to give up.
func backstop(most int) int { return (most*9 + 9) / 10 }

// explicit reports whether the consumer of an envelope must accept.
func (l *law) explicit(e routing.Envelope) bool {
	a := l.record(e.ID).find(e.Token)
	return a != nil && !a.onDelivery
}
