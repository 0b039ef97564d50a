package sim

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"github.com/landfall-dev/landfall/internal/outbox"
)

// process is one invocation of a function, from its start to its end, whichever that is.
type process struct {
	*world
	number int
	kind   string
	config *version
	skew   time.Duration
	begun  time.Time
	ctx    context.Context
	kill   context.CancelFunc

	// Under the world's mutex:
	dead    bool
	resumes time.Time // it is paused until then
	calls   map[callKey]int
	told    told
	tokens  uint64
}

type callKey struct {
	kind    string
	subject any
}

// start makes a process that is given so much time.
func (w *world) start(kind string, timeout time.Duration) *process {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.processes++
	p := &process{world: w, number: w.processes, kind: kind, begun: time.Now(), calls: map[callKey]int{}}
	d := roll(w.seed, kind, p.number)
	p.config = w.versionAt(time.Since(w.begun), d)
	if w.skew > 0 {
		p.skew = time.Duration((2*d.unit() - 1) * float64(w.skew)).Truncate(time.Millisecond)
	}
	p.ctx, p.kill = context.WithTimeout(context.Background(), timeout)
	w.note(p.number, "%s starts, clock %v, configured at %v", kind, p.skew, p.config.from)
	return p
}

// versionAt is the configuration of a process that starts at the given time: the newest, or while that
// one is being rolled out perhaps the one before.
func (w *world) versionAt(at time.Duration, d *dice) *version {
	newest := 0
	for i, v := range w.versions {
		if v.from <= at {
			newest = i
		}
	}
	if newest > 0 && at < w.versions[newest].from+w.versions[newest].overlap && d.chance(0.5) {
		newest--
	}
	return &w.versions[newest]
}

// now is the process's own clock.
func (p *process) now() time.Time { return time.Now().Add(p.skew) }

// Read makes tokens: the domain's source of randomness.
func (p *process) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range b {
		b[i] = 0
	}
	p.tokens++
	binary.BigEndian.PutUint64(b, uint64(p.number))
	binary.BigEndian.PutUint64(b[8:], p.tokens)
	return len(b), nil
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
	*dice
	odds odds
	slot int
}

// errNoAnswer is all that a process learns when an answer is lost.
var errNoAnswer = errors.New("no answer: connection reset")

// errThrottled is the table's answer that nothing was done.
var errThrottled = errors.New("throttled")

// call begins a call about a row, or about a lane of a destination.
func (p *process) call(kind string, subject any, slot int) *call {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := callKey{kind, subject}
	p.calls[key]++
	p.events++
	c := &call{
		process: p, odds: p.plan.odds, slot: p.number%(abroadSlots/perProcess)*perProcess + slot,
		dice: roll(p.seed, p.kind, p.number, kind, subject, p.calls[key]),
	}
	if p.calm.Load() {
		c.odds = odds{longestPause: time.Minute, longestDelay: time.Second, longestAnswer: time.Second}
	}
	const hot = 500
	if p.calls[key] == hot {
		p.violated("liveness", "%s about %v: %d calls in one run", kind, subject, hot)
		p.die("is stopped")
	}
	return c
}

// die ends the process: it does nothing more. The mutex is held.
func (p *process) die(how string) {
	if !p.dead {
		p.note(p.number, "%s", how)
		p.happened["died"]++
		p.dead = true
		p.kill()
	}
}

// pass lets time pass in the process, and as much more as it is paused. The error is that of ctx. In a
// dead process nothing goes on before ctx ends.
func (c *call) pass(ctx context.Context, d time.Duration) error {
	at := c.instant(time.Now().Add(d), c.slot)
	for {
		if err := sleepUntil(ctx, at); err != nil {
			return err
		}
		c.mu.Lock()
		dead, resumes := c.dead, c.resumes
		c.mu.Unlock()
		if dead {
			<-ctx.Done()
			return ctx.Err()
		}
		if !resumes.After(at) {
			return nil
		}
		at = c.instant(resumes, c.slot)
	}
}

// step is a moment at which a process may crash or be paused: latency first, then trouble.
func (c *call) step(ctx context.Context) error {
	if err := c.pass(ctx, c.latency()); err != nil {
		return err
	}
	c.mu.Lock()
	switch {
	case c.chance(c.odds.crash / 4):
		c.die("crashes")
	case c.chance(c.odds.pause / 4):
		if resumes := time.Now().Add(c.between(5*time.Second, c.odds.longestPause)); resumes.After(c.resumes) {
			c.resumes = resumes
			c.happened["paused"]++
			c.note(c.number, "pauses until %v", resumes.Sub(c.world.begun))
		}
	}
	c.mu.Unlock()
	return c.pass(ctx, 0)
}

// latency is that of one way.
func (c *call) latency() time.Duration {
	if c.chance(c.odds.slow / 3) {
		return c.between(50*time.Millisecond, c.odds.longestAnswer)
	}
	return c.between(time.Millisecond, 15*time.Millisecond)
}

// delay is that of what is late.
func (c *call) delay() time.Duration { return c.between(5*time.Millisecond, c.odds.longestDelay) }
