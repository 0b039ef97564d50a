package sim

import (
	"context"
	"errors"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/sim/stage"
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
	s.Mu.Lock()
	a := s.law.sending(s.process, row)
	s.Mu.Unlock()
	if a == nil {
		return outbox.Unknown("", "sim.not_held")
	}
	x := &exchange{call: s.call("send", row.ID, s.rowSlot(row.ID)), ctx: ctx, row: row, odds: s.destination.remote, late: s.destination.late}
	if s.Calm.Load() {
		x.odds = remoteOdds{}
	}
	return x.outcome(a)
}

// outcome is the truth that this exchange tells its process, which may be no more than a panic.
func (x *exchange) outcome(a *attempt) (out outbox.Outcome) {
	defer func() {
		x.Mu.Lock()
		defer x.Mu.Unlock()
		x.law.sent(x.process, a, out)
	}()
	return x.attempt()
}

func (x *exchange) attempt() outbox.Outcome {
	if x.Chance(x.odds.panics / 2) {
		panic("before the request " + secret)
	}
	if !x.depart() {
		return outbox.Retryable("sim.not_sent", 0)
	}
	if x.Chance(x.odds.unreachable) {
		return x.answered(outbox.Retryable("sim.unreachable", 0))
	}
	x.Mu.Lock()
	x.law.departing(x.process, x.row)
	claimed := x.law.attempt(x.row).until.Add(-x.Skew)
	d := &delivery{id: x.row.ID, token: x.row.Token, by: x.process, latest: claimed.Add(x.late), takes: x.Latency(), lag: time.Millisecond}
	way := x.Latency()
	if x.destination().remote.lag {
		d.lag = x.Between(time.Millisecond, x.late+time.Minute)
	}
	x.Mu.Unlock()
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
		x.Mu.Lock()
		x.Note(x.Number, "request for %s under %s leaves, arrives at %v", d.id, stage.Marked(d.token), now.Add(way).Sub(x.world.Begun))
		x.remote.send(d, now.Add(way))
		x.Mu.Unlock()
	}
	if x.poisonous() {
		if x.Chance(0.5) {
			arrive()
		}
		return x.dies()
	}
	switch {
	case x.Chance(x.odds.lost):
		return x.hangs()
	case x.Chance(x.odds.busy):
		d.refuse = true
		arrive()
		return x.answered(outbox.Retryable("sim.busy", stage.Pick(x.Dice, 0, x.Between(time.Second, 2*time.Hour), x.Between(time.Second, time.Minute))))
	case x.Chance(x.odds.reject):
		d.refuse = true
		arrive()
		return x.answered(outbox.Permanent("sim.rejected"))
	case x.Chance(x.odds.fail):
		d.refuse = x.Chance(0.5)
		arrive()
		return x.answered(outbox.Unknown("", "sim.failed"))
	case x.Chance(x.odds.linger): // it works late, and how late nobody hears
		if x.Chance(0.5) {
			d.takes = x.Between(time.Second, x.late+2*time.Minute)
		} else {
			way = x.Between(time.Second, x.late+2*time.Minute)
		}
		arrive()
		return stage.Pick(x.Dice, x.hangs, func() outbox.Outcome { return x.answered(outbox.Unknown(x.maybeRef(d), "sim.cut")) })()
	case x.Chance(x.odds.cut):
		arrive()
		return x.answered(outbox.Unknown(x.maybeRef(d), "sim.cut"))
	case x.Chance(x.odds.hang):
		arrive()
		return x.hangs()
	case x.Chance(x.odds.panics):
		arrive()
		panic("after the request " + secret)
	}
	arrive()
	patience := way + d.takes + x.Latency()
	if x.Chance(x.odds.tardy) {
		patience += x.Between(time.Second, 2*time.Minute)
	}
	return x.hears(d, patience)
}

func (x *exchange) maybeRef(d *delivery) string { return stage.Pick(x.Dice, "", d.ref()) }

func (x *exchange) poisonous() bool { return x.rows[x.rowSlot(x.row.ID)].poison }

// depart is the time between the last check and the moment the request leaves: no process sleeps longer
// than the margin there. It is false if the sender can prove that nothing left.
func (x *exchange) depart() bool {
	wait := x.Between(100*time.Microsecond, 10*time.Millisecond)
	if x.Chance(x.call.Odds.Slow) {
		wait = x.Between(10*time.Millisecond, outbox.SkewMargin-time.Millisecond)
	}
	if stage.SleepUntil(x.ctx, x.Instant(time.Now().Add(wait), x.Slot)) != nil {
		return false
	}
	x.Mu.Lock()
	if x.Chance(x.call.Odds.Crash / 2) {
		x.Die("crashes before a request leaves")
	}
	dead := x.Dead
	x.Mu.Unlock()
	if dead {
		<-x.ctx.Done()
	}
	return !dead
}

// answered is an outcome that the process hears, unless its time is over before.
func (x *exchange) answered(out outbox.Outcome) outbox.Outcome {
	if x.Step(x.ctx) != nil {
		return outbox.Unknown("", "sim.timeout")
	}
	return out
}

func (x *exchange) hangs() outbox.Outcome {
	_ = x.Pass(x.ctx, time.Hour)
	return outbox.Unknown("", "sim.timeout")
}

// dies is a row that kills whoever sends it.
func (x *exchange) dies() outbox.Outcome {
	_ = x.Pass(x.ctx, x.Latency())
	x.Mu.Lock()
	x.Die("is killed by a row")
	x.Mu.Unlock()
	<-x.ctx.Done()
	return outbox.Unknown("", "sim.timeout")
}

// hears waits for the answer to a request that is being worked on. A deaf sender ignores that its time is
// over.
func (x *exchange) hears(d *delivery, after time.Duration) outbox.Outcome {
	ctx := x.ctx
	if x.Chance(x.odds.deaf) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), time.Hour)
		defer cancel()
		x.Running.Add(1)
		defer x.Running.Done()
	}
	if err := x.Pass(ctx, after); err != nil || errors.Is(x.process.Ctx.Err(), context.Canceled) {
		return outbox.Unknown("", "sim.timeout")
	}
	x.Mu.Lock()
	defer x.Mu.Unlock()
	x.remote.catchUp()
	switch {
	case !d.effect.IsZero() && !d.effect.After(time.Now()):
		return outbox.Completed(stage.Pick(x.Dice, "", d.ref()))
	case d.duplicate && len(x.remote.effects[d.id]) > 0:
		return outbox.Completed(d.ref())
	}
	return outbox.Unknown("", "sim.in_progress")
}
