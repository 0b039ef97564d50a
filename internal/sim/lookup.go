package sim

import (
	"context"
	"time"

	"github.com/landfall-dev/landfall/internal/outbox"
)

// lookup is a process's way to ask a remote.
type lookup struct {
	*process
	destination *destination
}

// Look implements [outbox.Lookup]. The remote answers what it sees, which may be behind; it may also not
// know, not answer, or fail.
func (l *lookup) Look(ctx context.Context, row outbox.Row) outbox.Answer {
	c := l.call("look", row.ID, l.rowSlot(row.ID))
	l.mu.Lock()
	l.law.asking(l.process, row)
	l.mu.Unlock()
	answer := l.answer(ctx, c, row)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.law.answered(l.process, row, answer)
	return answer
}

func (l *lookup) answer(ctx context.Context, c *call, row outbox.Row) outbox.Answer {
	undecided := l.destination.remote.undecided
	if l.calm.Load() {
		undecided = 0
	}
	if c.chance(undecided / 4) {
		panic("lookup " + secret)
	}
	if c.step(ctx) != nil {
		return outbox.Answer{Code: "sim.timeout"}
	}
	l.mu.Lock()
	l.remote.catchUp()
	answer := outbox.Answer{Kind: outbox.NeverArrived, Code: "sim.not_found"}
	if d := l.remote.visible(row.ID); d != nil {
		answer = outbox.Answer{Kind: outbox.TookEffect, Ref: pick(c.dice, "", d.ref())}
	} else if c.chance(0.2) {
		answer = outbox.Answer{Kind: outbox.HadNoEffect, Code: "sim.failed"}
	}
	l.mu.Unlock()
	switch {
	case c.chance(undecided):
		answer = outbox.Answer{Code: "sim.undecided"}
	case c.chance(undecided / 2):
		_ = c.pass(ctx, time.Hour)
	}
	if c.step(ctx) != nil {
		return outbox.Answer{Code: "sim.timeout"}
	}
	return answer
}
