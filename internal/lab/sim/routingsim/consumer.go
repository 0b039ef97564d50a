package routingsim

import (
	"context"
	"errors"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/sim/stage"
	"github.com/landfall-dev/landfall/internal/routing"
)

// delivered is a copy of a message with its consumer.
type delivered struct {
	routing.Envelope
	group    *group
	consumer *consumer
	// explicit: the consumer must accept before it works.
	explicit bool
	source   any
	// handings counts how often its queue handed it out.
	handings int
}

// deliver puts a copy into a consumer's queue, which hands it out after a while, and again if whoever got it died.
func (w *world) deliver(d *delivered, after time.Duration) {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	twice := w.troubled() && stage.Roll(w.Seed, "copy", d.Token, d.handings, w.Events).Chance(d.consumer.odds.twice)
	for range map[bool]int{false: 1, true: 2}[twice] {
		w.handOut(d, after)
		after += time.Second
	}
}

// handOut has a consumer work on a copy after a while. The mutex is held.
func (w *world) handOut(d *delivered, after time.Duration) {
	d.handings++
	p, dice := w.start("consumer", 24*time.Hour, d.consumer.skew)
	w.Running.Go(func() {
		defer p.Kill()
		c := p.call("work", "", 0)
		c.Odds.Pause = 0
		if c.Pass(p.Ctx, after) != nil {
			return
		}
		p.Mu.Lock()
		p.law.took(p, d)
		d.group.works[d.consumer.id]++
		p.Mu.Unlock()
		done := (&work{c, d, dice}).do(p.Ctx)
		p.Mu.Lock()
		defer p.Mu.Unlock()
		d.group.works[d.consumer.id]--
		if !done {
			w.handOut(d, 30*time.Second)
		}
	})
}

// work is what a consumer does about one copy.
type work struct {
	*call
	*delivered
	dice *stage.Dice
}

// do reports whether the copy is done with: worked on, not the consumer's any more, or thrown away.
func (k *work) do(ctx context.Context) (done bool) {
	d, odds := k.dice, k.consumer.odds
	if !k.troubled() {
		odds = consumerOdds{}
	}
	if !k.explicit && !d.Chance(odds.forged) {
		return true // it knows nothing of Landfall
	}
	wait := d.Between(time.Millisecond, time.Second)
	switch {
	case d.Chance(odds.zombie):
		wait = d.Between(time.Second, 20*time.Minute)
	case d.Chance(odds.slow):
		wait = d.Between(time.Second, max(2*time.Second, time.Until(k.Deadline)+10*time.Second))
	}
	if k.Pass(ctx, wait) != nil {
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
		_ = k.Pass(ctx, d.Between(time.Millisecond, time.Minute))
	}
	if d.Chance(odds.forged) { // it makes up what it was not given
		k.forge(ctx, d)
	}
	accepted := k.accept(ctx, d)
	if accepted && d.Chance(odds.waver) {
		k.decline(ctx, d)
	}
	return !k.process.Dead
}

// accept accepts until it is known whether that is granted, and deletes the ingress message then.
func (k *work) accept(ctx context.Context, d *stage.Dice) (granted bool) {
	for ctx.Err() == nil {
		_, err := k.store.Write(ctx, routing.AcceptMove(k.ID, k.Attempt, k.Token, k.process.Now()))
		var refused *routing.RefusedError
		switch {
		case k.process.Dead:
			return false
		case err == nil:
			k.Mu.Lock()
			k.law.granted(k.process, k.delivered)
			k.Mu.Unlock()
			k.shows(ctx, d, func(q *queue) error { return q.delete(k.Number, k.Handle) })
			return true
		case errors.As(err, &refused):
			k.Mu.Lock()
			k.law.refused(k.process, k.delivered)
			k.Mu.Unlock()
			return false
		}
		_ = k.Pass(ctx, d.Between(100*time.Millisecond, 5*time.Second))
	}
	return false
}

// decline declines, once, and shows the ingress message if that is granted.
func (k *work) decline(ctx context.Context, d *stage.Dice) {
	_, err := k.store.Write(ctx, routing.DeclineMove(k.ID, k.Attempt, k.Token, k.process.Now()))
	if err == nil && !k.process.Dead {
		k.Mu.Lock()
		k.Happened["declined"]++
		k.Mu.Unlock()
		k.shows(ctx, d, func(q *queue) error { return q.hold(k.Handle, 0) })
	}
}

// forge accepts the attempt before, or the one after, under the token that it has.
func (k *work) forge(ctx context.Context, d *stage.Dice) {
	attempt := k.Attempt + 1 - 2*d.Below(2)
	_, err := k.store.Write(ctx, routing.AcceptMove(k.ID, attempt, k.Token, k.process.Now()))
	if err == nil && !k.process.Dead {
		k.Mu.Lock()
		k.Violated("I9", "%s: an acceptance of attempt %d is granted under the token of attempt %d", k.ID, attempt, k.Attempt)
		k.Mu.Unlock()
	}
}

// shows does something about the message in the ingress queue, or fails to.
func (k *work) shows(ctx context.Context, d *stage.Dice, do func(q *queue) error) {
	if k.Step(ctx) != nil || d.Chance(k.Odds.Refuse) {
		return
	}
	k.Mu.Lock()
	defer k.Mu.Unlock()
	_ = do(k.queue(k.ID.Group))
}
