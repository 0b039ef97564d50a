package stage

import (
	"context"
	"encoding/binary"
	"time"
)

// Process is one invocation of a function, from its start to its end, whichever that is.
type Process struct {
	stage  *Stage
	Number int
	Kind   string
	// Skew is by how much its clock is ahead.
	Skew  time.Duration
	Began time.Time
	Ctx   context.Context
	Kill  context.CancelFunc

	// Dead is under the stage's mutex, as are the fields that follow.
	Dead    bool
	resumes time.Time // it is paused until then
	calls   map[callKey]int
	tokens  uint64
}

type callKey struct {
	kind    string
	subject any
}

// Start makes a process that is given so much time, and the dice for what else it is made of. Mu is held.
func (s *Stage) Start(kind string, timeout time.Duration) (*Process, *Dice) {
	s.processes++
	p := &Process{stage: s, Number: s.processes, Kind: kind, Began: time.Now(), calls: map[callKey]int{}}
	p.Ctx, p.Kill = context.WithTimeout(context.Background(), timeout)
	return p, Roll(s.Seed, kind, p.Number)
}

// SetClock gives the process a clock that is wrong by up to most either way; with 0 its clock stays as it is.
func (p *Process) SetClock(d *Dice, most time.Duration) {
	if most > 0 {
		p.Skew = d.Skew(most)
	}
}

// Now is the process's own clock.
func (p *Process) Now() time.Time { return time.Now().Add(p.Skew) }

// Read makes tokens: the domain's source of randomness.
func (p *Process) Read(b []byte) (int, error) {
	p.stage.Mu.Lock()
	defer p.stage.Mu.Unlock()
	for i := range b {
		b[i] = 0
	}
	p.tokens++
	binary.BigEndian.PutUint64(b, uint64(p.Number))
	binary.BigEndian.PutUint64(b[8:], p.tokens)
	return len(b), nil
}

// Odds are the probabilities, per call, of what goes wrong between a process and its tables and queues.
type Odds struct {
	Crash, Pause                              float64
	Refuse, Lose, Late, Echo, Repeat          float64
	Slow, Stale                               float64
	LongestPause, LongestDelay, LongestAnswer time.Duration
}

// Some is a probability that is 0 in many worlds, so that what is rare meets what is frequent.
func Some(d *Dice, most float64) float64 {
	if d.Chance(0.5) {
		return 0
	}
	return most * d.Unit()
}

// NewOdds are those of a world.
func NewOdds(d *Dice) Odds {
	return Odds{
		Crash: Some(d, 0.2), Pause: Some(d, 0.4),
		Refuse: Some(d, 0.3), Lose: Some(d, 0.3), Late: Some(d, 0.4), Echo: Some(d, 0.3), Repeat: Some(d, 0.3),
		Slow: Some(d, 0.3), Stale: Some(d, 0.5),
		LongestPause: d.Between(time.Minute, 30*time.Minute), LongestDelay: d.Between(time.Second, 30*time.Minute),
		LongestAnswer: d.Between(100*time.Millisecond, 10*time.Second),
	}
}

// Call is one call that a process makes to a port.
type Call struct {
	*Dice
	process *Process
	Odds    Odds
	Slot    int
}

// Call begins a call about a subject, with the world's odds unless all is calm. Slot is one of the process's.
func (p *Process) Call(kind string, subject any, slot int, odds Odds) *Call {
	p.stage.Mu.Lock()
	defer p.stage.Mu.Unlock()
	key := callKey{kind, subject}
	p.calls[key]++
	p.stage.Events++
	c := &Call{
		process: p, Odds: odds, Slot: p.Number%(abroadSlots/PerProcess)*PerProcess + slot,
		Dice: Roll(p.stage.Seed, p.Kind, p.Number, kind, subject, p.calls[key]),
	}
	if p.stage.Calm.Load() {
		c.Odds = Odds{LongestPause: time.Minute, LongestDelay: time.Second, LongestAnswer: time.Second}
	}
	const hot = 500
	if p.calls[key] == hot {
		p.stage.Violated("liveness", "%s about %v: %d calls in one run", kind, subject, hot)
		p.Die("is stopped")
	}
	return c
}

// Die ends the process: it does nothing more. Mu is held.
func (p *Process) Die(how string) {
	if !p.Dead {
		p.stage.Note(p.Number, "%s", how)
		p.stage.Happened["died"]++
		p.Dead = true
		p.Kill()
	}
}

// Pass lets time pass in the process, and as much more as it is paused. The error is that of ctx. In a
// dead process nothing goes on before ctx ends.
func (c *Call) Pass(ctx context.Context, d time.Duration) error {
	at := c.process.stage.Instant(time.Now().Add(d), c.Slot)
	for {
		if err := SleepUntil(ctx, at); err != nil {
			return err
		}
		c.process.stage.Mu.Lock()
		dead, resumes := c.process.Dead, c.process.resumes
		c.process.stage.Mu.Unlock()
		if dead {
			<-ctx.Done()
			return ctx.Err()
		}
		if !resumes.After(at) {
			return nil
		}
		at = c.process.stage.Instant(resumes, c.Slot)
	}
}

// Step is a moment at which a process may crash or be paused: latency first, then trouble.
func (c *Call) Step(ctx context.Context) error {
	if err := c.Pass(ctx, c.Latency()); err != nil {
		return err
	}
	c.process.stage.Mu.Lock()
	switch {
	case c.Chance(c.Odds.Crash / 4):
		c.process.Die("crashes")
	case c.Chance(c.Odds.Pause / 4):
		if resumes := time.Now().Add(c.Between(5*time.Second, c.Odds.LongestPause)); resumes.After(c.process.resumes) {
			c.process.resumes = resumes
			c.process.stage.Happened["paused"]++
			c.process.stage.Note(c.process.Number, "pauses until %v", resumes.Sub(c.process.stage.Begun))
		}
	}
	c.process.stage.Mu.Unlock()
	return c.Pass(ctx, 0)
}

// Latency is that of one way.
func (c *Call) Latency() time.Duration {
	if c.Chance(c.Odds.Slow / 3) {
		return c.Between(50*time.Millisecond, c.Odds.LongestAnswer)
	}
	return c.Between(time.Millisecond, 15*time.Millisecond)
}
