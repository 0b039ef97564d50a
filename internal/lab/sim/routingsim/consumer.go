package routingsim

import (
	"context"
	"errors"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/sim/stage"
	"github.com/landfall-dev/landfall/internal/routing"
)

// consumerCopy is a copy of a message with its consumer.
type consumerCopy struct {
	envelope routing.Envelope
	group    *group
	consumer *consumer
	// explicit: the consumer must accept before it works.
	explicit bool
	source   any
	// handings counts how often its queue handed it out.
	handings int
}

// oddsOf are a consumer's, none once all is calm.
func (w *routerWorld) oddsOf(c *consumer) consumerOdds {
	if !w.troubled() {
		return consumerOdds{}
	}
	return c.odds
}

// deliver puts a copy into a consumer's queue, which hands it out after a while, and again if whoever got it died.
func (w *routerWorld) deliver(d *consumerCopy, after time.Duration) {
	w.stage.Mu.Lock()
	defer w.stage.Mu.Unlock()
	twice := w.troubled() && stage.Roll(w.stage.Seed, "copy", d.envelope.Token, d.handings, w.stage.Events).Chance(d.consumer.odds.twice)
	for range map[bool]int{false: 1, true: 2}[twice] {
		w.handOut(d, after)
		after += time.Second
	}
}

// handOut has a consumer work on a copy after a while. The mutex is held.
func (w *routerWorld) handOut(d *consumerCopy, after time.Duration) {
	d.handings++
	p, dice := w.start("consumer", 24*time.Hour, d.consumer.skew)
	w.stage.Running.Go(func() {
		defer p.actor.Kill()
		c := p.call("work", "", 0)
		c.Odds.Pause = 0
		if c.Pass(p.actor.Ctx, after) != nil {
			return
		}
		w.stage.Mu.Lock()
		w.law.took(p, d)
		d.group.works[d.consumer.id]++
		w.stage.Mu.Unlock()
		done := (&work{w, p, c, d, dice}).do(p.actor.Ctx)
		w.stage.Mu.Lock()
		defer w.stage.Mu.Unlock()
		d.group.works[d.consumer.id]--
		if !done {
			w.handOut(d, 30*time.Second)
		}
	})
}

// work is what a consumer does about one copy.
type work struct {
	world   *routerWorld
	process *process
	call    *stage.Call
	copy    *consumerCopy
	dice    *stage.Dice
}

// do reports whether the copy is done with: worked on, not the consumer's any more, or thrown away.
func (k *work) do(ctx context.Context) (done bool) {
	d, odds := k.dice, k.world.oddsOf(k.copy.consumer)
	if !k.copy.explicit && !d.Chance(odds.forged) {
		return true // it knows nothing of Landfall
	}
	wait := d.Between(time.Millisecond, time.Second)
	switch {
	case d.Chance(odds.zombie):
		wait = d.Between(time.Second, 20*time.Minute)
	case d.Chance(odds.slow):
		wait = d.Between(time.Second, max(2*time.Second, time.Until(k.copy.envelope.Deadline)+10*time.Second))
	}
	if k.call.Pass(ctx, wait) != nil {
		return false
	}
	switch {
	case d.Chance(odds.ignore):
		return true
	case d.Chance(odds.die):
		return false
	case d.Chance(odds.decline):
		k.decline(ctx, d)
		if !d.Chance(odds.waver) {
			return true
		}
		_ = k.call.Pass(ctx, d.Between(time.Millisecond, time.Minute))
	}
	if d.Chance(odds.forged) { // it makes up what it was not given
		k.forge(ctx, d)
	}
	accepted := k.accept(ctx, d)
	if accepted && d.Chance(odds.waver) {
		k.decline(ctx, d)
	}
	return !k.process.actor.Dead
}

// accept accepts until it is known whether that is granted, and deletes the ingress message then.
func (k *work) accept(ctx context.Context, d *stage.Dice) (granted bool) {
	e := k.copy.envelope
	for ctx.Err() == nil {
		_, err := k.process.store.Write(ctx, routing.AcceptMove(e.ID, e.Attempt, e.Token, k.process.actor.Now()))
		var refused *routing.RefusedError
		switch {
		case k.process.actor.Dead:
			return false
		case err == nil:
			k.world.stage.Locked(func() { k.world.law.granted(k.process, k.copy) })
			k.shows(ctx, d, func(q *ingressQueue) error { return q.delete(k.process.actor.Number, e.Handle) })
			return true
		case errors.As(err, &refused):
			k.world.stage.Locked(func() { k.world.law.refused(k.process, k.copy) })
			return false
		}
		_ = k.call.Pass(ctx, d.Between(100*time.Millisecond, 5*time.Second))
	}
	return false
}

// decline declines, once, and shows the ingress message if that is granted.
func (k *work) decline(ctx context.Context, d *stage.Dice) {
	e := k.copy.envelope
	_, err := k.process.store.Write(ctx, routing.DeclineMove(e.ID, e.Attempt, e.Token, k.process.actor.Now()))
	if err == nil && !k.process.actor.Dead {
		k.world.stage.Locked(func() { k.world.stage.Happened["declined"]++ })
		k.shows(ctx, d, func(q *ingressQueue) error { return q.hold(e.Handle, 0) })
	}
}

// forge accepts the attempt before, or the one after, under the token that it has.
func (k *work) forge(ctx context.Context, d *stage.Dice) {
	e := k.copy.envelope
	attempt := e.Attempt + 1 - 2*d.Below(2)
	_, err := k.process.store.Write(ctx, routing.AcceptMove(e.ID, attempt, e.Token, k.process.actor.Now()))
	if err == nil && !k.process.actor.Dead {
		k.world.stage.Mu.Lock()
		k.world.stage.Violated("I9", "%s: an acceptance of attempt %d is granted under the token of attempt %d", e.ID, attempt, e.Attempt)
		k.world.stage.Mu.Unlock()
	}
}

// shows does something about the message in the ingress queue, or fails to.
func (k *work) shows(ctx context.Context, d *stage.Dice, do func(q *ingressQueue) error) {
	if k.call.Step(ctx) != nil || d.Chance(k.call.Odds.Refuse) {
		return
	}
	k.world.stage.Mu.Lock()
	defer k.world.stage.Mu.Unlock()
	_ = do(k.world.queue(k.copy.envelope.ID.Group))
}
