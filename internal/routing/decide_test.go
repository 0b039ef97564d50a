package routing_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landfall-dev/landfall/internal/routing"
)

var (
	sent = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	id   = routing.ID{Group: "couriers", Message: "m1"}
)

// Times of the table: sent at 0 s, decided at 40 s; deadlines at 30 s (passed) or 60 s.
var (
	now    = sent.Add(40 * time.Second)
	passed = sent.Add(30 * time.Second)
	ahead  = sent.Add(60 * time.Second)
)

type change func(*routing.Situation)

func situation(changes ...change) routing.Situation {
	s := routing.Situation{
		ID: id, Policy: routing.Policy{}.WithDefaults(), Receipt: routing.Receipt{ID: id}, SentAt: sent, Receives: 1,
		Current: routing.LiveMember, Others: true, Token: "new", Now: now,
	}
	for _, change := range changes {
		change(&s)
	}
	return s
}

func receipt(state routing.State, deadline time.Time) change {
	return func(s *routing.Situation) {
		s.Receipt = routing.Receipt{ID: id, State: state, Attempt: 1, Token: "t1", Consumer: "a", Deadline: deadline, OnDelivery: s.Receipt.OnDelivery}
	}
}

func event(kind routing.EventKind) change {
	return func(s *routing.Situation) { s.Event.Kind = kind }
}

func chosen(consumer string, end routing.End) change {
	return func(s *routing.Situation) {
		s.Event = routing.Event{Kind: routing.Chosen, Consumer: consumer, End: end, Seen: now}
	}
}

func onDelivery(s *routing.Situation) {
	s.Policy.Accept, s.Receipt.OnDelivery = routing.OnDelivery, true
}
func again(s *routing.Situation)  { s.Receipt.Again = true }
func marked(s *routing.Situation) { s.Receipt.Mark = "t2" }
func noneChosen(s *routing.Situation) {
	s.Event = routing.Event{Kind: routing.NoneChosen, End: routing.EndRefused}
}
func alone(s *routing.Situation)    { s.Others = false }
func draining(s *routing.Situation) { s.Current = routing.DrainingMember }
func gone(s *routing.Situation)     { s.Current = routing.NoMember }
func extended(s *routing.Situation) { s.Receipt.Extensions = 1 }
func tooOld(s *routing.Situation)   { s.SentAt = now.Add(-time.Hour) }
func oversize(s *routing.Situation) { s.Oversize = true }

func received(n int) change { return func(s *routing.Situation) { s.Receives = n } }

// brief says what a step does in a few words.
type brief struct {
	Select  routing.End
	Selects bool
	Move    routing.MoveKind
	To      string
	Until   time.Duration // deadline that the move writes, from sent
	Reason  routing.Reason
	Hold    time.Duration
	Forward bool
	Bury    bool
	Delete  bool
}

func briefly(step routing.Step) brief {
	b := brief{Selects: step.Select, Select: step.End, Hold: step.Hold, Forward: step.Forward, Bury: step.Bury, Delete: step.Delete}
	if step.Move != nil {
		b.Move, b.To, b.Reason = step.Move.Kind, step.Move.Consumer, step.Move.Reason
		if !step.Move.Deadline.IsZero() {
			b.Until = step.Move.Deadline.Sub(sent)
		}
	}
	return b
}

