package sim

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/sim/stage"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// world is one simulated world.
type world struct {
	stage *stage.Stage
	plan  plan

	// Under the stage's mutex:
	table  table
	remote remote
	law    law
	// controls are nil in a world without sayings.
	controls *controls
	// stalls is what the fast path remembers, as if one instance ran all of it.
	stalls outbox.Stalls
	// reported is what the table's stream has still to say.
	reported []report
}

// Violation is an invariant that did not hold; Result is the end of a world; Options say how to play it.
type (
	Violation = stage.Violation
	Result    = stage.Result
	Options   = stage.Options
)

// Play plays the world of a seed to its end. It must be called in a synctest bubble of its own.
func Play(seed uint64, o Options) Result {
	w := &world{stage: stage.New(seed, o), plan: newPlan(seed)}
	w.table = newMemoryTable(w)
	if o.SDK {
		w.table = newAWSTable(w)
	}
	w.remote = remote{
		world: w, sent: map[outbox.ID][]*delivery{}, known: map[outbox.ID]*delivery{}, effects: map[outbox.ID][]*delivery{},
	}
	if len(w.plan.sayings) > 0 {
		w.controls = newControls(w)
	}
	w.law = law{stage: w.stage, world: w, histories: map[outbox.ID]*history{}, heldUp: map[string]time.Time{}}
	w.play()
	return w.stage.Result()
}

// happening is something that the world itself does at a time.
type happening struct {
	at time.Duration
	do func(slot int)
}

// play lets the troubled time pass, then the calm one, and looks at what is left.
func (w *world) play() {
	happenings := slices.Concat(w.puts(), w.polls(), w.sweeps(), w.reconciliations(), w.orders(), w.says(), w.expiries(), w.breakages())
	slices.SortStableFunc(happenings, func(a, b happening) int { return cmp.Compare(a.at, b.at) })
	for i, h := range happenings {
		slot := stage.WorldSlots + i%stage.OwnSlots
		stage.SleepUntil(context.Background(), w.stage.Instant(w.stage.Begun.Add(h.at), slot))
		if w.stage.Broken() {
			break // what follows from a violation proves nothing
		}
		h.do(slot)
	}
	w.calmDown()
	w.stage.Running.Wait()
	w.law.end()
}
