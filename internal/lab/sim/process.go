package sim

import (
	"slices"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/sim/stage"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// process is one invocation of a function, from its start to its end, whichever that is.
type process struct {
	actor  *stage.Process
	world  *world
	config *version
	// bounds are what it must know that was said about destinations.
	bounds map[string]bound
	// runs is when it began to walk lanes: the reading of controls comes before.
	runs time.Time
	// told and instance are under the stage's mutex.
	told     told
	instance *instance
	clock    watched
}

// start makes a process that is given so much time.
func (w *world) start(kind string, timeout time.Duration) *process {
	w.stage.Mu.Lock()
	defer w.stage.Mu.Unlock()
	started, d := w.stage.Start(kind, timeout)
	p := &process{actor: started, world: w, config: w.versionAt(time.Since(w.stage.Begun), d), told: told{asked: map[outbox.ID]bool{}}}
	p.setClock(d)
	p.runs = p.actor.Began
	w.stage.Note(p.actor.Number, "%s starts, clock %v, configured at %v", kind, p.actor.Skew, p.config.from)
	return p
}

// versionAt is the configuration of a process that starts at the given time: the newest, or while that
// one is being rolled out perhaps the one before.
func (w *world) versionAt(at time.Duration, d *stage.Dice) *version {
	newest := 0
	for i, v := range w.plan.versions {
		if v.from <= at {
			newest = i
		}
	}
	if newest > 0 && at < w.plan.versions[newest].from+w.plan.versions[newest].overlap && d.Chance(0.5) {
		newest--
	}
	return &w.plan.versions[newest]
}

// policy is what the process was configured with for a destination.
func (p *process) policy(name string) outbox.Policy {
	i := slices.IndexFunc(p.world.plan.destinations, func(d destination) bool { return d.name == name })
	return p.config.policies[i]
}

// call is one call that the process makes to a port.
func (p *process) call(kind string, subject any, slot int) *stage.Call {
	odds := p.world.plan.odds
	if p.clock.off { // what its answers prove must not hang on how slow they are
		odds.Slow, odds.Pause = 0, 0
	}
	return p.actor.Call(kind, subject, slot, odds)
}

// onlyOnce prepares a call that puts a row: where rows expire, it takes effect once and its answer arrives. Repeated
// after the first row has expired, it would put another one.
func (p *process) onlyOnce(c *stage.Call) {
	if p.world.plan.varied.expires {
		c.Odds.Lose, c.Odds.Late, c.Odds.Echo, c.Odds.Repeat = 0, 0, 0, 0
	}
}
