package sim

import (
	"time"

	"github.com/landfall-dev/landfall/internal/lab/sim/stage"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// process is one invocation of a function, from its start to its end, whichever that is.
type process struct {
	*stage.Process
	*world
	config *version
	// bounds are what it must know that was said about destinations.
	bounds map[string]bound
	// runs is when it began to walk lanes: the reading of controls comes before.
	runs time.Time
	// told and gate are under the stage's mutex.
	told told
	gate *gate
}

// start makes a process that is given so much time.
func (w *world) start(kind string, timeout time.Duration) *process {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	started, d := w.Start(kind, timeout)
	p := &process{Process: started, world: w, config: w.versionAt(time.Since(w.Begun), d), told: told{asked: map[outbox.ID]bool{}}}
	p.SetClock(d, w.skew)
	p.runs = p.Began
	w.Note(p.Number, "%s starts, clock %v, configured at %v", kind, p.Skew, p.config.from)
	return p
}

// versionAt is the configuration of a process that starts at the given time: the newest, or while that
// one is being rolled out perhaps the one before.
func (w *world) versionAt(at time.Duration, d *stage.Dice) *version {
	newest := 0
	for i, v := range w.versions {
		if v.from <= at {
			newest = i
		}
	}
	if newest > 0 && at < w.versions[newest].from+w.versions[newest].overlap && d.Chance(0.5) {
		newest--
	}
	return &w.versions[newest]
}

// policy is what the process was configured with for a destination.
func (p *process) policy(name string) outbox.Policy {
	for i, d := range p.destinations {
		if d.name == name {
			return p.config.policies[i]
		}
	}
	return outbox.Policy{}.WithDefaults()
}

// call is one call that a process makes to a port.
type call struct {
	*process
	*stage.Call
}

// once has what the call asks for happen once, where rows expire, and be heard of: repeated later, it would put another row.
func (c *call) once() *call {
	if c.varied.expires {
		c.Call.Odds.Lose, c.Call.Odds.Late, c.Call.Odds.Echo, c.Call.Odds.Repeat = 0, 0, 0, 0
	}
	return c
}

func (p *process) call(kind string, subject any, slot int) *call {
	return &call{p, p.Call(kind, subject, slot, p.odds)}
}
