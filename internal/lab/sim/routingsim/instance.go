package routingsim

import (
	"context"
	"slices"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/sim/stage"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/routingdb"
)

// instance is a router as it lives from invocation to invocation, until it crashes.
type instance struct {
	world  *routerWorld
	number int
	router *routing.Router
	reader *routingdb.Groups
	skew   time.Duration
	busy   bool
	// process is the invocation under way.
	process *process
	// lapses are the deadlines that it surely saw pass, deadlines all that it knows of.
	lapses, deadlines map[lapse]time.Time
}

// process is one invocation of the router, or what a consumer does about one copy of a message.
type process struct {
	actor *stage.Process
	world *routerWorld
	// store is the receipts as it sees them.
	store routing.Receipts
	told  told
}

// call is one call that the process makes to a port.
func (p *process) call(kind string, subject any, slot int) *stage.Call {
	return p.actor.Call(kind, subject, slot, p.world.plan.odds)
}

// start makes a process.
func (w *routerWorld) start(kind string, timeout, skew time.Duration) (*process, *stage.Dice) {
	started, d := w.stage.Start(kind, timeout)
	started.Skew = skew
	p := &process{actor: started, world: w, told: newTold()}
	p.store = w.receipts.open(p)
	return p, d
}

// poll receives messages from a queue and invokes the router with them, until the world ends.
func (q *ingressQueue) poll(slot int) {
	sleep := func(d time.Duration) {
		_ = stage.SleepUntil(context.Background(), q.stage.Instant(time.Now().Add(d), slot))
	}
	for sleep(0); ; {
		q.stage.Mu.Lock()
		batch := q.receive()
		next, open := q.next()
		over := q.world.over
		wait, throttled := time.Duration(0), false
		if len(batch) > 0 && q.world.troubled() {
			if q.dice.Chance(q.plan.ingress.wait) {
				wait = q.dice.Between(time.Second, time.Minute)
			}
			if throttled = q.dice.Chance(q.plan.ingress.throttle); throttled {
				q.stage.Happened["throttled"]++
			}
		}
		q.stage.Mu.Unlock()
		const patience = time.Second // something may be shown earlier
		switch {
		case over:
			return
		case len(batch) == 0 && open:
			sleep(min(max(time.Until(next), 0), patience))
		case len(batch) == 0:
			sleep(patience)
		case throttled:
			sleep(patience)
		default:
			if wait > 0 {
				sleep(wait)
			}
			q.invoke(batch)
			sleep(0)
		}
	}
}

// invoke is one invocation of the router, by an instance that is free or new.
func (q *ingressQueue) invoke(batch []routing.Incoming) {
	q.stage.Mu.Lock()
	i := q.world.free()
	p, _ := q.world.start("router", q.world.plan.timeout, i.skew)
	i.process, i.busy = p, true
	ids := make([]string, len(batch))
	for n, in := range batch {
		ids[n] = in.ID
	}
	p.world.stage.Note(p.actor.Number, "instance %d is given %v of %s, clock %v", i.number, ids, q.plan.name, i.skew)
	q.world.law.invoked(i, batch)
	q.stage.Mu.Unlock()

	ctx, cancel := context.WithTimeout(p.actor.Ctx, q.world.plan.timeout-time.Second)
	handled := i.router.Route(ctx, batch)
	cancel()

	q.stage.Mu.Lock()
	ended := p.actor.Ctx.Err() == nil
	if ended {
		q.world.law.routed(i, batch, handled)
	} else if !p.actor.Dead {
		p.actor.Die("is stopped, its time is over")
	}
	i.busy = false
	if p.actor.Dead {
		q.world.instances = slices.DeleteFunc(q.world.instances, func(other *instance) bool { return other == i })
	}
	q.stage.Mu.Unlock()
	if ended {
		q.settle(p, batch, handled)
	}
	p.actor.Kill()
}

// settle deletes what the router did not keep.
func (q *ingressQueue) settle(p *process, batch []routing.Incoming, handled []routing.Handled) {
	c := p.call("settle", "", 0)
	if c.Step(p.actor.Ctx) != nil {
		return
	}
	q.stage.Mu.Lock()
	defer q.stage.Mu.Unlock()
	for i, h := range handled {
		if !h.Kept && !(q.world.troubled() && c.Chance(c.Odds.Refuse/2)) {
			_ = q.delete(p.actor.Number, batch[i].Handle)
		}
	}
}

// free is an instance that has nothing to do, or a new one.
func (w *routerWorld) free() *instance {
	if i := slices.IndexFunc(w.instances, func(i *instance) bool { return !i.busy }); i >= 0 {
		return w.instances[i]
	}
	w.born++
	i := &instance{world: w, number: w.born, lapses: map[lapse]time.Time{}, deadlines: map[lapse]time.Time{}}
	i.skew = stage.Roll(w.stage.Seed, "instance", i.number).Skew(w.plan.skew)
	i.reader = newGroups(i)
	i.router = &routing.Router{
		Receipts: &receiptsPort{i}, Groups: &groupsPort{i}, Ingress: &ingressPort{i}, Forwarder: &forwarderPort{i},
		DeadLetters: &deadLettersPort{i}, Rand: i, Now: func() time.Time { return time.Now().Add(i.skew) },
	}
	w.instances = append(w.instances, i)
	return i
}

// Read makes tokens.
func (i *instance) Read(b []byte) (int, error) { return i.process.actor.Read(b) }
