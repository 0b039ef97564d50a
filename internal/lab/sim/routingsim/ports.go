package routingsim

import (
	"context"
	"errors"
	"slices"

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
