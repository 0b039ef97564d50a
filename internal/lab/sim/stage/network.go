package stage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// ErrNoAnswer is all that a process learns when an answer is lost.
var ErrNoAnswer = errors.New("no answer: connection reset")

// ErrThrottled is a service's answer that nothing was done.
var ErrThrottled = errors.New("throttled")

// Reads is how a process reads: with latency, sometimes in vain.
func Reads[T any](ctx context.Context, c *Call, what string, read func() (T, error)) (T, error) {
	var none T
	if err := c.Step(ctx); err != nil {
		return none, fmt.Errorf("%s: %w", what, err)
	}
	if c.Chance(c.Odds.Refuse / 2) {
		return none, fmt.Errorf("%s: %w", what, ErrThrottled)
	}
	c.process.stage.Mu.Lock()
	result, err := read()
	c.process.stage.Mu.Unlock()
	if failed := c.Step(ctx); failed != nil {
		return none, fmt.Errorf("%s: %w", what, failed)
	}
	return result, err
}

// Writes is how a process writes about a subject: what it asks for takes effect not at all, at once, late,
// twice, and the answer comes or does not. try tries the operation once; Mu is held then.
func Writes[O, T any](ctx context.Context, c *Call, subject any, o *O, try func(*O) (T, error)) (T, error) {
	var none T
	once := func(o *O) (T, error) {
		c.process.stage.Mu.Lock()
		defer c.process.stage.Mu.Unlock()
		return try(o)
	}
	late := *o // a copy of its own: its result goes nowhere
	if err := c.Step(ctx); err != nil {
		c.OnResuming(func() { _, _ = once(&late) })
		return none, fmt.Errorf("%v: %w", subject, err)
	}
	var result T
	var answer error
	switch {
	case c.Chance(c.Odds.Refuse / 2):
		answer = ErrThrottled
	case c.Chance(c.Odds.Late / 2):
		c.Later(subject, func() { _, _ = once(&late) })
		c.PerhapsDie()
		answer = ErrNoAnswer
	case c.Chance(c.Odds.Lose / 2):
		_, _ = once(o)
		answer = ErrNoAnswer
	case c.Chance(c.Odds.Repeat / 2): // by the SDK, which did not hear the first answer
		_, _ = once(o)
		if err := c.Pass(ctx, c.Latency()); err != nil {
			return none, fmt.Errorf("%v: %w", subject, err)
		}
		result, answer = once(o)
	case c.Chance(c.Odds.Echo / 2): // a copy that the network kept
		result, answer = once(o)
		c.Later(subject, func() { _, _ = once(&late) })
	default:
		result, answer = once(o)
	}
	if err := c.Step(ctx); err != nil {
		return none, fmt.Errorf("%v: %w", subject, err)
	}
	if errors.Is(answer, ErrNoAnswer) || errors.Is(answer, ErrThrottled) {
		c.process.stage.Locked(func() { c.process.stage.Note(c.process.Number, "hears: %v", answer) })
		return none, fmt.Errorf("%v: %w", subject, answer)
	}
	return result, answer
}

// OnResuming is for a caller that gave up while its process was paused: its request may still leave once the
// process goes on.
func (c *Call) OnResuming(do func()) {
	c.process.stage.Mu.Lock()
	dead, resumes := c.process.Dead, c.process.resumes
	c.process.stage.Mu.Unlock()
	if !dead && resumes.After(time.Now()) && c.Chance(0.5) {
		c.at(c.process.stage.Instant(resumes, abroadSlots+c.Slot), do)
	}
}

// PerhapsDie makes a late request the last of its process in some cases, so that it is not repeated.
func (c *Call) PerhapsDie() {
	c.process.stage.Mu.Lock()
	defer c.process.stage.Mu.Unlock()
	if c.Chance(0.4) {
		c.process.Die("dies with a request under way")
	}
}

// Later has something done about a subject whatever becomes of the process and its caller: after a while, or
// when it may do most harm, soon after the subject has changed.
func (c *Call) Later(subject any, do func()) {
	if c.Chance(0.5) {
		delay := c.Between(5*time.Millisecond, c.Odds.LongestDelay)
		c.at(c.process.stage.Instant(time.Now().Add(delay), abroadSlots+c.Slot), do)
		return
	}
	c.process.stage.Mu.Lock()
	defer c.process.stage.Mu.Unlock()
	d := Dice(c.Next())
	c.process.stage.held[subject] = append(c.process.stage.held[subject], heldBack{c, &d, do})
}

// heldBack is a write that the network keeps for now.
type heldBack struct {
	call *Call
	dice *Dice
	do   func()
}

// Release lets go of some of the writes that the network keeps about a subject, which has just changed. Mu is
// held.
func (s *Stage) Release(subject any) {
	s.held[subject] = slices.DeleteFunc(s.held[subject], func(h heldBack) bool {
		goes := h.dice.Chance(0.25)
		if goes {
			soon := time.Now().Add(h.dice.Between(100*time.Microsecond, 10*time.Second))
			h.call.at(s.Instant(soon, abroadSlots+h.call.Slot), h.do)
		}
		return goes
	})
}

func (c *Call) at(at time.Time, do func()) {
	c.process.stage.Running.Go(func() {
		_ = SleepUntil(context.Background(), at)
		do()
	})
}
