package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/landfall-dev/landfall/internal/outbox"
)

// table is where the rows of a world are.
type table interface {
	// open is the table as one process sees it.
	open(p *process) store
	// row is the row as it is stored, false if there is none. The world's mutex is held.
	row(id outbox.ID) (outbox.Row, bool)
}

// store is all that processes, applications and people ask of a table.
type store interface {
	outbox.Store
	Put(ctx context.Context, row outbox.Row) error
}

// operation is one write that a process asks for; it may be applied more than once.
type operation struct {
	by         *process
	claim      *outbox.Claim
	settlement *outbox.Settlement
	put        *outbox.Row
	// applied says that it changed the row; shown that after it was last tried, the row showed it.
	applied, shown bool
	// result is the row as a claim made it.
	result outbox.Row
}

func (o *operation) id() outbox.ID {
	switch {
	case o.claim != nil:
		return o.claim.ID
	case o.settlement != nil:
		return o.settlement.ID
	}
	return o.put.ID
}

func (o *operation) String() string {
	switch {
	case o.claim != nil:
		return fmt.Sprintf("claim %s by %s%s", o.claim.ID, marked(o.claim.Token), from(o.claim.From))
	case o.settlement != nil:
		s := o.settlement
		return fmt.Sprintf("settle %s as %s under %s%s", s.ID, s.Status, marked(s.Token), from(s.From))
	}
	return fmt.Sprintf("put %s", o.put.ID)
}

func from(row *outbox.Row) string {
	if row == nil {
		return ""
	}
	return fmt.Sprintf(" from %s %s", row.Status, marked(row.Token))
}

// reads is how a process reads: with latency, sometimes in vain.
func reads[T any](ctx context.Context, c *call, what string, read func() (T, error)) (T, error) {
	var none T
	if err := c.step(ctx); err != nil {
		return none, fmt.Errorf("%s: %w", what, err)
	}
	if c.chance(c.odds.refuse / 2) {
		return none, fmt.Errorf("%s: %w", what, errThrottled)
	}
	c.mu.Lock()
	result, err := read()
	c.mu.Unlock()
	if failed := c.step(ctx); failed != nil {
		return none, fmt.Errorf("%s: %w", what, failed)
	}
	return result, err
}

// writes is how a process writes: what it asks for takes effect not at all, at once, late, twice, and the
// answer comes or does not. try tries the write once; the mutex is held then.
func writes[T any](ctx context.Context, c *call, o *operation, try func(*operation) (T, error)) (T, error) {
	var none T
	once := func(o *operation) (T, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		return try(o)
	}
	late := *o // a copy of its own: nobody is told what becomes of it
	if err := c.step(ctx); err != nil {
		c.onResuming(func() { _, _ = once(&late) })
		return none, fmt.Errorf("%v: %w", o.id(), err)
	}
	var result T
	var answer error
	switch {
	case c.chance(c.odds.refuse / 2):
		answer = errThrottled
	case c.chance(c.odds.late / 2):
		c.later(o.id(), func() { _, _ = once(&late) })
		c.perhapsDie()
		answer = errNoAnswer
	case c.chance(c.odds.lose / 2):
		_, _ = once(o)
		answer = errNoAnswer
	case c.chance(c.odds.repeat / 2): // by the SDK, which did not hear the first answer
		_, _ = once(o)
		if err := c.pass(ctx, c.latency()); err != nil {
			return none, fmt.Errorf("%v: %w", o.id(), err)
		}
		result, answer = once(o)
	case c.chance(c.odds.echo / 2): // a copy that the network kept
		result, answer = once(o)
		c.later(o.id(), func() { _, _ = once(&late) })
	default:
		result, answer = once(o)
	}
	if err := c.step(ctx); err != nil {
		return none, fmt.Errorf("%v: %w", o.id(), err)
	}
	if errors.Is(answer, errNoAnswer) || errors.Is(answer, errThrottled) {
		c.mu.Lock()
		c.note(c.number, "hears: %v", answer)
		c.mu.Unlock()
		return none, fmt.Errorf("%v: %w", o.id(), answer)
	}
	return result, answer
}

// onResuming is about a caller that gave up while its process was paused: what it was about to ask for
// may leave all the same, once the process goes on.
func (c *call) onResuming(do func()) {
	c.mu.Lock()
	dead, resumes := c.dead, c.resumes
	c.mu.Unlock()
	if !dead && resumes.After(time.Now()) && c.chance(0.5) {
		c.at(c.instant(resumes, abroadSlots+c.slot), do)
	}
}

// perhapsDie makes a late request the last of its process in some cases: nobody repeats it then.
func (c *call) perhapsDie() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.chance(0.4) {
		c.die("dies with a request under way")
	}
}

// later has something done about a row whatever becomes of the process and its caller: after a while, or
// when it may do most harm, soon after the row has changed.
func (c *call) later(id outbox.ID, do func()) {
	if c.chance(0.5) {
		c.at(c.instant(time.Now().Add(c.delay()), abroadSlots+c.slot), do)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	d := dice(c.next())
	c.held[id] = append(c.held[id], heldBack{c, &d, do})
}

// heldBack is a write that the network keeps for now.
type heldBack struct {
	call *call
	*dice
	do func()
}

// release lets go of some of the writes that the network keeps about a row, which has just changed. The
// mutex is held.
func (w *world) release(id outbox.ID) {
	w.held[id] = slices.DeleteFunc(w.held[id], func(h heldBack) bool {
		goes := h.chance(0.25)
		if goes {
			soon := time.Now().Add(h.between(100*time.Microsecond, 10*time.Second))
			h.call.at(w.instant(soon, abroadSlots+h.call.slot), h.do)
		}
		return goes
	})
}

func (c *call) at(at time.Time, do func()) {
	c.running.Go(func() {
		_ = sleepUntil(context.Background(), at)
		do()
	})
}
