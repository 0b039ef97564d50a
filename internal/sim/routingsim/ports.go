package routingsim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/landfall-dev/landfall/internal/routing"
)

// ingressPort is the ingress queues as one instance sees them.
type ingressPort struct{ *instance }

func (w *world) queue(name string) *queue {
	return w.queues[slices.IndexFunc(w.queues, func(q *queue) bool { return q.name == name })]
}

// Hold implements [routing.Ingress].
func (g *ingressPort) Hold(ctx context.Context, holds []routing.Hold) []error {
	p := g.process
	g.Mu.Lock()
	g.law.holding(g.instance, holds)
	g.Mu.Unlock()
	return g.each(ctx, p.call("hold", "", 0), len(holds), func(i int) error {
		h := holds[i]
		err := g.queue(h.Group).hold(h.Handle, h.For)
		g.Events++
		g.Note(p.Number, "holds %s for %v: %v", h.ID, h.For, err)
		return err
	})
}

// Delete implements [routing.Ingress].
func (g *ingressPort) Delete(ctx context.Context, messages []routing.Incoming) []error {
	p := g.process
	g.Mu.Lock()
	g.law.deleting(p, messages)
	g.Mu.Unlock()
	errs := g.each(ctx, p.call("delete", "", 0), len(messages), func(i int) error {
		in := messages[i]
		q := g.queue(in.Group)
		if !q.deletes {
			return nil
		}
		return q.delete(p.Number, in.Handle)
	})
	g.Mu.Lock()
	defer g.Mu.Unlock()
	for i, in := range messages {
		p.told.deleted[in.Handle] = i < len(errs) && errs[i] == nil
	}
	return errs
}

// each does something about each entry of a request to a queue. Some entries are refused alone, and what is lost
// is lost for all.
func (w *world) each(ctx context.Context, c *call, n int, do func(i int) error) []error {
	type entries struct{ refused []bool }
	o := entries{make([]bool, n)}
	for i := range o.refused {
		o.refused[i] = c.Chance(c.Odds.Refuse / 3)
	}
	errs, err := writes(ctx, c, "queue", &o, func(o *entries) ([]error, error) {
		w.Release("queue")
		errs := make([]error, n)
		for i := range errs {
			if errs[i] = errors.New("throttled"); !o.refused[i] {
				errs[i] = do(i)
			}
		}
		return errs, nil
	})
	if err == nil {
		return errs
	}
	if c.Chance(0.3) {
		return nil
	}
	return slices.Repeat([]error{err}, n)
}

// deadLettersPort is the dead-letter queues as one instance sees them.
type deadLettersPort struct{ *instance }

// Bury implements [routing.DeadLetters].
func (d *deadLettersPort) Bury(ctx context.Context, letters []routing.DeadLetter) []error {
	p := d.process
	errs := d.each(ctx, p.call("bury", "", 0), len(letters), func(i int) error {
		l := letters[i]
		d.Events++
		d.Note(p.Number, "buries %s: %s", l.ID, l.Receipt.Reason)
		d.law.buried(p, l)
		return nil
	})
	d.Mu.Lock()
	defer d.Mu.Unlock()
	for i, l := range letters {
		p.told.buried[l.Handle] = i < len(errs) && errs[i] == nil
	}
	return errs
}

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
