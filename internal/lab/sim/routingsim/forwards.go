package routingsim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/landfall-dev/landfall/internal/routing"
)

// forwarderPort is the consumers as one instance reaches them.
type forwarderPort struct{ *instance }

// Forward implements [routing.Forwarder].
func (f *forwarderPort) Forward(ctx context.Context, forwards []routing.Forward) (answers []routing.Answer) {
	p := f.process
	f.Mu.Lock()
	f.law.forwarding(f.instance, forwards)
	f.Mu.Unlock()
	c := p.call("forward", "", 0)
	for _, forward := range forwards {
		answer := routing.Answer{Text: "no answer"}
		if c.Step(ctx) == nil {
			answer = f.one(ctx, c, forward)
		}
		if c.Step(ctx) != nil {
			answer = routing.Answer{Text: "no answer"}
		}
		f.Mu.Lock()
		f.law.answered(p, forward, answer)
		f.Mu.Unlock()
		answers = append(answers, answer)
	}
	if c.Chance(c.Odds.Lose / 10) { // as if some had been left out
		f.Mu.Lock()
		f.law.unanswered(p, forwards[len(forwards)-1])
		f.Mu.Unlock()
		return answers[:len(answers)-1]
	}
	return answers
}

// one hands a message to a consumer. The answer is what the router hears, which is not all that is true.
func (f *forwarderPort) one(ctx context.Context, c *call, forward routing.Forward) routing.Answer {
	g := f.group(forward.Group)
	i := slices.IndexFunc(g.consumers, func(c consumer) bool { return c.id == forward.Consumer.ID })
	if i < 0 {
		f.Mu.Lock()
		defer f.Mu.Unlock()
		f.Violated("I10", "%s is forwarded to %q, whom nobody knows", forward.ID, forward.Consumer.ID)
		return routing.Answer{}
	}
	who := &g.consumers[i]
	odds := who.odds
	if !f.troubled() {
		odds = consumerOdds{}
	}
	f.Mu.Lock()
	gone := g.gone[who.id]
	explicit := f.law.explicit(forward.Envelope)
	f.Mu.Unlock()
	refusal := routing.Answer{Kind: routing.NotTaken, Text: "QueueDoesNotExist"}
	copied := &delivered{Envelope: forward.Envelope, group: g, consumer: who, explicit: explicit, source: forward.Source}
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
		f.deliver(copied, c.Latency())
		return refusal
	case c.Chance(c.Odds.Late / 2):
		f.deliver(copied, c.Between(time.Second, c.Odds.LongestDelay+2*time.Second))
		return routing.Answer{Text: "timeout"}
	case c.Chance(odds.lost):
		f.deliver(copied, c.Latency())
		return routing.Answer{Text: "the answer is lost"}
	}
	f.deliver(copied, c.Latency())
	return routing.Answer{Kind: routing.Taken}
}

func (d *delivered) String() string {
	return fmt.Sprintf("%s for %s, attempt %d", d.ID, d.consumer.id, d.Attempt)
}

// call calls a consumer that is a function.
func (f *forwarderPort) call(ctx context.Context, d *delivered) routing.Answer {
	f.Mu.Lock()
	p, dice := f.start("consumer", time.Minute, d.consumer.skew)
	f.law.took(p, d)
	d.handings++
	f.Mu.Unlock()
	odds := d.consumer.odds
	if !f.troubled() {
		odds = consumerOdds{}
	}
	answer := make(chan routing.Answer, 1)
	f.Running.Go(func() {
		defer p.Kill()
		c := p.call("work", "", 0)
		c.Odds.Pause = 0
		fails, before := dice.Chance(odds.fail), dice.Chance(0.5)
		if fails && before {
			answer <- routing.Answer{Kind: routing.Failed, Text: "it failed at once"}
			return
		}
		done := (&work{c, d, dice}).do(p.Ctx)
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
