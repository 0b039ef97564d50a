package routingsim

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/landfall-dev/landfall/internal/routing"
)

// took is a copy of a message reaching a consumer.
func (l *law) took(p *process, d *consumerCopy) {
	l.stage.Events++
	l.stage.Happened["delivered"]++
	l.stage.Note(p.actor.Number, "%s has a copy of %s, attempt %d", d.consumer.id, d.envelope.ID, d.envelope.Attempt)
	r := l.record(d.envelope.ID)
	a := r.find(d.envelope.Token)
	if a == nil || a.number != d.envelope.Attempt || a.consumer != d.consumer.id {
		l.stage.Violated("I10", "%s gets %s under an attempt that is not its own", d.consumer.id, d.envelope.ID)
		return
	}
	if a.onDelivery {
		r.owned(d.consumer.id)
		l.one(r)
	}
}

// one holds a message to having one owner.
func (l *law) one(r *record) {
	l.stage.Must(len(r.owners) == 1, "I9", "%s is owned by %v", r.id, r.owners)
}

// granted is a consumer hearing that its acceptance is granted.
func (l *law) granted(p *process, d *consumerCopy) {
	l.stage.Events++
	l.stage.Happened["accepted, and the consumer knows"]++
	l.stage.Note(p.actor.Number, "%s may work on %s", d.consumer.id, d.envelope.ID)
	r := l.record(d.envelope.ID)
	r.owned(d.consumer.id)
	l.one(r)
	a := r.find(d.envelope.Token)
	l.stage.Must(a == r.current() && r.state == routing.Accepted, "I9", "%s may work on %s, which is %s under attempt %d",
		d.consumer.id, d.envelope.ID, r.state, len(r.attempts))
}

// refused is a consumer hearing that its acceptance is refused.
func (l *law) refused(p *process, d *consumerCopy) {
	l.stage.Happened["a stale acceptance was refused"]++
	l.stage.Note(p.actor.Number, "%s may not work on %s", d.consumer.id, d.envelope.ID)
	r := l.record(d.envelope.ID)
	mine := r.current() == r.find(d.envelope.Token)
	l.stage.Must(!mine || r.spoilt || r.state != routing.Pending && r.state != routing.Accepted, "refusal", "%s may not work on %s, which is %s under its attempt",
		d.consumer.id, d.envelope.ID, r.state)
}

// deleted is a message leaving its queue for good.
func (l *law) deleted(id routing.ID) {
	r := l.record(id)
	l.stage.Must(r.ended(), "I11", "%s is deleted, and is %q with %d dead letters", id, r.state, r.letters)
}

// buried is a message arriving in the dead-letter queue.
func (l *law) buried(_ *process, d routing.DeadLetter) {
	r := l.record(routing.ID{Group: d.Message.Group, Message: d.Message.Message.ID})
	l.stage.Must(r.state == routing.Dead, "I11", "%s is dead-lettered, and is %s", r.id, r.state)
	l.stage.Must(d.Receipt.Reason != "" && d.Receipt.Reason == r.reason, "I11", "%s is dead-lettered for %q, want %q", r.id,
		d.Receipt.Reason, r.reason)
	l.stage.Must(l.whole(d.Message), "I11", "%s is not dead-lettered as it came", r.id)
	if r.letters++; r.letters > 1 {
		l.stage.Happened["dead-lettered again"]++
	}
}

// whole reports whether a message is one that was sent, as it was.
func (l *law) whole(in routing.Incoming) bool {
	m, ok := in.Source.(*message)
	return ok && m.send.id == in.ID && slices.Contains(l.world.queue(in.Group).messages, m)
}

// stuck names the messages that did not come to their end.
func (l *law) stuck(bound time.Duration) {
	for _, q := range l.world.queues {
		for _, m := range q.messages {
			if !m.deleted {
				r := l.record(m.id(q.plan.name))
				l.stage.Violated("liveness", "%s is still %q under attempt %d after %v without trouble, received %d times", r.id, r.state,
					len(r.attempts), bound, m.receives)
			}
		}
	}
}

// end holds each message to having come to exactly one end.
func (l *law) end() {
	if len(l.stage.Result().Violations) > 0 {
		return // the world was left before its end
	}
	byID := func(a, b *record) int { return cmp.Compare(a.id.String(), b.id.String()) }
	for _, r := range slices.SortedFunc(maps.Values(l.records), byID) {
		if r.redriven { // it lies there without a reason, whatever else became of it
			l.stage.Must(len(r.owners) <= 1, "I9", "%s is owned by %v", r.id, r.owners)
			continue
		}
		switch r.state {
		case routing.Accepted:
			l.stage.Must(r.letters == 0, "I11", "%s is accepted and dead-lettered", r.id)
			owner := r.current().consumer // unless it threw its copy away, or died before it heard
			l.stage.Must(len(r.owners) == 0 || slices.Equal(r.owners, []string{owner}), "I9",
				"%s is accepted by %s, and owned by %v", r.id, owner, r.owners)
		case routing.Dead:
			l.stage.Must(r.letters > 0, "I11", "%s is dead, and not in the dead-letter queue", r.id)
			l.stage.Must(len(r.owners) == 0 || r.reason == routing.ReasonDeliveryUnknown || r.spoilt, "I11",
				"%s is dead (%s), and owned by %v", r.id, r.reason, r.owners)
		default:
			l.stage.Violated("I11", "%s has come to no end: %q", r.id, r.state)
		}
	}
}
