package stage

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Stage is where one world is played. Everything that can be seen from several goroutines is under Mu, which
// is never held while time passes.
type Stage struct {
	Seed  uint64
	Begun time.Time
	// Running are the goroutines that the world waits for before it ends.
	Running sync.WaitGroup
	// Calm says that nothing goes wrong any more. It is read without Mu.
	Calm atomic.Bool

	Mu sync.Mutex
	// Events is how much happened, Happened counts what is of interest, by what it is.
	Events     int
	Happened   map[string]int
	trace      *trace // nil unless asked for
	violations []Violation
	hear       func(Violation)
	processes  int
	held       map[any][]heldBack
}

// Options say how to play a world.
type Options struct {
	// SDK has the processes use DynamoDB in process through the SDK, instead of the store in memory.
	SDK   bool
	Trace bool
	// Violated is called for each violation at once, even if the world never ends. Optional.
	Violated func(Violation)
}

// Violation is an invariant that did not hold.
type Violation struct {
	// Invariant is its name: I1 to I12 as in the design, or another word of the law's.
	Invariant string
	Detail    string
	// At is the time since the world began.
	At time.Duration
}

func (v Violation) String() string { return fmt.Sprintf("%s: %s (at %v)", v.Invariant, v.Detail, v.At) }

// Result is what became of a world.
type Result struct {
	Seed       uint64
	Violations []Violation
	// Events is how many calls, changes, requests and answers there were.
	Events int
	// Happened counts what is of interest, by what it is.
	Happened map[string]int
	// Trace is what happened, in order; nil unless asked for.
	Trace []string
}

// New is an empty stage. It must be made in a synctest bubble of its own.
func New(seed uint64, o Options) *Stage {
	s := &Stage{Seed: seed, Begun: time.Now(), hear: o.Violated, Happened: map[string]int{}, held: map[any][]heldBack{}}
	if o.Trace {
		s.trace = &trace{begun: s.Begun}
	}
	return s
}

// Locked does something while Mu is held.
func (s *Stage) Locked(do func()) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	do()
}

// Result is what became of the world, once it has ended.
func (s *Stage) Result() Result {
	return Result{Seed: s.Seed, Violations: s.violations, Events: s.Events, Happened: s.Happened, Trace: s.trace.lines()}
}

// Broken reports whether an invariant was violated: what follows proves nothing.
func (s *Stage) Broken() bool {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	return len(s.violations) > 0
}

// Violated notes a violation. Mu is held.
func (s *Stage) Violated(invariant, format string, args ...any) {
	const enough = 20
	v := Violation{invariant, fmt.Sprintf(format, args...), time.Since(s.Begun)}
	s.Note(0, "VIOLATED %s", v)
	v.Detail = strings.ReplaceAll(v.Detail, mark, "")
	if len(s.violations) < enough {
		s.violations = append(s.violations, v)
		if s.hear != nil {
			s.hear(v)
		}
	}
}

// Must notes a violation unless ok. Mu is held.
func (s *Stage) Must(ok bool, invariant, format string, args ...any) {
	if !ok {
		s.Violated(invariant, format, args...)
	}
}

// Every goroutine of the world has a slot, and wakes only in nanoseconds of its own: those that leave the
// slot as the remainder by the grid. Two things never happen at the same instant, unless one made the
// other happen, and so their order does not depend on the scheduler. The grid divides a millisecond, so
// that the domain's own timers keep the slot of whoever set them.
const (
	grid = 20 * time.Microsecond
	// PerProcess is how many slots a process has; its goroutines number them from 0.
	PerProcess  = 64
	abroadSlots = 9600 // for what a process sent and does not wait for
	// WorldSlots is the first of the OwnSlots slots of the world itself.
	WorldSlots = 19200
	OwnSlots   = 800
)

// Instant is the first moment of a slot that is neither before t nor now.
func (s *Stage) Instant(t time.Time, slot int) time.Time {
	at := t.Truncate(grid).Add(time.Duration(slot))
	for at.Before(t) || !at.After(time.Now()) {
		at = at.Add(grid)
	}
	return at
}

// SleepUntil returns at a moment, or with ctx's error when it ends.
func SleepUntil(ctx context.Context, at time.Time) error {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
