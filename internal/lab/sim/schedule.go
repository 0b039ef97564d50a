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
	for i := range w.rows {
		d := stage.Roll(w.Seed, "put", i)
		all = append(all, happening{w.rows[i].put, func(int) { w.Running.Go(func() { w.put(i, d) }) }})
	}
	return all
}

func (w *world) put(i int, d *stage.Dice) {
	p := w.start("application", 24*time.Hour)
	p.SetClock(stage.Roll(w.Seed, "writer", i), w.varied.writers)
	row := w.rows[i].Row
	now := p.Now().Truncate(time.Millisecond)
	policy := p.policy(row.Destination)
	row.CreatedAt, row.LaneAt = now, now.Add(w.rows[i].notBefore+policy.HeadStart).Truncate(time.Millisecond)
	if w.rows[i].deliverBy > 0 {
		row.DeliverBy = now.Add(w.rows[i].deliverBy).Truncate(time.Millisecond)
	}
	row.Lane = outbox.Lane{Kind: outbox.DueLane, Destination: row.Destination, Shard: row.Shard(policy.Shards)}
	w.Mu.Lock()
	w.law.wants(row)
	w.Mu.Unlock()
	store := w.table.open(p)
	for again := d.Chance(0.2) && !w.varied.expires; ; {
		switch err := store.Put(p.Ctx, row); {
		case p.Ctx.Err() != nil:
			return // it crashed, and its row is there or not
		case err != nil:
			continue
		case again:
			again = false
			other := row
			other.Origin, other.Payload = "of another", []byte("other content "+secret)
			if err := store.Put(p.Ctx, other); err == nil {
				w.Mu.Lock()
				w.Violated("I1", "%s was put twice with different content", row.ID)
				w.Mu.Unlock()
			}
			continue
		}
		return
	}
}

// sweeps are a run each minute of each part, some twice.
func (w *world) sweeps() (all []happening) {
	d := stage.Roll(w.Seed, "sweeps")
	for at := time.Duration(0); at < w.length; at += w.every {
		silent := w.varied.silentFrom < at && at < w.varied.silentUntil
		for part := range w.versionAt(at, d).parts {
			begins := at + d.Between(time.Millisecond, w.every/3)
			for range 1 + d.Below(2) {
				if silent {
					continue
				}
				all = append(all, happening{begins, func(int) { w.Running.Go(func() { w.dispatch(part) }) }})
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
	destinations, err := w.allowed(p)
	if err != nil {
		p.Kill()
		return
	}
	o := p.observer()
	d := outbox.Dispatcher{
		Store: w.table.open(p), Concurrency: p.config.concurrency, ClaimedBy: claimedBy,
		Now: p.Now, Rand: p, Observer: o, Part: part % p.config.parts, Of: p.config.parts, Destinations: destinations,
	}
	report, err := d.RunOnce(p.Ctx)
	p.Mu.Lock()
	defer p.Mu.Unlock()
	if !p.Dead {
		p.law.dispatched(p, report, err)
		p.Note(p.Number, "ends: %d claimed", report.Claimed())
	}
	p.end(o, report, err)
}

func (w *world) longestSend() (longest time.Duration) {
	for _, v := range w.versions {
		for _, p := range v.policies {
			longest = max(longest, p.SendTimeout)
		}
	}
	return longest
}

func (w *world) configured(p *process) (all []outbox.Destination) {
	for i := range w.destinations {
		d := &w.destinations[i]
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
	d := stage.Roll(w.Seed, "reconciliations")
	for at := w.every; at < w.length; at += d.Between(w.every, 6*w.every) {
		for range 1 + d.Below(2) {
			all = append(all, happening{at + d.Between(time.Millisecond, w.every/3), func(int) {
				w.Running.Go(w.reconcile)
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
		Store: w.table.open(p), Concurrency: p.config.concurrency, Now: p.Now, Observer: o, Destinations: w.configured(p),
	}
	report, err := r.RunOnce(p.Ctx)
	p.Mu.Lock()
	defer p.Mu.Unlock()
	if !p.Dead {
		p.law.reconciled(p, report, err)
	}
	p.end(o, report, err)
}

// calmDown lets everything come to its end, now that nothing goes wrong any more.
func (w *world) calmDown() {
	pause := func(d time.Duration) {
		_ = stage.SleepUntil(context.Background(), w.Instant(time.Now().Add(d), stage.WorldSlots+stage.OwnSlots-1))
	}
	pause(time.Second)
	w.Mu.Lock()
	w.Calm.Store(true)
	w.Note(0, "from now on nothing goes wrong")
	w.controls.calmDown()
	w.Mu.Unlock()
	const bound = 6 * time.Hour
	soonest := time.Second
	for deadline := time.Now().Add(bound); ; {
		for part := range w.versionAt(time.Since(w.Begun), stage.Roll(w.Seed, "calm")).parts {
			w.dispatch(part)
		}
		w.reconcile()
		w.Mu.Lock()
		next, open := w.law.next()
		if open && time.Now().After(deadline) {
			w.law.stuck(bound)
			open = false
		}
		w.Mu.Unlock()
		if !open || w.Broken() {
			return
		}
		pause(min(max(time.Until(next), soonest), 10*time.Minute))
		soonest += soonest / 4 // whatever a row says that it wants, the world comes to its end
	}
}

// orders are what people have done to rows.
func (w *world) orders() (all []happening) {
	d := stage.Roll(w.Seed, "orders")
	for range w.plan.orders {
		at, row := time.Duration(d.Unit()*float64(w.length)), d.Below(len(w.rows))
		dice := stage.Roll(w.Seed, "order", at)
		all = append(all, happening{at, func(int) { w.Running.Go(func() { w.order(w.rows[row].ID, dice) }) }})
	}
	return all
}

// order is one order on one row.
func (w *world) order(id outbox.ID, d *stage.Dice) {
	p := w.start("operator", time.Hour)
	person := &person{store: w.table.open(p), process: p}
	operator := outbox.Operator{Store: person, Destinations: w.configured(p), Now: p.Now}
	w.Mu.Lock()
	row, exists := w.table.row(id)
	w.Mu.Unlock()
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
	w.Mu.Lock()
	w.law.ordering(p, o)
	w.Mu.Unlock()
	_, err := operator.Do(p.Ctx, id, o)
	w.Mu.Lock()
	defer w.Mu.Unlock()
	if err != nil {
		w.Note(p.Number, "%s: %v", o.Move, err)
	}
	if errors.Is(err, outbox.ErrConflict) && !person.settled {
		w.Violated("report", "%s of %s is refused without a reason: %v", o.Move, id, err)
	}
	w.law.scan("an operator's error", err)
}

// person reads a row and asks the remote about it, thoroughly, before giving an order about just that
// row; and gives none that would be a lie.
type person struct {
	store
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
	w.Mu.Lock()
	defer w.Mu.Unlock()
	w.remote.catchUp()
	happens := w.remote.willDo(id)
	if lies := p.order.Move == outbox.MarkCompleted && !happens || p.order.Move == outbox.MarkFailed && happens ||
		p.order.NeverArrived && happens; err == nil && lies {
		return outbox.Row{}, errWouldLie
	}
	return row, err
}
