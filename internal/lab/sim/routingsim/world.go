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

// routerWorld is one simulated world.
type routerWorld struct {
	stage *stage.Stage
	plan  plan

	// Under the stage's mutex:
	receipts  receipts
	client    *dynamodb.Client // of the control table
	control   *routingdb.Control
	groups    []*group
	queues    []*ingressQueue
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
	w := &routerWorld{stage: stage.New(seed, o), plan: p}
	w.client, w.control = newControl()
	w.receipts = newMemoryReceipts(w)
	if o.SDK {
		w.receipts = newAWSReceipts(w)
	}
	for i := range w.plan.groups {
		g := &w.plan.groups[i]
		w.groups = append(w.groups, newGroupState(w, g))
		w.queues = append(w.queues, &ingressQueue{stage: w.stage, world: w, plan: g, dice: stage.Roll(seed, "queue", i)})
	}
	w.law = law{stage: w.stage, world: w, records: map[routing.ID]*record{}}
	w.play()
	return w.stage.Result()
}

// happening is something that the world itself does at a time. The mutex is held.
type happening struct {
	at time.Duration
	do func()
}

// play lets the troubled time pass, then the calm one, and looks at what is left.
func (w *routerWorld) play() {
	pollers := 0
	for _, q := range w.queues {
		for range q.plan.pollers {
			slot := stage.WorldSlots + pollers
			w.stage.Running.Go(func() { q.poll(slot) })
			pollers++
		}
	}
	happenings := slices.Concat(w.arrivals(), w.upheavals())
	slices.SortStableFunc(happenings, func(a, b happening) int { return cmp.Compare(a.at, b.at) })
	for _, h := range happenings {
		w.sleep(time.Until(w.stage.Begun.Add(h.at)))
		if w.stage.Broken() {
			break // what follows from a violation proves nothing
		}
		w.stage.Locked(h.do)
	}
	w.sleep(time.Until(w.stage.Begun.Add(w.plan.length)))
	w.calmDown()
	w.stage.Running.Wait()
	w.stage.Mu.Lock()
	defer w.stage.Mu.Unlock()
	w.law.end()
}

func (w *routerWorld) sleep(d time.Duration) {
	_ = stage.SleepUntil(context.Background(), w.stage.Instant(time.Now().Add(d), stage.WorldSlots+stage.OwnSlots-1))
}

func (w *routerWorld) arrivals() (all []happening) {
	for i := range w.plan.sends {
		s := &w.plan.sends[i]
		all = append(all, happening{s.at, func() { w.queues[s.group].put(s) }})
	}
	return all
}

func (w *routerWorld) upheavals() (all []happening) {
	for _, s := range w.plan.spoils {
		all = append(all, happening{s.at, func() { w.receipts.spoil(w.plan.sends[s.send].of(w.plan), s.how) }})
	}
	for _, g := range w.groups {
		for _, c := range g.plan.changes {
			all = append(all, happening{c.at, func() { g.change(c) }})
		}
	}
	return all
}

// calmDown lets everything come to its end, now that nothing goes wrong any more.
func (w *routerWorld) calmDown() {
	w.stage.Mu.Lock()
	w.stage.Calm.Store(true)
	w.calmSince = time.Now()
	w.stage.Note(0, "from now on nothing goes wrong")
	bound := time.Hour // for what is under way
	for _, g := range w.groups {
		g.calmDown()
		bound = max(bound, g.policy.MaxWait+time.Hour)
	}
	w.stage.Mu.Unlock()
	for deadline := time.Now().Add(bound); ; w.sleep(time.Second) {
		w.stage.Mu.Lock()
		if w.empty() {
			w.over = true
		} else if time.Now().After(deadline) {
			w.law.stuck(bound)
			w.over = true
		}
		over := w.over
		w.stage.Mu.Unlock()
		if over || w.stage.Broken() {
			break
		}
	}
	w.stage.Locked(func() { w.over = true })
}