func TestDecide(t *testing.T) {
	t.Parallel()
	const (
		backOff = 5 * time.Second // an eighth of 40 s
		end     = 70 * time.Second
	)
	pending, lapsed := receipt(routing.Pending, ahead), receipt(routing.Pending, passed)
	declined := receipt(routing.Declined, ahead)
	accepted, dead := receipt(routing.Accepted, ahead), receipt(routing.Dead, ahead)
	cases := []struct {
		name string
		s    routing.Situation
		want brief
	}{
		{"no receipt", situation(), brief{Selects: true}},
		{"no receipt, chosen", situation(chosen("b", "")), brief{Move: routing.Assign, To: "b", Until: end, Hold: 30 * time.Second, Forward: true}},
		{"no receipt, none chosen", situation(event(routing.NoneChosen)), brief{Hold: backOff}},
		{"no receipt, nobody there is not dead", situation(alone, gone), brief{Selects: true}},
		{"no receipt, past max_wait", situation(tooOld), brief{Move: routing.Kill, Reason: routing.ReasonMaxWait, Bury: true, Delete: true}},
		{"no receipt, oversize", situation(oversize), brief{Move: routing.Kill, Reason: routing.ReasonOversize, Bury: true, Delete: true}},
		{"no receipt, 899 receives of 1000", situation(received(899)), brief{Selects: true}},
		{"no receipt, 900 receives of 1000", situation(received(900)), brief{Move: routing.Kill, Reason: routing.ReasonReceiveCount, Bury: true, Delete: true}},

		{"pending", situation(pending), brief{Hold: 20 * time.Second, Forward: true}},
		{"pending, overtaken", situation(pending, event(routing.Overtaken)), brief{Hold: 20 * time.Second}},
		{"pending, draining", situation(pending, draining), brief{Hold: 20 * time.Second, Forward: true}},
		{"pending, gone", situation(pending, gone), brief{Hold: 20 * time.Second}},
		{"pending, no other consumer", situation(pending, alone), brief{Hold: 20 * time.Second, Forward: true}},
		{"pending, past max_wait", situation(pending, tooOld), brief{Move: routing.Kill, Reason: routing.ReasonMaxWait, Bury: true, Delete: true}},
		{"pending, 900 receives of 1000", situation(pending, received(900)), brief{Move: routing.Kill, Reason: routing.ReasonReceiveCount, Bury: true, Delete: true}},
		{"pending, oversize by a new rule", situation(pending, oversize), brief{Hold: 20 * time.Second, Forward: true}},

		{"lapsed", situation(lapsed), brief{Selects: true, Select: routing.EndLapsed}},
		{"lapsed, overtaken", situation(lapsed, event(routing.Overtaken)), brief{Selects: true, Select: routing.EndLapsed}},
		{"lapsed, chosen", situation(lapsed, chosen("b", routing.EndLapsed)), brief{Move: routing.Reassign, To: "b", Until: end, Hold: 30 * time.Second, Forward: true}},
		{"lapsed, none chosen", situation(lapsed, event(routing.NoneChosen)), brief{Hold: backOff}},
		{"lapsed, no other consumer", situation(lapsed, alone), brief{Move: routing.Extend, Until: end, Hold: 30 * time.Second, Forward: true}},
		{"lapsed again, no other consumer", situation(lapsed, extended, alone), brief{Move: routing.Extend, Until: end, Hold: 30 * time.Second}},
		{"lapsed, no other consumer, draining", situation(lapsed, alone, draining), brief{Hold: backOff}},
		{"lapsed, no other consumer, gone", situation(lapsed, alone, gone), brief{Move: routing.Kill, Reason: routing.ReasonNobodyLeft, Bury: true, Delete: true}},

		{"declined", situation(declined), brief{Selects: true, Select: routing.EndDeclined}},
		{"declined, overtaken", situation(declined, event(routing.Overtaken)), brief{Selects: true, Select: routing.EndDeclined}},
		{"declined, chosen", situation(declined, chosen("b", routing.EndDeclined)), brief{Move: routing.Reassign, To: "b", Until: end, Hold: 30 * time.Second, Forward: true}},
		{"declined, none chosen", situation(declined, event(routing.NoneChosen)), brief{Hold: backOff}},
		{"declined, no other consumer", situation(declined, alone), brief{Move: routing.Kill, Reason: routing.ReasonNobodyLeft, Bury: true, Delete: true}},
		{"declined, no other consumer, draining", situation(declined, alone, draining), brief{Move: routing.Kill, Reason: routing.ReasonNobodyLeft, Bury: true, Delete: true}},
		{"declined, past max_wait", situation(declined, tooOld), brief{Move: routing.Kill, Reason: routing.ReasonMaxWait, Bury: true, Delete: true}},

		{"delivered", situation(pending, event(routing.Delivered)), brief{}},
		{"delivered, past max_wait", situation(pending, tooOld, event(routing.Delivered)), brief{}},
		{"delivery unknown", situation(pending, event(routing.ForwardUnknown)), brief{}},
		{"refused", situation(pending, event(routing.ForwardRefused)), brief{Selects: true, Select: routing.EndRefused}},
		{"refused, chosen", situation(pending, chosen("b", routing.EndRefused)), brief{Move: routing.Reassign, To: "b", Until: end, Hold: 30 * time.Second, Forward: true}},
		{"refused, no other consumer", situation(pending, event(routing.ForwardRefused), alone), brief{Hold: backOff}},
		{"refused, no other consumer, extended", situation(pending, extended, event(routing.ForwardRefused), alone), brief{Move: routing.Extend, Until: end, Hold: backOff}},
		{"refused, no other consumer, extended, draining", situation(pending, extended, event(routing.ForwardRefused), alone, draining), brief{Hold: backOff}},
		{"not sent", situation(pending, event(routing.ForwardNotSent)), brief{Hold: backOff}},
		{"not sent, extended", situation(pending, extended, event(routing.ForwardNotSent), alone), brief{Move: routing.Extend, Until: end, Hold: backOff}},
		{"refused, none chosen", situation(pending, event(routing.NoneChosen)), brief{Hold: backOff}},
		{"errored", situation(pending, event(routing.ForwardErrored)), brief{Selects: true, Select: routing.EndErrored}},
		{"errored, no other consumer", situation(pending, event(routing.ForwardErrored), alone), brief{Hold: backOff}},

		{"errored, no other consumer, extended", situation(pending, extended, event(routing.ForwardErrored), alone), brief{Move: routing.Extend, Until: end, Hold: backOff}},

		{"accepted", situation(accepted), brief{Delete: true}},
		{"accepted, past max_wait", situation(accepted, tooOld, received(999)), brief{Delete: true}},
		{"accepted, overtaken", situation(accepted, event(routing.Overtaken)), brief{Delete: true}},
		{"dead", situation(dead), brief{Bury: true, Delete: true}},
		{"dead, overtaken", situation(dead, event(routing.Overtaken)), brief{Hold: backOff}},

		{"on delivery: chosen", situation(onDelivery, chosen("b", "")), brief{Move: routing.Assign, To: "b", Until: end, Hold: 30 * time.Second, Forward: true}},
		{"on delivery: pending", situation(onDelivery, pending), brief{Move: routing.MarkAgain, Hold: 30 * time.Second, Forward: true}},
		{"on delivery: pending, marked", situation(onDelivery, pending, again), brief{Hold: 30 * time.Second, Forward: true}},
		{"on delivery: pending, overtaken", situation(onDelivery, pending, event(routing.Overtaken)), brief{Hold: 20 * time.Second}},
		{"on delivery: never lapses", situation(onDelivery, lapsed), brief{Move: routing.MarkAgain, Hold: 30 * time.Second, Forward: true}},
		{"on delivery: never lapses, gone", situation(onDelivery, lapsed, gone), brief{Hold: backOff}},
		{"on delivery: past max_wait", situation(onDelivery, pending, tooOld), brief{Move: routing.Kill, Reason: routing.ReasonDeliveryUnknown, Bury: true, Delete: true}},
		{"on delivery: 900 receives of 1000", situation(onDelivery, pending, received(900)), brief{Move: routing.Kill, Reason: routing.ReasonDeliveryUnknown, Bury: true, Delete: true}},
		{"on delivery: no receipt, past max_wait", situation(onDelivery, tooOld), brief{Move: routing.Kill, Reason: routing.ReasonMaxWait, Bury: true, Delete: true}},
		{"on delivery: delivered", situation(onDelivery, pending, event(routing.Delivered)), brief{Move: routing.Accept, Delete: true}},
		{"on delivery: unknown", situation(onDelivery, pending, event(routing.ForwardUnknown)), brief{}},
		{"on delivery: errored", situation(onDelivery, pending, event(routing.ForwardErrored)), brief{}},
		{"on delivery: not sent", situation(onDelivery, pending, event(routing.ForwardNotSent)), brief{Move: routing.Extend, Until: end, Hold: backOff}},
		{"on delivery: not sent, marked", situation(onDelivery, pending, again, event(routing.ForwardNotSent)), brief{Hold: backOff}},
		{"on delivery: refused", situation(onDelivery, pending, event(routing.ForwardRefused)), brief{Selects: true, Select: routing.EndRefused}},
		{"on delivery: refused, no other consumer", situation(onDelivery, pending, alone, event(routing.ForwardRefused)), brief{Move: routing.Extend, Until: end, Hold: backOff}},
		{"on delivery: refused, none chosen", situation(onDelivery, pending, noneChosen), brief{Move: routing.Extend, Until: end, Hold: backOff}},
		{"on delivery: not taken", situation(onDelivery, pending, marked), brief{Move: routing.Extend, Until: end, Hold: 30 * time.Second, Forward: true}},
		{"on delivery: not taken, none chosen", situation(onDelivery, pending, marked, noneChosen), brief{Hold: backOff}},
		{"on delivery: not taken, no other consumer", situation(onDelivery, pending, marked, alone), brief{Move: routing.Extend, Until: end, Hold: 30 * time.Second, Forward: true}},
		{"on delivery: not taken, gone", situation(onDelivery, pending, marked, gone), brief{Selects: true, Select: routing.EndRefused}},
		{"on delivery: not taken, gone, no other consumer", situation(onDelivery, pending, marked, alone, gone), brief{Hold: backOff}},
		{"on delivery: not taken, and forwarded since", situation(onDelivery, pending, marked, extended), brief{Move: routing.MarkAgain, Hold: 30 * time.Second, Forward: true}},
		{"on delivery: not taken, and marked again since", situation(onDelivery, pending, marked, again), brief{Hold: 30 * time.Second, Forward: true}},
		{"on delivery: not taken, past max_wait", situation(onDelivery, pending, marked, tooOld), brief{Move: routing.Kill, Reason: routing.ReasonDeliveryUnknown, Bury: true, Delete: true}},
		{"on delivery: refused, marked", situation(onDelivery, pending, again, event(routing.ForwardRefused)), brief{Hold: backOff}},
		{"the attempt's own mode counts, not today's: lapsed", situation(lapsed, func(s *routing.Situation) { s.Policy.Accept = routing.OnDelivery }),
			brief{Selects: true, Select: routing.EndLapsed}},
		{"the attempt's own mode counts, not today's: on delivery", situation(onDelivery, lapsed, func(s *routing.Situation) { s.Policy.Accept = routing.Explicit }),
			brief{Move: routing.MarkAgain, Hold: 30 * time.Second, Forward: true}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			step := routing.Decide(c.s)
			if diff := cmp.Diff(c.want, briefly(step)); diff != "" {
				t.Errorf("step (-want +got):\n%s", diff)
			}
			if step.Move == nil {
				return
			}
			if step.Move.ID != id || step.Move.Token != "new" || !step.Move.At.Equal(now) {
				t.Errorf("move = %+v", step.Move)
			}
			if _, err := step.Move.Apply(c.s.Receipt); err != nil {
				t.Errorf("the move does not apply to the receipt that it was decided from: %v", err)
			}
		})
	}
}

