package sim

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/landfall-dev/landfall/internal/outbox"
)

// world is one simulated world. Everything that can be seen from several goroutines is under its mutex,
// which is never held while time passes.
type world struct {
	plan
	seed  uint64
	begun time.Time
	trace *trace // nil: nobody reads it

	mu         sync.Mutex
	table      table
	remote     remote
	law        law
	calm       atomic.Bool // read without the mutex
	processes  int
	running    sync.WaitGroup
	held       map[outbox.ID][]heldBack
	violations []Violation
	hear       func(Violation)
	events     int
	happened   map[string]int
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

// Options say how to play a world.
type Options struct {
	// SDK has the processes use DynamoDB in process through the SDK, instead of the store in memory.
	SDK   bool
	Trace bool
	// Violated hears of each violation at once, even if the world comes to no end. Optional.
	Violated func(Violation)
}

// Play plays the world of a seed to its end. It must be called in a synctest bubble of its own.
func Play(seed uint64, o Options) Result {
	w := &world{plan: newPlan(seed), seed: seed, begun: time.Now(), hear: o.Violated, happened: map[string]int{}, held: map[outbox.ID][]heldBack{}}
	if o.Trace {
		w.trace = &trace{begun: w.begun}
	}
	w.table = newMemoryTable(w)
	if o.SDK {
		w.table = newAWSTable(w)
	}
	w.remote = remote{
		world: w, sent: map[outbox.ID][]*delivery{}, known: map[outbox.ID]*delivery{}, effects: map[outbox.ID][]*delivery{},
	}
	w.law = law{world: w, histories: map[outbox.ID]*history{}}
	w.play()
	return Result{Seed: seed, Violations: w.violations, Events: w.events, Happened: w.happened, Trace: w.trace.lines()}
}

// happening is something that the world itself does at a time.
type happening struct {
	at time.Duration
	do func(slot int)
}

// play lets the troubled time pass, then the calm one, and looks at what is left.
func (w *world) play() {
	happenings := slices.Concat(w.puts(), w.sweeps(), w.reconciliations(), w.orders())
	slices.SortStableFunc(happenings, func(a, b happening) int { return cmp.Compare(a.at, b.at) })
	for i, h := range happenings {
		slot := worldSlots + i%ownSlots
		sleepUntil(context.Background(), w.instant(w.begun.Add(h.at), slot))
		if w.broken() {
			break // what follows from a violation proves nothing
		}
		h.do(slot)
	}
	w.calmDown()
	w.running.Wait()
	w.law.end()
}

func (w *world) broken() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.violations) > 0
}

// violated notes a violation. The mutex is held.
func (w *world) violated(invariant, format string, args ...any) {
	const enough = 20
	v := Violation{invariant, fmt.Sprintf(format, args...), time.Since(w.begun)}
	w.note(0, "VIOLATED %s", v)
	v.Detail = strings.ReplaceAll(v.Detail, mark, "")
	if len(w.violations) < enough {
		w.violations = append(w.violations, v)
		if w.hear != nil {
			w.hear(v)
		}
	}
}

// Every goroutine of the world has a slot, and wakes only in nanoseconds of its own: those that leave the
// slot as the remainder by the grid. Two things never happen at the same instant, unless one made the
// other happen, and so their order does not depend on the scheduler. The grid divides a millisecond, so
// that the domain's own timers keep the slot of whoever set them.
const (
	grid        = 20 * time.Microsecond
	perProcess  = 64 // slots: of rows, then of lanes
	laneSlot    = rowsAtMost
	abroadSlots = 9600 // for what a process sent and does not wait for
	worldSlots  = 19200
	ownSlots    = 800
)

// instant is the first moment of a slot that is neither before t nor now.
func (w *world) instant(t time.Time, slot int) time.Time {
	at := t.Truncate(grid).Add(time.Duration(slot))
	for at.Before(t) || !at.After(time.Now()) {
		at = at.Add(grid)
	}
	return at
}

func sleepUntil(ctx context.Context, at time.Time) error {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// note adds a line to the trace, if somebody reads it. The mutex is held.
func (w *world) note(process int, format string, args ...any) {
	if w.trace != nil {
		w.trace.entries = append(w.trace.entries, entry{time.Since(w.begun), process, fmt.Sprintf(format, args...)})
	}
}

// trace is what happened.
type trace struct {
	begun   time.Time
	entries []entry
}

type entry struct {
	at      time.Duration
	process int
	text    string
}

// lines puts the trace in order and gives the tokens, which are random, names of their own.
func (t *trace) lines() []string {
	if t == nil {
		return nil
	}
	slices.SortStableFunc(t.entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.process, b.process), cmp.Compare(withoutTokens(a.text), withoutTokens(b.text)))
	})
	names := map[string]string{}
	var lines []string
	for _, e := range t.entries {
		text := replaceTokens(e.text, func(token string) string {
			if names[token] == "" {
				names[token] = fmt.Sprintf("claim-%d", len(names)+1)
			}
			return names[token]
		})
		lines = append(lines, fmt.Sprintf("%16v  process %-3d  %s", e.at, e.process, text))
	}
	return lines
}

// A token is written between marks, so that it can be found again.
const mark = "\x00"

func marked(token string) string { return mark + token + mark }

func withoutTokens(text string) string { return replaceTokens(text, func(string) string { return "" }) }

func replaceTokens(text string, name func(string) string) string {
	parts := strings.Split(text, mark)
	for i := 1; i < len(parts); i += 2 {
		parts[i] = name(parts[i])
	}
	return strings.Join(parts, "")
}
