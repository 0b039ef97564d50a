package sim

import (
	"slices"
	"time"

	"github.com/landfall-dev/landfall/internal/outbox"
)

// bound is what surely counts for a run: what the controls said long enough before it began.
type bound struct {
	held, free bool
	limit      int // 0: none
}

// boundsOf are the bounds of a process that has read the controls.
func (c *controls) boundsOf(p *process) map[string]bound {
	all := map[string]bound{}
	for name, is := range c.of {
		b := bound{}
		if p.actor.Began.Sub(is.since) > controlsFor {
			b.held, b.free = is.held, !is.held
		}
		if p.actor.Began.Sub(is.limitSince) > controlsFor {
			b.limit = is.limit
		}
		all[name] = b
	}
	return all
}

// allowed checks that a run leaves out the destinations that are held back, and no others.
func (l *law) allowed(p *process, allowed []outbox.Destination) {
	p.runs, p.bounds = time.Now(), l.world.controls.boundsOf(p)
	p.told.barred = map[string]bool{}
	for _, d := range l.world.configured(p) {
		barred := !slices.ContainsFunc(allowed, func(a outbox.Destination) bool { return a.Name == d.Name })
		p.told.barred[d.Name] = barred
		l.stage.Must(!barred || !p.bounds[d.Name].free, "control", "process %d leaves out %s, which no control holds back", p.actor.Number, d.Name)
		if barred {
			l.stage.Happened["a run left out a destination"]++
		}
	}
}

// mustBeAllowed checks that a run leaves alone the rows of a destination that was held back before it began.
func (l *law) mustBeAllowed(p *process, id outbox.ID, what string) {
	l.stage.Must(!p.sends() || !p.bounds[id.Destination].held, "control", "%s is %s, and its destination was held back when process %d began", id, what, p.actor.Number)
}

// atMost is how many sends a run may have in flight to a destination.
func (p *process) atMost(destination string) int {
	most := p.policy(destination).Concurrency
	if limit := p.bounds[destination].limit; limit > 0 {
		most = min(most, limit)
	}
	return most
}
