package routingsim

import (
	"reflect"
	"time"

	"github.com/landfall-dev/landfall/internal/routing"
)

// observe is called each time a write is tried, with the receipt before and after it.
func (l *law) observe(o *operation, before, after routing.Receipt, granted bool) {
	l.stage.Events++
	r, m := l.record(o.move.ID), o.move
	changed := !reflect.DeepEqual(before, after)
	l.stage.Note(o.by.actor.Number, "%s: %q -> %q, changed %t, %s", o, before.State, after.State, changed, map[bool]string{true: "granted", false: "refused"}[granted])
	if !changed {
		return
	}
	l.stage.Must(granted, "I7", "%s was refused and changed the receipt", o)
	l.stage.Release(m.ID.String())
	was := r.current()
	if was == nil && m.Kind != routing.Assign && m.Kind != routing.Kill {
		l.stage.Violated("I9", "%s of %s, which has no attempt", m.Kind, m.ID)
		return
	}
	same := was != nil && m.From.Token == was.token && m.From.Attempt == was.number
	l.stage.Must(r.state != routing.Accepted && r.state != routing.Dead, "I11", "%s of %s, which is %s already", m.Kind,
		m.ID, r.state)
	switch m.Kind {
	case routing.Assign:
		l.stage.Must(r.state == "", "I9", "%s is assigned though it has a receipt", m.ID)
		l.begins(r, m)
	case routing.Reassign:
		l.stage.Must(same, "I9", "%s is reassigned by a process that does not know its attempt", m.ID)
		l.stage.Must(!was.onDelivery || !was.again, "I9", "%s leaves %s though it may have been delivered", m.ID, was.consumer)
		l.stage.Must((m.End == routing.EndDeclined) == (r.state == routing.Declined), "I9", "%s leaves a %s attempt as %s",
			m.ID, r.state, m.End)
		l.stage.Must(m.End != routing.EndLapsed || m.From.Deadline.Equal(was.deadline), "I9",
			"%s leaves %s though its deadline was moved", m.ID, was.consumer)
		l.rerouted(o, was)
		was.end, was.seen = m.End, m.Seen
		l.begins(r, m)
	case routing.Extend:
		l.stage.Must(same && r.state == routing.Pending && m.From.Deadline.Equal(was.deadline), "I9",
			"%s is extended though its attempt changed", m.ID)
		if was.deadline, was.extended = m.Deadline, was.extended+1; m.NotTaken {
			was.extended = 0
		}
	case routing.MarkAgain:
		l.stage.Must(same && was.onDelivery && r.state == routing.Pending, "I9",
			"%s is marked though its attempt is another", m.ID)
		was.again = true
	case routing.Accept:
		l.stage.Must(same && r.state == routing.Pending, "I9", "%s is accepted under attempt %d, and is %s", m.ID,
			m.From.Attempt, r.state)
		r.state = routing.Accepted
	case routing.Decline:
		l.stage.Must(same && !was.onDelivery && r.state == routing.Pending, "I9",
			"%s is declined under attempt %d, and is %s", m.ID, m.From.Attempt, r.state)
		r.state = routing.Declined
	case routing.Kill:
		l.stage.Must(same || was == nil && m.From.State == "", "I9", "%s is given up by a process that does not know its attempt", m.ID)
		r.state, r.reason = routing.Dead, m.Reason
	}
	l.stage.Happened[happened(m)]++
	if !r.spoilt {
		l.stored(r, m, after)
	}
}

// rerouted counts how soon a lapse is followed by the next consumer.
func (l *law) rerouted(o *operation, was *attempt) {
	if o.move.End != routing.EndLapsed {
		return
	}
	l.stage.Happened["lapsed: "+map[bool]string{true: "rerouted by the first", false: "not rerouted by the first"}[was.missed == 0]+" invocation past the deadline"]++
	l.stage.Happened["lapsed: ms from the deadline to the queue's handing out"] += int(o.by.actor.Began.Add(o.by.actor.Skew).Sub(was.deadline).Milliseconds())
	l.stage.Happened["lapsed: ms from there to the next consumer written"] += int(time.Since(o.by.actor.Began).Milliseconds())
}

func happened(m routing.Move) string {
	switch m.Kind {
	case routing.Reassign:
		return "rerouted: " + string(m.End)
	case routing.Kill:
		return "given up: " + string(m.Reason)
	}
	return string(m.Kind)
}

// begins notes an attempt that was written.
func (l *law) begins(r *record, m routing.Move) {
	l.stage.Must(!r.tried(m.Consumer), "I10", "%s is given to %s, which it has moved on from", m.ID, m.Consumer)
	l.stage.Must(m.Token != "" && r.find(m.Token) == nil, "I9", "%s: two attempts have one token", m.ID)
	r.state = routing.Pending
	r.attempts = append(r.attempts, &attempt{
		number: len(r.attempts) + 1, token: m.Token, consumer: m.Consumer, onDelivery: m.OnDelivery, assigned: m.At, deadline: m.Deadline,
	})
}

// stored holds a receipt to what is known of it.
func (l *law) stored(r *record, m routing.Move, s routing.Receipt) {
	keeps := func(ok bool, what string) {
		l.stage.Must(ok, "conservation", "%s after %s: its receipt has another %s: %v", r.id, m.Kind, what, s.State)
	}
	keeps(s.State == r.state && s.Reason == r.reason, "state or reason")
	keeps(s.ExpiresAt.Equal(m.At.Add(15*24*time.Hour).Truncate(time.Second)), "retention")
	now := r.current()
	if now == nil {
		keeps(s.Attempt == 0 && s.Token == "" && len(s.History) == 0, "attempt, though it had none")
		return
	}
	keeps(s.Attempt == now.number && s.Token == now.token && s.Consumer == now.consumer && s.OnDelivery == now.onDelivery,
		"attempt")
	keeps(s.AssignedAt.Equal(now.assigned) && s.Deadline.Equal(now.deadline), "time")
	keeps(s.Again == now.again && s.Extensions == now.extended, "count of forwards")
	keeps(len(s.History) == len(r.attempts)-1, "number of past attempts")
	for i, past := range s.History[:min(len(s.History), len(r.attempts)-1)] {
		a := r.attempts[i]
		keeps(past.Consumer == a.consumer && past.End == a.end && past.AssignedAt.Equal(a.assigned) && past.Deadline.Equal(a.deadline) &&
			past.EndedAt.Equal(a.seen), "past")
	}
}
