package routingsim

import (
	"fmt"
	"time"

	"github.com/landfall-dev/landfall/internal/routing"
)

// holding holds the time that messages are hidden to what they wait for.
func (l *law) holding(i *instance, holds []routing.Hold) {
	p := i.process
	for _, h := range holds {
		id := routing.ID{Group: h.Message.Group, Message: h.Message.ID}
		l.stage.Must(h.For%time.Second == 0 && h.For >= 0 && h.For <= 12*time.Hour, "schedule", "%s is held for %v", id, h.For)
		p.told.held[h.Message.Handle] = h.For
	}
}

// forwarding holds forwards to having been written and held before.
func (l *law) forwarding(i *instance, forwards []routing.Forward) {
	p := i.process
	for _, f := range forwards {
		e := f.Envelope
		l.stage.Note(p.actor.Number, "forwards %s to %s, attempt %d", f.Message.ID, f.Consumer.ID, e.Attempt)
		must := func(ok bool, invariant, why string) {
			l.stage.Must(ok, invariant, "process %d forwards %s to %s: %s", p.actor.Number, e.ID, f.Consumer.ID, why)
		}
		p.told.forwards[f.Message.Handle]++
		a := l.record(e.ID).find(e.Token)
		if a == nil || !p.told.tokens[e.Token] {
			must(false, "order", "no receipt says so yet")
			continue
		}
		must(a.consumer == f.Consumer.ID && a.number == e.Attempt, "I10", "its receipt says "+a.consumer)
		must(e.Handle == f.Message.Handle && e.ID == routing.ID{Group: f.Message.Group, Message: f.Message.ID} && l.whole(f.Message),
			"envelope", "the envelope is another's")
		l.mayForward(p, f, must)
		must(f.Message.AttributeCount <= routing.MaxIncomingAttributes, "envelope", "there is no room for it")
		hold, held := p.told.held[f.Message.Handle]
		must(held, "order", "nothing holds it")
		left := e.Deadline.Sub(i.clock())
		must(a.onDelivery || hold >= left, "schedule", fmt.Sprintf("it is held for %v, and has %v left", hold, left))
		must(a.onDelivery || hold <= e.Deadline.Sub(p.actor.Began.Add(i.skew))+time.Second, "schedule",
			fmt.Sprintf("it is held for %v, and has %v left", hold, left))
		delete(p.told.held, f.Message.Handle)
	}
}

// deleting notes what an invocation says that it is done with.
func (l *law) deleting(p *process, messages []routing.Incoming) {
	for _, in := range messages {
		r := l.record(routing.ID{Group: in.Group, Message: in.ID})
		l.stage.Must(r.ended(), "I11", "process %d is done with %s, which is %q with %d dead letters",
			p.actor.Number, r.id, r.state, r.letters)
	}
}