func TestBackOffEndsBeforeTheNextEvent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		age, maxWait, deadline time.Duration // deadline from now, 0: none
		want                   time.Duration
	}{
		{0, time.Hour, 0, time.Second},
		{-time.Hour, time.Hour, 0, time.Second}, // the queue's clock is ahead
		{7 * time.Second, time.Hour, 0, time.Second},
		{81 * time.Second, time.Hour, 0, 11 * time.Second}, // whole seconds, up
		{time.Hour, 24 * time.Hour, 0, 5 * time.Minute},
		{math.MaxInt64 / 4, math.MaxInt64 / 2, 0, 5 * time.Minute},
		{59*time.Minute + 58*time.Second + 500*time.Millisecond, time.Hour, 0, 2 * time.Second},
		{2 * time.Hour, time.Hour, 0, 5 * time.Minute}, // dead already; only its burial waits
		{10 * time.Minute, time.Hour, 1500 * time.Millisecond, 2 * time.Second},
	} {
		s := situation(event(routing.NoneChosen))
		if c.deadline > 0 {
			receipt(routing.Pending, now.Add(c.deadline))(&s)
		}
		s.SentAt, s.Policy.MaxWait = now.Add(-c.age), c.maxWait
		if got := routing.Decide(s).Hold; got != c.want {
			t.Errorf("age %v, max_wait %v, deadline in %v: %v, want %v", c.age, c.maxWait, c.deadline, got, c.want)
		}
	}
	unknown := situation(event(routing.NoneChosen), func(s *routing.Situation) { s.SentAt = time.Time{} })
	if got := routing.Decide(unknown).Hold; got != time.Second {
		t.Errorf("nobody knows the age: %v, want 1s", got)
	}
}
