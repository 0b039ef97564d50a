package routingsim

import (
	"context"
	"slices"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/sim/stage"
	"github.com/landfall-dev/landfall/internal/routing"
)

// forwarderPort is the consumers as one instance reaches them.
type forwarderPort struct{ instance *instance }

// Forward implements [routing.Forwarder].
func (f *forwarderPort) Forward(ctx context.Context, forwards []routing.Forward) (answers []routing.Answer) {
	p, w := f.instance.process, f.instance.world
	w.stage.Locked(func() { w.law.forwarding(f.instance, forwards) })
	c := p.call("forward", "", 0)
	for _, forward := range forwards {
		answer := routing.Answer{Text: "no answer"}
		if c.Step(ctx) == nil {
			answer = f.one(ctx, c, forward)
		}
		if c.Step(ctx) != nil {
			answer = routing.Answer{Text: "no answer"}
		}
		w.stage.Locked(func() { w.law.answered(p, forward, answer) })
		answers = append(answers, answer)
	}
	if c.Chance(c.Odds.Lose / 10) { // as if some had been left out
		w.stage.Locked(func() { w.law.unanswered(p, forwards[len(forwards)-1]) })
		return answers[:len(answers)-1]
	}
	return answers
}

// one hands a message to a consumer. The answer is what the router hears, which is not all that is true.
func (f *forwarderPort) one(ctx context.Context, c *stage.Call, forward routing.Forward) routing.Answer {
	w := f.instance.world
	g := w.group(forward.Message.Group)
	i := slices.IndexFunc(g.plan.consumers, func(c consumer) bool { return c.id == forward.Consumer.ID })
	if i < 0 {
		w.stage.Mu.Lock()
		defer w.stage.Mu.Unlock()
		w.stage.Violated("I10", "%s is forwarded to %q, an unknown consumer", forward.Message.ID, forward.Consumer.ID)
		return routing.Answer{}
	}
	who := &g.plan.consumers[i]
	odds := w.oddsOf(who)
	w.stage.Mu.Lock()
	gone := g.gone[who.id]
	explicit := w.law.explicit(forward.Envelope)
	w.stage.Mu.Unlock()
	refusal := routing.Answer{Kind: routing.NotTaken, Text: "QueueDoesNotExist"}
	copied := &consumerCopy{envelope: forward.Envelope, group: g, consumer: who, explicit: explicit, source: forward.Message.Source}
	switch {
	case gone || c.Chance(odds.unreachable):
		return refusal
	case c.Chance(c.Odds.Refuse / 4):
		return routing.Answer{Kind: routing.NotSent, Text: "the line is down"}
	case who.function:
		return f.call(ctx, copied)
	case c.Chance(odds.lost / 2):
		return routing.Answer{Text: "lost on the way"}
	case explicit && c.Chance(odds.lie/2): // taken, and said not to be
		w.deliver(copied, c.Latency())
		return refusal
	case c.Chance(c.Odds.Late / 2):
		w.deliver(copied, c.Between(time.Second, c.Odds.LongestDelay+2*time.Second))
		return routing.Answer{Text: "timeout"}
	case c.Chance(odds.lost):
		w.deliver(copied, c.Latency())
		return routing.Answer{Text: "the answer is lost"}
	}
	w.deliver(copied, c.Latency())
	return routing.Answer{Kind: routing.Taken}
}

// call calls a consumer that is a function.
func (f *forwarderPort) call(ctx context.Context, d *consumerCopy) routing.Answer {
	w := f.instance.world
	w.stage.Mu.Lock()
	p, dice := w.start("consumer", time.Minute, d.consumer.skew)
	w.law.took(p, d)
	d.handings++
	w.stage.Mu.Unlock()
	odds := w.oddsOf(d.consumer)
	answer := make(chan routing.Answer, 1)
	w.stage.Running.Go(func() {
		defer p.actor.Kill()
		c := p.call("work", "", 0)
		c.Odds.Pause = 0
		fails, before := dice.Chance(odds.fail), dice.Chance(0.5)
		if fails && before {
			answer <- routing.Answer{Kind: routing.Failed, Text: "it failed at once"}
			return
		}
		done := (&work{w, p, c, d, dice}).do(p.actor.Ctx)
		if fails || !done {
			answer <- routing.Answer{Kind: routing.Failed, Text: "it failed"}
			return
		}
		answer <- routing.Answer{Kind: routing.Taken}
	})
	select {
	case a := <-answer:
		if dice.Chance(odds.lost) {
			return routing.Answer{Text: "the answer is lost"}
		}
		return a
	case <-ctx.Done():
		return routing.Answer{Text: "timeout"}
	}
}
