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
	l.stage.Events++
	id := routing.ID{Group: group, Message: q.Message.ID}
	r, now := l.record(id), p.told.receipts[id]
	l.scanPrinted("a question", q.Message)
	l.stage.Must(len(q.Candidates) > 0, "choice", "there are no candidates for %s", id)
	l.stage.Must(q.Attempt == now.Attempt+1 || p.told.twice(id), "choice", "attempt %d of %s is asked for after attempt %d",
		q.Attempt, id, now.Attempt)
	alive := live(p.told.snapshots[group], i.clock())
	var ids []string
	for _, c := range q.Candidates {
		ids = append(ids, c.ID)
		in, _ := p.told.snapshots[group].Consumer(c.ID)
		given := p.told.given[lapse{group, c.ID}]
		l.stage.Must(p.told.vague || c.CurrentInFlight == in.CurrentInFlight+given, "choice", "%s has %d in flight and was given %d, and a function is told of %d",
			c.ID, in.CurrentInFlight, given, c.CurrentInFlight)
		l.stage.Must(slices.Contains(alive, c.ID), "choice", "%s is a candidate for %s, and not a live member", c.ID, id)
		for _, a := range r.attempts[:min(q.Attempt-1, len(r.attempts))] {
			l.stage.Must(a.consumer != c.ID, "I10", "%s is a candidate for %s, which has moved on from it", c.ID, id)
			other, there := p.told.snapshots[group].Consumer(a.consumer)
			l.stage.Must(!there || !routing.SameTarget(other.Target, in.Target), "I10", "%s is a candidate for %s, which has moved on from its target", c.ID, id)
		}
		l.stage.Must(!lately(i.lapses, group, c.ID, i.clock()) ||
			!slices.ContainsFunc(q.Candidates, func(o routing.Consumer) bool { return !lately(i.deadlines, group, o.ID, i.clock()) }),
			"choice", "%s is a candidate for %s though it let a message lapse, and others are there", c.ID, id)
	}
	key := pickKey(q.Message.ID, q.Attempt)
	p.told.candidates[key] = append(p.told.candidates[key], ids...)
	l.stage.Must(slices.IsSorted(ids), "choice", "the candidates for %s are in no order: %v", id, ids)
	if len(i.lapses) > 0 {
		l.stage.Happened["asked by who remembers lapses"]++
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

// choosing is the giving of a message to a consumer.
func (l *law) choosing(p *process, m routing.Move, must func(bool, string, string)) {
	s := p.told.snapshots[m.Group]
	key := pickKey(m.ID.Message, m.From.Attempt+1)
	must(slices.Contains(p.told.candidates[key], m.Consumer), "choice", m.Consumer+" was not a candidate")
	must(!slices.Contains(append(m.From.Tried(), m.From.Consumer), m.Consumer), "I10", m.Consumer+" had it before")
	must(slices.Contains(p.told.picks[key], m.Consumer), "choice", m.Consumer+" was not picked")
	must(m.Deadline.Equal(m.At.Add(s.Policy.AcceptTimeout)), "schedule", "the deadline is another")
	must(m.OnDelivery == (s.Policy.Accept == routing.OnDelivery), "choice", "what counts as acceptance is another")
}

// later notes a deadline.
func later(known map[lapse]time.Time, key lapse, deadline time.Time) {
	if deadline.After(known[key]) {
		known[key] = deadline
	}
}
