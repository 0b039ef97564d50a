package sim

import (
	"context"
	"errors"
	"time"

	"github.com/landfall-dev/landfall/internal/outbox"
)

// sender is a process's way to a remote. What it reports is true: it is what a sender may say that knows
// no more than the answer, or that none came.
type sender struct {
	*process
	destination *destination
}

// exchange is one request and what comes of it.
type exchange struct {
	*call
	ctx  context.Context
	row  outbox.Row
	odds remoteOdds
	late time.Duration
}

// Send implements [outbox.Sender].
func (s *sender) Send(ctx context.Context, row outbox.Row) outbox.Outcome {
	s.mu.Lock()
	a := s.law.sending(s.process, row)
	s.mu.Unlock()
	if a == nil {
		return outbox.Unknown("", "sim.not_held")
	}
	x := &exchange{call: s.call("send", row.ID, s.rowSlot(row.ID)), ctx: ctx, row: row, odds: s.destination.remote, late: s.destination.late}
	if s.calm.Load() {
		x.odds = remoteOdds{}
	}
	return x.outcome(a)
}

// outcome is the truth that this exchange tells its process, which may be no more than a panic.
func (x *exchange) outcome(a *attempt) (out outbox.Outcome) {
	defer func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.law.sent(x.process, a, out)
	}()
	return x.attempt()
}

func (x *exchange) attempt() outbox.Outcome {
	if x.chance(x.odds.panics / 2) {
		panic("before the request " + secret)
	}
	if !x.depart() {
		return outbox.Retryable("sim.not_sent", 0)
	}
	if x.chance(x.odds.unreachable) {
		return x.answered(outbox.Retryable("sim.unreachable", 0))
	}
	x.mu.Lock()
	x.law.departing(x.process, x.row)
	claimed := x.law.attempt(x.row).until.Add(-x.skew)
	d := &delivery{id: x.row.ID, token: x.row.Token, by: x.process, latest: claimed.Add(x.late), takes: x.latency(), lag: time.Millisecond}
	way := x.latency()
	if x.destination().remote.lag {
		d.lag = x.between(time.Millisecond, x.late+time.Minute)
	}
	x.mu.Unlock()
	return x.fate(d, way)
}

func (x *exchange) destination() *destination {
	for i := range x.destinations {
		if x.destinations[i].name == x.row.Destination {
			return &x.destinations[i]
		}
	}
	return nil
}

// fate is what becomes of a request that has left.
func (x *exchange) fate(d *delivery, way time.Duration) outbox.Outcome {
	now := time.Now()
	arrive := func() {
		x.mu.Lock()
		x.note(x.number, "request for %s under %s leaves, arrives at %v", d.id, marked(d.token), now.Add(way).Sub(x.world.begun))
		x.remote.send(d, now.Add(way))
		x.mu.Unlock()
	}
	if x.poisonous() {
		if x.chance(0.5) {
			arrive()
		}
		return x.dies()
	}
	switch {
	case x.chance(x.odds.lost):
		return x.hangs()
	case x.chance(x.odds.busy):
		d.refuse = true
		arrive()
		return x.answered(outbox.Retryable("sim.busy", pick(x.dice, 0, x.between(time.Second, 2*time.Hour), x.between(time.Second, time.Minute))))
	case x.chance(x.odds.reject):
		d.refuse = true
		arrive()
		return x.answered(outbox.Permanent("sim.rejected"))
	case x.chance(x.odds.fail):
		d.refuse = x.chance(0.5)
		arrive()
		return x.answered(outbox.Unknown("", "sim.failed"))
	case x.chance(x.odds.linger): // it works late, and how late nobody hears
		if x.chance(0.5) {
			d.takes = x.between(time.Second, x.late+2*time.Minute)
		} else {
			way = x.between(time.Second, x.late+2*time.Minute)
		}
		arrive()
		return pick(x.dice, x.hangs, func() outbox.Outcome { return x.answered(outbox.Unknown(x.maybeRef(d), "sim.cut")) })()
	case x.chance(x.odds.cut):
		arrive()
		return x.answered(outbox.Unknown(x.maybeRef(d), "sim.cut"))
	case x.chance(x.odds.hang):
		arrive()
		return x.hangs()
	case x.chance(x.odds.panics):
		arrive()
		panic("after the request " + secret)
	}
	arrive()
	patience := way + d.takes + x.latency()
	if x.chance(x.odds.tardy) {
		patience += x.between(time.Second, 2*time.Minute)
	}
	return x.hears(d, patience)
}

func (x *exchange) maybeRef(d *delivery) string { return pick(x.dice, "", d.ref()) }

func (x *exchange) poisonous() bool { return x.rows[x.rowSlot(x.row.ID)].poison }

// depart is the time between the last check and the moment the request leaves: no process sleeps longer
// than the margin there. It is false if the sender can prove that nothing left.
func (x *exchange) depart() bool {
	wait := x.between(100*time.Microsecond, 10*time.Millisecond)
	if x.chance(x.call.odds.slow) {
		wait = x.between(10*time.Millisecond, outbox.SkewMargin-time.Millisecond)
	}
	if sleepUntil(x.ctx, x.instant(time.Now().Add(wait), x.slot)) != nil {
		return false
	}
	x.mu.Lock()
	if x.chance(x.call.odds.crash / 2) {
		x.die("crashes before a request leaves")
	}
	dead := x.dead
	x.mu.Unlock()
	if dead {
		<-x.ctx.Done()
	}
	return !dead
}

// answered is an outcome that the process hears, unless its time is over before.
func (x *exchange) answered(out outbox.Outcome) outbox.Outcome {
	if x.step(x.ctx) != nil {
		return outbox.Unknown("", "sim.timeout")
	}
	return out
}

func (x *exchange) hangs() outbox.Outcome {
	_ = x.pass(x.ctx, time.Hour)
	return outbox.Unknown("", "sim.timeout")
}

// dies is a row that kills whoever sends it.
func (x *exchange) dies() outbox.Outcome {
	_ = x.pass(x.ctx, x.latency())
	x.mu.Lock()
	x.die("is killed by a row")
	x.mu.Unlock()
	<-x.ctx.Done()
	return outbox.Unknown("", "sim.timeout")
}

// hears waits for the answer to a request that is being worked on. A deaf sender ignores that its time is
// over.
func (x *exchange) hears(d *delivery, after time.Duration) outbox.Outcome {
	ctx := x.ctx
	if x.chance(x.odds.deaf) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), time.Hour)
		defer cancel()
		x.running.Add(1)
		defer x.running.Done()
	}
	if err := x.pass(ctx, after); err != nil || errors.Is(x.process.ctx.Err(), context.Canceled) {
		return outbox.Unknown("", "sim.timeout")
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.remote.catchUp()
	switch {
	case !d.effect.IsZero() && !d.effect.After(time.Now()):
		return outbox.Completed(pick(x.dice, "", d.ref()))
	case d.duplicate && len(x.remote.effects[d.id]) > 0:
		return outbox.Completed(d.ref())
	}
	return outbox.Unknown("", "sim.in_progress")
}
