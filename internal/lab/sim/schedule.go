package sim

import (
	"context"
	"errors"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/sim/stage"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// puts are the rows that applications put, each again until they hear that it is there; and now and then
// once more, the same or with other content.
func (w *world) puts() (all []happening) {
	for i := range w.plan.rows {
		d := stage.Roll(w.stage.Seed, "put", i)
		all = append(all, happening{w.plan.rows[i].put, func(int) { w.stage.Running.Go(func() { w.put(i, d) }) }})
	}
	return all
}

func (w *world) put(i int, d *stage.Dice) {
	p := w.start("application", 24*time.Hour)
	p.actor.SetClock(stage.Roll(w.stage.Seed, "writer", i), w.plan.varied.writers)
	row := w.plan.rows[i].Row
	now := p.actor.Now().Truncate(time.Millisecond)
	policy := p.policy(row.Destination)
	row.CreatedAt, row.LaneAt = now, now.Add(w.plan.rows[i].notBefore+policy.HeadStart).Truncate(time.Millisecond)
	if w.plan.rows[i].deliverBy > 0 {
		row.DeliverBy = now.Add(w.plan.rows[i].deliverBy).Truncate(time.Millisecond)
	}
	row.Lane = outbox.Lane{Kind: outbox.DueLane, Destination: row.Destination, Shard: row.Shard(policy.Shards)}
	w.stage.Mu.Lock()
	w.law.wants(row)
	w.stage.Mu.Unlock()
	store := w.open(p)
	for again := d.Chance(0.2) && !w.plan.varied.expires; ; {
		switch err := store.Put(p.actor.Ctx, row); {
		case p.actor.Ctx.Err() != nil:
			return // it crashed, and its row is there or not
		case err != nil:
			continue
		case again:
			again = false
			other := row
			other.Origin, other.Payload = "of another", []byte("other content "+secret)
			if err := store.Put(p.actor.Ctx, other); err == nil {
				w.stage.Mu.Lock()
				w.stage.Violated("I1", "%s was put twice with different content", row.ID)
				w.stage.Mu.Unlock()
			}
			continue
		}
		return
	}
}

// sweeps are a run each minute of each part, some twice.
func (w *world) sweeps() (all []happening) {
	d := stage.Roll(w.stage.Seed, "sweeps")
	for at := time.Duration(0); at < w.plan.length; at += w.plan.every {
		silent := w.plan.varied.silentFrom < at && at < w.plan.varied.silentUntil
		for part := range w.versionAt(at, d).parts {
			begins := at + d.Between(time.Millisecond, w.plan.every/3)
			for range 1 + d.Below(2) {
				if silent {
					continue
				}
				all = append(all, happening{begins, func(int) { w.stage.Running.Go(func() { w.dispatch(part) }) }})
				begins += d.Between(time.Millisecond, 5*time.Second)
			}
		}
	}
	return all
}

const claimedBy = "request"

// dispatch is one invocation of the dispatcher.
func (w *world) dispatch(part int) {
	p := w.start("dispatcher", 65*time.Second+w.longestSend()+10*time.Second)
	w.invoke(p, func(d outbox.Dispatcher) (outbox.Report, error) {
		d.Part, d.Of = part%p.config.parts, p.config.parts
		return d.RunOnce(p.actor.Ctx)
	}, func() {})
}

// invoke is an invocation that claims and sends. The law looks at what it left before it looks at its report.
func (w *world) invoke(p *process, run func(outbox.Dispatcher) (outbox.Report, error), look func()) {
	p.readsControls()
	destinations, err := w.allowed(p)
	if err != nil {
		p.actor.Kill()
		return
	}
	o := p.observer()
	report, err := run(outbox.Dispatcher{
		Store: w.open(p), Concurrency: p.config.concurrency, ClaimedBy: claimedBy,
		Now: p.actor.Now, Clock: p.clock.watch, Rand: p.actor, Observer: o, Destinations: destinations,
	})
	w.stage.Mu.Lock()
	defer w.stage.Mu.Unlock()
	if !p.actor.Dead {
		look()
		w.law.dispatched(p, report, err)
		w.stage.Note(p.actor.Number, "ends: %d claimed", report.Claimed())
	}
	p.end(o, report, err)
}

func (w *world) longestSend() (longest time.Duration) {
	for _, v := range w.plan.versions {
		for _, p := range v.policies {
			longest = max(longest, p.SendTimeout)
		}
	}
	return longest
}

func (w *world) configured(p *process) (all []outbox.Destination) {
	for i := range w.plan.destinations {
		d := &w.plan.destinations[i]
		if !p.knows(d.name) {
			continue
		}
		one := outbox.Destination{Name: d.name, Policy: p.config.policies[i], Sender: &sender{p, d}}
		if d.lookup {
			one.Lookup = &lookup{p, d}
		}
		all = append(all, one)
	}
	return all
}

// reconciliations are runs of the reconciler, some at once.
func (w *world) reconciliations() (all []happening) {
	d := stage.Roll(w.stage.Seed, "reconciliations")
	for at := w.plan.every; at < w.plan.length; at += d.Between(w.plan.every, 6*w.plan.every) {
		for range 1 + d.Below(2) {
			all = append(all, happening{at + d.Between(time.Millisecond, w.plan.every/3), func(int) {
				w.stage.Running.Go(w.reconcile)
			}})
		}
	}
	return all
}

// reconcile is one invocation of the reconciler.
func (w *world) reconcile() {
	p := w.start("reconciler", 3*time.Minute)
	o := p.observer()
	r := outbox.Reconciler{
		Store: w.open(p), Concurrency: p.config.concurrency, Now: p.actor.Now, Clock: p.clock.watch, Observer: o, Destinations: w.configured(p),
	}
	report, err := r.RunOnce(p.actor.Ctx)
	p.world.stage.Mu.Lock()
	defer p.world.stage.Mu.Unlock()
	if !p.actor.Dead {
		p.world.law.reconciled(p, report, err)
	}
	p.end(o, report, err)
}

// calmDown lets everything come to its end, now that nothing goes wrong any more.
func (w *world) calmDown() {
	pause := func(d time.Duration) {
		_ = stage.SleepUntil(context.Background(), w.stage.Instant(time.Now().Add(d), stage.WorldSlots+stage.OwnSlots-1))
	}
	pause(time.Second)
	w.stage.Mu.Lock()
	w.stage.Calm.Store(true)
	w.stage.Note(0, "from now on nothing goes wrong")
	w.controls.calmDown()
	w.stage.Mu.Unlock()
	const bound = 6 * time.Hour
	soonest := time.Second
	for deadline := time.Now().Add(bound); ; {
		for part := range w.versionAt(time.Since(w.stage.Begun), stage.Roll(w.stage.Seed, "calm")).parts {
			w.dispatch(part)
		}
		w.reconcile()
		w.stage.Mu.Lock()
		next, open := w.law.next()
		if open && time.Now().After(deadline) {
			w.law.stuck(bound)
			open = false
		}
		w.stage.Mu.Unlock()
		if !open || w.stage.Broken() {
			return
		}
		pause(min(max(time.Until(next), soonest), 10*time.Minute))
		soonest += soonest / 4 // whatever a row says that it wants, the world comes to its end
	}
}

// orders are what people have done to rows.
func (w *world) orders() (all []happening) {
	d := stage.Roll(w.stage.Seed, "orders")
	for range w.plan.orders {
		at, row := time.Duration(d.Unit()*float64(w.plan.length)), d.Below(len(w.plan.rows))
		dice := stage.Roll(w.stage.Seed, "order", at)
		all = append(all, happening{at, func(int) { w.stage.Running.Go(func() { w.order(w.plan.rows[row].ID, dice) }) }})
	}
	return all
}

// order is one order on one row.
func (w *world) order(id outbox.ID, d *stage.Dice) {
	p := w.start("operator", time.Hour)
	person := &person{store: w.open(p), process: p}
	operator := outbox.Operator{Store: person, Destinations: w.configured(p), Now: p.actor.Now, Rand: p.actor}
	w.stage.Mu.Lock()
	row, exists := w.table.row(id)
	w.stage.Mu.Unlock()
	switch {
	case !exists:
		return
	case d.Chance(0.2): // instead of deciding, it has the remote asked
		w.reconcile()
		return
	}
	o := outbox.Order{By: "operator", Reason: "asked them"}
	switch row.Status {
	case outbox.StatusPending:
		o.Move = outbox.Cancel
	case outbox.StatusFailed:
		o.Move = outbox.Retry
	default:
		o.Move = stage.Pick(d, outbox.MarkCompleted, outbox.MarkFailed, outbox.Resend)
		o.NeverArrived = o.Move == outbox.Resend && d.Chance(0.7)
		o.Force = d.Chance(0.2)
	}
	person.order = o
	w.stage.Mu.Lock()
	w.law.ordering(p, o)
	w.stage.Mu.Unlock()
	_, err := operator.Do(p.actor.Ctx, id, o)
	w.stage.Mu.Lock()
	defer w.stage.Mu.Unlock()
	if err != nil {
		w.stage.Note(p.actor.Number, "%s: %v", o.Move, err)
	}
	if errors.Is(err, outbox.ErrConflict) && !person.settled {
		w.stage.Violated("report", "%s of %s is refused without a reason: %v", o.Move, id, err)
	}
	w.law.scan("an operator's error", err)
}

// person reads a row and asks the remote about it, thoroughly, before giving an order about just that
// row; and gives none that would be a lie.
type person struct {
	store   store
	process *process
	order   outbox.Order
	settled bool
}

// Settle implements [outbox.OperatorStore].
func (p *person) Settle(ctx context.Context, s outbox.Settlement) error {
	p.settled = true
	return p.store.Settle(ctx, s)
}

var errWouldLie = errors.New("the remote says otherwise")

// Get implements [outbox.OperatorStore].
func (p *person) Get(ctx context.Context, id outbox.ID) (outbox.Row, error) {
	row, err := p.store.Get(ctx, id)
	w := p.process.world
	w.stage.Mu.Lock()
	defer w.stage.Mu.Unlock()
	w.remote.catchUp()
	happens := w.remote.willDo(id)
	if lies := p.order.Move == outbox.MarkCompleted && !happens || p.order.Move == outbox.MarkFailed && happens ||
		p.order.NeverArrived && happens; err == nil && lies {
		return outbox.Row{}, errWouldLie
	}
	return row, err
}
