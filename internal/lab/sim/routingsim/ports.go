package routingsim

import (
	"context"
	"errors"
	"slices"

	"github.com/landfall-dev/landfall/internal/lab/sim/stage"
	"github.com/landfall-dev/landfall/internal/routing"
)

// ingressPort is the ingress queues as one instance sees them.
type ingressPort struct{ instance *instance }

func (w *routerWorld) queue(name string) *ingressQueue {
	return w.queues[slices.IndexFunc(w.queues, func(q *ingressQueue) bool { return q.plan.name == name })]
}

// Hold implements [routing.Ingress].
func (g *ingressPort) Hold(ctx context.Context, holds []routing.Hold) []error {
	p, w := g.instance.process, g.instance.world
	w.stage.Locked(func() { w.law.holding(g.instance, holds) })
	return w.each(ctx, p.call("hold", "", 0), len(holds), func(i int) error {
		h := holds[i]
		err := w.queue(h.Message.Group).hold(h.Message.Handle, h.For)
		w.stage.Events++
		w.stage.Note(p.actor.Number, "holds %s for %v: %v", h.Message.ID, h.For, err)
		return err
	})
}

// Delete implements [routing.Ingress].
func (g *ingressPort) Delete(ctx context.Context, messages []routing.Incoming) []error {
	p, w := g.instance.process, g.instance.world
	w.stage.Locked(func() { w.law.deleting(p, messages) })
	errs := w.each(ctx, p.call("delete", "", 0), len(messages), func(i int) error {
		in := messages[i]
		q := w.queue(in.Group)
		if !q.plan.deletes {
			return nil
		}
		return q.delete(p.actor.Number, in.Handle)
	})
	w.stage.Mu.Lock()
	defer w.stage.Mu.Unlock()
	for i, in := range messages {
		p.told.deleted[in.Handle] = i < len(errs) && errs[i] == nil
	}
	return errs
}

// each does something about each entry of a request to a queue. Some entries are refused alone, and what is lost
// is lost for all.
func (w *routerWorld) each(ctx context.Context, c *stage.Call, n int, do func(i int) error) []error {
	type entries struct{ refused []bool }
	o := entries{make([]bool, n)}
	for i := range o.refused {
		o.refused[i] = c.Chance(c.Odds.Refuse / 3)
	}
	errs, err := stage.Writes(ctx, c, "queue", &o, func(o *entries) ([]error, error) {
		w.stage.Release("queue")
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
type deadLettersPort struct{ instance *instance }

// Bury implements [routing.DeadLetters].
func (d *deadLettersPort) Bury(ctx context.Context, letters []routing.DeadLetter) []error {
	p, w := d.instance.process, d.instance.world
	errs := w.each(ctx, p.call("bury", "", 0), len(letters), func(i int) error {
		l := letters[i]
		w.stage.Events++
		w.stage.Note(p.actor.Number, "buries %s: %s", l.Message.ID, l.Receipt.Reason)
		w.law.buried(p, l)
		return nil
	})
	w.stage.Mu.Lock()
	defer w.stage.Mu.Unlock()
	for i, l := range letters {
		p.told.buried[l.Message.Handle] = i < len(errs) && errs[i] == nil
	}
	return errs
}
