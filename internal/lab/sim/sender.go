package sim

import (
	"context"
	"errors"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/sim/stage"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// sender is a process's way to a remote. Its outcomes are true: a real sender could report them from the answer alone,
// or from its absence.
type sender struct {
	process     *process
	destination *destination
}

// exchange is one request and its outcome.
type exchange struct {
	world       *world
	process     *process
	destination *destination
	call        *stage.Call
	ctx         context.Context
	row         outbox.Row
	odds        remoteOdds
}

// Send implements [outbox.Sender].
func (s *sender) Send(ctx context.Context, row outbox.Row) outbox.Outcome {
	w := s.process.world
	w.stage.Mu.Lock()
	a := w.law.sending(s.process, row)
	w.stage.Mu.Unlock()
	if a == nil {
		return outbox.Unknown("", "sim.not_held")
	}
	x := &exchange{
		world: w, process: s.process, destination: s.destination, call: s.process.call("send", row.ID, w.rowSlot(row.ID)),
		ctx: ctx, row: row, odds: s.destination.remote,
	}
	if w.stage.Calm.Load() {
		x.odds = remoteOdds{}
	}
	return x.outcome(a)
}

// outcome is the truth that this exchange tells its process, which may be no more than a panic.
func (x *exchange) outcome(a *attempt) (out outbox.Outcome) {
	defer func() {
		x.world.stage.Mu.Lock()
		defer x.world.stage.Mu.Unlock()
		x.world.law.sent(x.process, a, out)
	}()
	return x.attempt()
}

func (x *exchange) attempt() outbox.Outcome {
	if x.call.Chance(x.odds.panics / 2) {
		panic("before the request " + secret)
	}
	if !x.depart() {
		return outbox.Retryable("sim.not_sent", 0)
	}
	if x.call.Chance(x.odds.unreachable) {
		return x.answered(outbox.Retryable("sim.unreachable", 0))
	}
	x.world.stage.Mu.Lock()
	x.world.law.departing(x.process, x.row)
	claimed := x.world.law.attempt(x.row).until.Add(-x.process.actor.Skew)
	d := &delivery{id: x.row.ID, token: x.row.Token, by: x.process, latest: claimed.Add(x.destination.late), takes: x.call.Latency(), lag: time.Millisecond}
	way := x.call.Latency()
	if x.destination.remote.lag {
		d.lag = x.call.Between(time.Millisecond, x.destination.late+time.Minute)
	}
	x.world.stage.Mu.Unlock()
	return x.fate(d, way)
}

// fate is what becomes of a request that has left.
func (x *exchange) fate(d *delivery, way time.Duration) outbox.Outcome {
	now := time.Now()
	arrive := func() {
		x.world.stage.Mu.Lock()
		x.world.stage.Note(x.process.actor.Number, "request for %s under %s leaves, arrives at %v", d.id, stage.Marked(d.token), now.Add(way).Sub(x.world.stage.Begun))
		x.world.remote.send(d, now.Add(way))
		x.world.stage.Mu.Unlock()
	}
	if x.poisonous() {
		if x.call.Chance(0.5) {
			arrive()
		}
		return x.dies()
	}
	switch {
	case x.call.Chance(x.odds.lost):
		return x.hangs()
	case x.call.Chance(x.odds.busy):
		d.refuse = true
		arrive()
		return x.answered(outbox.Retryable("sim.busy", stage.Pick(x.call.Dice, 0, x.call.Between(time.Second, 2*time.Hour), x.call.Between(time.Second, time.Minute))))
	case x.call.Chance(x.odds.reject):
		d.refuse = true
		arrive()
		return x.answered(outbox.Permanent("sim.rejected"))
	case x.call.Chance(x.odds.fail):
		d.refuse = x.call.Chance(0.5)
		arrive()
		return x.answered(outbox.Unknown("", "sim.failed"))
	case x.call.Chance(x.odds.linger): // it works late, and no answer says how late
		if x.call.Chance(0.5) {
			d.takes = x.call.Between(time.Second, x.destination.late+2*time.Minute)
		} else {
			way = x.call.Between(time.Second, x.destination.late+2*time.Minute)
		}
		arrive()
		return stage.Pick(x.call.Dice, x.hangs, func() outbox.Outcome { return x.answered(outbox.Unknown(x.maybeRef(d), "sim.cut")) })()
	case x.call.Chance(x.odds.cut):
		arrive()
		return x.answered(outbox.Unknown(x.maybeRef(d), "sim.cut"))
	case x.call.Chance(x.odds.hang):
		arrive()
		return x.hangs()
	case x.call.Chance(x.odds.panics):
		arrive()
		panic("after the request " + secret)
	}
	arrive()
	patience := way + d.takes + x.call.Latency()
	if x.call.Chance(x.odds.tardy) {
		patience += x.call.Between(time.Second, 2*time.Minute)
	}
	return x.hears(d, patience)
}

func (x *exchange) maybeRef(d *delivery) string { return stage.Pick(x.call.Dice, "", d.ref()) }

func (x *exchange) poisonous() bool {
	return x.world.plan.rows[x.world.rowSlot(x.row.ID)].poison
}

// depart is the time between the last check and the moment the request leaves: no process sleeps longer
// than the margin there. It is false if the sender can prove that nothing left.
func (x *exchange) depart() bool {
	wait := x.call.Between(100*time.Microsecond, 10*time.Millisecond)
	if x.call.Chance(x.call.Odds.Slow) {
		wait = x.call.Between(10*time.Millisecond, margin-time.Millisecond)
	}
	if stage.SleepUntil(x.ctx, x.world.stage.Instant(time.Now().Add(wait), x.call.Slot)) != nil {
		return false
	}
	x.world.stage.Mu.Lock()
	if x.call.Chance(x.call.Odds.Crash / 2) {
		x.process.actor.Die("crashes before a request leaves")
	}
	dead := x.process.actor.Dead
	x.world.stage.Mu.Unlock()
	if dead {
		<-x.ctx.Done()
	}
	return !dead
}

// answered is an outcome that reaches the process, unless its deadline passes before.
func (x *exchange) answered(out outbox.Outcome) outbox.Outcome {
	if x.call.Step(x.ctx) != nil {
		return outbox.Unknown("", "sim.timeout")
	}
	return out
}

func (x *exchange) hangs() outbox.Outcome {
	_ = x.call.Pass(x.ctx, time.Hour)
	return outbox.Unknown("", "sim.timeout")
}

// dies is a row that kills whoever sends it.
func (x *exchange) dies() outbox.Outcome {
	_ = x.call.Pass(x.ctx, x.call.Latency())
	x.world.stage.Mu.Lock()
	x.process.actor.Die("is killed by a row")
	x.world.stage.Mu.Unlock()
	<-x.ctx.Done()
	return outbox.Unknown("", "sim.timeout")
}

// hears waits for the answer to a request that is being worked on. A deaf sender ignores that its time is
// over.
func (x *exchange) hears(d *delivery, after time.Duration) outbox.Outcome {
	ctx := x.ctx
	if x.call.Chance(x.odds.deaf) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), time.Hour)
		defer cancel()
		x.world.stage.Running.Add(1)
		defer x.world.stage.Running.Done()
	}
	if err := x.call.Pass(ctx, after); err != nil || errors.Is(x.process.actor.Ctx.Err(), context.Canceled) {
		return outbox.Unknown("", "sim.timeout")
	}
	x.world.stage.Mu.Lock()
	defer x.world.stage.Mu.Unlock()
	x.world.remote.catchUp()
	switch {
	case !d.effect.IsZero() && !d.effect.After(time.Now()):
		return outbox.Completed(stage.Pick(x.call.Dice, "", d.ref()))
	case d.duplicate && len(x.world.remote.effects[d.id]) > 0:
		return outbox.Completed(d.ref())
	}
	return outbox.Unknown("", "sim.in_progress")
}
