package routingsim

import (
	"fmt"
	"slices"
	"time"

	"github.com/landfall-dev/landfall/internal/routing"
)

// lapse is a consumer of a group that let a message lapse.
type lapse struct{ group, consumer string }

// live are the members of a snapshot that may be picked at a time.
func live(s routing.Snapshot, now time.Time) (ids []string) {
	for _, c := range s.Consumers() {
		if !c.Draining && (c.LeaseUntil.IsZero() || now.Before(c.LeaseUntil)) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// asked holds the candidates that a routing function is shown to the rules.
func (l *law) asked(i *instance, p *process, group string, q routing.Question) {
	l.Events++
	id := routing.ID{Group: group, Message: q.Message.ID}
	r, now := l.record(id), p.told.receipts[id]
	l.scanPrinted("a question", q.Message)
	l.Must(len(q.Candidates) > 0, "choice", "nobody is to be chosen from for %s", id)
	l.Must(q.Attempt == now.Attempt+1 || p.told.twice(id), "choice", "attempt %d of %s is asked for after attempt %d", q.Attempt, id, now.Attempt)
	alive := live(p.told.snapshots[group], i.clock())
	var ids []string
	for _, c := range q.Candidates {
		ids = append(ids, c.ID)
		in, _ := p.told.snapshots[group].Consumer(c.ID)
		given := p.told.given[lapse{group, c.ID}]
		l.Must(p.told.vague || c.CurrentInFlight == in.CurrentInFlight+given, "choice", "%s has %d in flight and was given %d, and a function is told of %d",
			c.ID, in.CurrentInFlight, given, c.CurrentInFlight)
		l.Must(slices.Contains(alive, c.ID), "choice", "%s is a candidate for %s, and no live member", c.ID, id)
		for _, a := range r.attempts[:min(q.Attempt-1, len(r.attempts))] {
			l.Must(a.consumer != c.ID, "I10", "%s is a candidate for %s, which has moved on from it", c.ID, id)
		}
		l.Must(!lately(i.lapses, group, c.ID, i.clock()) ||
			!slices.ContainsFunc(q.Candidates, func(o routing.Consumer) bool { return !lately(i.deadlines, group, o.ID, i.clock()) }),
			"choice", "%s is a candidate for %s though it let a message lapse, and others are there", c.ID, id)
	}
	key := pickKey(q.Message.ID, q.Attempt)
	p.told.candidates[key] = append(p.told.candidates[key], ids...)
	l.Must(slices.IsSorted(ids), "choice", "the candidates for %s are in no order: %v", id, ids)
	if len(i.lapses) > 0 {
		l.Happened["asked by who remembers lapses"]++
	}
}

// clock is the instance's, as the router reads it.
func (i *instance) clock() time.Time { return time.Now().Add(i.skew).Truncate(time.Millisecond) }

func lately(known map[lapse]time.Time, group, consumer string, now time.Time) bool {
	at, found := known[lapse{group, consumer}]
	return found && now.Sub(at) <= 30*time.Second
}

// chose notes the answer of a routing function.
func (l *law) chose(p *process, group string, q routing.Question, asked time.Time, id string, err error) {
	if time.Since(asked) >= routing.EvaluationTimeout {
		p.told.vague = true // it may have been too late
	}
	if err == nil && id != "" {
		key := pickKey(q.Message.ID, q.Attempt)
		p.told.picks[key] = append(p.told.picks[key], id)
		if slices.Contains(p.told.candidates[key], id) {
			p.told.given[lapse{group, id}]++
		}
	}
}

func pickKey(message string, attempt int) string { return fmt.Sprint(message, " ", attempt) }

// moving holds a write to what must be so when it is asked for.
func (l *law) moving(i *instance, m routing.Move) {
	l.Events++
	p := i.process
	s, from := p.told.snapshots[m.Group], m.From
	now := i.clock()
	must := func(ok bool, invariant, why string) {
		l.Must(ok, invariant, "process %d: %s of %s, attempt %d: %s", p.Number, m.Kind, m.ID, from.Attempt, why)
	}
	others := slices.DeleteFunc(live(s, m.At), func(id string) bool { return id == from.Consumer || slices.Contains(from.Tried(), id) })
	must(!m.At.After(now) && !m.At.Before(p.Began.Add(i.skew).Truncate(time.Millisecond)), "schedule", "its time is not now")
	if m.Kind == routing.Assign || m.Kind == routing.Reassign {
		l.choosing(p, m, must)
	}
	switch m.Kind {
	case routing.Reassign:
		must(from.State == routing.Pending || from.State == routing.Declined, "I9", "it is "+string(from.State))
		switch m.End {
		case routing.EndLapsed:
			must(!m.Seen.Before(from.Deadline) && from.State == routing.Pending, "schedule", "its deadline has not come")
			must(!from.OnDelivery, "I9", "it may have been delivered")
			later(i.lapses, lapse{m.Group, from.Consumer}, from.Deadline)
		case routing.EndDeclined:
			must(from.State == routing.Declined, "I9", "nobody declined")
		case routing.EndRefused, routing.EndErrored:
			kind := map[routing.End]routing.AnswerKind{routing.EndRefused: routing.NotTaken, routing.EndErrored: routing.Failed}[m.End]
			answers := p.told.answers[from.Token]
			must(len(answers) > 0 && slices.Contains(answers, kind), "I9", "no forward was answered so")
			must(m.End == routing.EndRefused || !from.OnDelivery, "I9", "a function that fails may have done it")
			must(!from.OnDelivery || p.told.wrote[from.Token], "I9", "another invocation may have delivered it")
		default:
			must(false, "I9", "it says not why")
		}
	case routing.Extend:
		must(!m.At.Before(from.Deadline), "schedule", "its deadline has not come")
		must(len(others) == 0, "effort", fmt.Sprintf("%v are there", others))
		must(slices.Contains(live(s, m.At), from.Consumer), "effort", from.Consumer+" is no live member")
		must(m.Deadline.Equal(m.At.Add(s.Policy.AcceptTimeout)), "schedule", "the deadline is another")
		later(i.lapses, lapse{m.Group, from.Consumer}, from.Deadline)
	case routing.Accept:
		must(from.OnDelivery && slices.Contains(p.told.answers[from.Token], routing.Taken), "I9", "nobody took it")
	case routing.Kill:
		l.killing(p, m, others, must)
	}
}

// choosing is the giving of a message to a consumer.
func (l *law) choosing(p *process, m routing.Move, must func(bool, string, string)) {
	s := p.told.snapshots[m.Group]
	key := pickKey(m.ID.Message, m.From.Attempt+1)
	must(slices.Contains(p.told.candidates[key], m.Consumer), "choice", m.Consumer+" was no candidate")
	must(!slices.Contains(append(m.From.Tried(), m.From.Consumer), m.Consumer), "I10", m.Consumer+" had it before")
	must(slices.Contains(p.told.picks[key], m.Consumer), "choice", m.Consumer+" was not picked")
	must(m.Deadline.Equal(m.At.Add(s.Policy.AcceptTimeout)), "schedule", "the deadline is another")
	must(m.OnDelivery == (s.Policy.Accept == routing.OnDelivery), "choice", "what counts as acceptance is another")
}

// killing is the giving up of a message.
func (l *law) killing(p *process, m routing.Move, others []string, must func(bool, string, string)) {
	s, from := p.told.snapshots[m.Group], m.From
	waited, received, oversize := false, false, false
	for _, in := range p.told.batch {
		if in.ID == m.ID.Message {
			waited = waited || m.At.Sub(in.SentAt) >= s.Policy.MaxWait
			received = received || in.Receives >= backstop(s.Policy.MaxReceives)
			oversize = oversize || in.AttributeCount > routing.MaxIncomingAttributes
		}
	}
	unknown := from.OnDelivery && from.State == routing.Pending
	const soon = 20 * time.Minute // for whoever is there to be tried, and accepts
	must(l.calmSince.IsZero() || time.Since(l.calmSince) < soon || len(others) == 0 || oversize || unknown, "liveness", fmt.Sprintf("%v would have accepted", others))
	switch m.Reason {
	case routing.ReasonMaxWait:
		must(waited && !unknown, "effort", "it may still wait")
	case routing.ReasonReceiveCount:
		must(received && !unknown, "effort", "its queue does not give it up yet")
	case routing.ReasonDeliveryUnknown:
		must(unknown && (waited || received), "effort", "its delivery is not unknown, or it may still wait")
	case routing.ReasonOversize:
		must(oversize && from.State == "", "effort", "there is room")
	case routing.ReasonNobodyLeft:
		member, there := s.Consumer(from.Consumer)
		gone := !there || !member.LeaseUntil.IsZero() && !m.At.Before(member.LeaseUntil)
		must(len(others) == 0 && from.State != "" && (from.State == routing.Declined || gone), "effort", fmt.Sprintf("somebody is left: %v", others))
	default:
		must(false, "I11", "it says not why")
	}
}

// later notes a deadline.
func later(known map[lapse]time.Time, who lapse, deadline time.Time) {
	if deadline.After(known[who]) {
		known[who] = deadline
	}
}

// holding holds the time that messages are hidden to what they wait for.
func (l *law) holding(i *instance, holds []routing.Hold) {
	p := i.process
	for _, h := range holds {
		id := routing.ID{Group: h.Group, Message: h.ID}
		l.Must(h.For%time.Second == 0 && h.For >= 0 && h.For <= 12*time.Hour, "schedule", "%s is held for %v", id, h.For)
		p.told.held[h.Handle] = h.For
	}
}

// forwarding holds forwards to having been written and held before.
func (l *law) forwarding(i *instance, forwards []routing.Forward) {
	p := i.process
	for _, f := range forwards {
		e := f.Envelope
		l.Note(p.Number, "forwards %s to %s, attempt %d", f.ID, f.Consumer.ID, e.Attempt)
		must := func(ok bool, invariant, why string) {
			l.Must(ok, invariant, "process %d forwards %s to %s: %s", p.Number, e.ID, f.Consumer.ID, why)
		}
		p.told.forwards[f.Handle]++
		a := l.record(e.ID).find(e.Token)
		if a == nil || !p.told.tokens[e.Token] {
			must(false, "order", "no receipt says so yet")
			continue
		}
		must(a.consumer == f.Consumer.ID && a.number == e.Attempt, "I10", "its receipt says "+a.consumer)
		must(e.Handle == f.Handle && e.ID == routing.ID{Group: f.Group, Message: f.ID} && l.whole(f.Incoming), "envelope", "the envelope is another's")
		must(f.AttributeCount <= routing.MaxIncomingAttributes, "envelope", "there is no room for it")
		hold, held := p.told.held[f.Handle]
		must(held, "order", "nothing holds it")
		left := e.Deadline.Sub(i.clock())
		must(a.onDelivery || hold >= left, "schedule", fmt.Sprintf("it is held for %v, and has %v left", hold, left))
		must(a.onDelivery || hold <= e.Deadline.Sub(p.Began.Add(i.skew))+time.Second, "schedule", fmt.Sprintf("it is held for %v, and has %v left", hold, left))
		delete(p.told.held, f.Handle)
	}
}

// deleting notes what an invocation says that it is done with.
func (l *law) deleting(p *process, messages []routing.Incoming) {
	for _, in := range messages {
		r := l.record(routing.ID{Group: in.Group, Message: in.ID})
		l.Must(r.ended(), "I11", "process %d is done with %s, which is %q with %d dead letters",
			p.Number, r.id, r.state, r.letters)
	}
}
