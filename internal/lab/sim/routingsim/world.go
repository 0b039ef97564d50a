package routingsim

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/landfall-dev/landfall/internal/lab/sim/stage"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/routingdb"
)

// world is one simulated world.
type world struct {
	*stage.Stage
	plan

	// Under the stage's mutex:
	receipts  receipts
	client    *dynamodb.Client // of the control table
	control   *routingdb.Control
	groups    []*group
	queues    []*queue
	instances []*instance
	law       law
	born      int // instances so far
	over      bool
	calmSince time.Time
}

// Play plays the world of a seed to its end. It must be called in a synctest bubble of its own.
func Play(seed uint64, o stage.Options) stage.Result { return play(newPlan(seed), seed, o) }

// PlayQuiet plays the same world, in which nothing goes wrong but that consumers do not accept in time, or decline.
func PlayQuiet(seed uint64, o stage.Options) stage.Result {
	return play(newPlan(seed).quiet(), seed, o)
}

func play(p plan, seed uint64, o stage.Options) stage.Result {
	w := &world{Stage: stage.New(seed, o), plan: p}
	w.client, w.control = newControl()
	w.receipts = newMemoryReceipts(w)
	if o.SDK {
		w.receipts = newAWSReceipts(w)
	}
	for i := range w.plan.groups {
		g := &w.plan.groups[i]
		w.groups = append(w.groups, newGroupState(w, g))
		w.queues = append(w.queues, &queue{world: w, plannedGroup: g, Dice: stage.Roll(seed, "queue", i)})
	}
	w.law = law{world: w, records: map[routing.ID]*record{}}
	w.play()
	return w.Result()
}

// happening is something that the world itself does at a time. The mutex is held.
type happening struct {
	at time.Duration
	do func()
}

// play lets the troubled time pass, then the calm one, and looks at what is left.
func (w *world) play() {
	pollers := 0
	for _, q := range w.queues {
		for range q.pollers {
			slot := stage.WorldSlots + pollers
			w.Running.Go(func() { q.poll(slot) })
			pollers++
		}
	}
	happenings := slices.Concat(w.arrivals(), w.upheavals())
	slices.SortStableFunc(happenings, func(a, b happening) int { return cmp.Compare(a.at, b.at) })
	for _, h := range happenings {
		w.sleep(time.Until(w.Begun.Add(h.at)))
		if w.Broken() {
			break // what follows from a violation proves nothing
		}
		w.Mu.Lock()
		h.do()
		w.Mu.Unlock()
	}
	w.sleep(time.Until(w.Begun.Add(w.length)))
	w.calmDown()
	w.Running.Wait()
	w.Mu.Lock()
	defer w.Mu.Unlock()
	w.law.end()
}

func (w *world) sleep(d time.Duration) {
	_ = stage.SleepUntil(context.Background(), w.Instant(time.Now().Add(d), stage.WorldSlots+stage.OwnSlots-1))
}

func (w *world) arrivals() (all []happening) {
	for i := range w.sends {
		s := &w.sends[i]
		all = append(all, happening{s.at, func() { w.queues[s.group].put(s) }})
	}
	return all
}

func (w *world) upheavals() (all []happening) {
	for _, s := range w.spoils {
		all = append(all, happening{s.at, func() { w.receipts.spoil(w.sends[s.send].of(w.plan), s.how) }})
	}
	for _, g := range w.groups {
		for _, c := range g.changes {
			all = append(all, happening{c.at, func() { g.change(c) }})
		}
	}
	return all
}

// calmDown lets everything come to its end, now that nothing goes wrong any more.
func (w *world) calmDown() {
	w.Mu.Lock()
	w.Calm.Store(true)
	w.calmSince = time.Now()
	w.Note(0, "from now on nothing goes wrong")
	bound := time.Hour // for what is under way
	for _, g := range w.groups {
		g.calmDown()
		bound = max(bound, g.policy.MaxWait+time.Hour)
	}
	w.Mu.Unlock()
	for deadline := time.Now().Add(bound); ; w.sleep(time.Second) {
		w.Mu.Lock()
		if w.empty() {
			w.over = true
		} else if time.Now().After(deadline) {
			w.law.stuck(bound)
			w.over = true
		}
		over := w.over
		w.Mu.Unlock()
		if over || w.Broken() {
			break
		}
	}
	w.Mu.Lock()
	w.over = true
	w.Mu.Unlock()
}
