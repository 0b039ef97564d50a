package sim

import (
	"context"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/sim/stage"
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
	l.Mu.Lock()
	l.law.asking(l.process, row)
	l.Mu.Unlock()
	answer := l.answer(ctx, c, row)
	l.Mu.Lock()
	defer l.Mu.Unlock()
	l.law.answered(l.process, row, answer)
	return answer
}

func (l *lookup) answer(ctx context.Context, c *call, row outbox.Row) outbox.Answer {
	undecided := l.destination.remote.undecided
	if l.Calm.Load() {
		undecided = 0
	}
	if c.Chance(undecided / 4) {
		panic("lookup " + secret)
	}
	if c.Step(ctx) != nil {
		return outbox.Answer{Code: "sim.timeout"}
	}
	l.Mu.Lock()
	l.remote.catchUp()
	answer := outbox.Answer{Kind: outbox.AnswerNotFound, Code: "sim.not_found"}
	if d := l.remote.visible(row.ID); d != nil {
		answer = outbox.Answer{Kind: outbox.AnswerCompleted, Ref: stage.Pick(c.Dice, "", d.ref())}
	} else if c.Chance(0.2) {
		answer = outbox.Answer{Kind: outbox.AnswerFailed, Code: "sim.failed"}
	}
	l.Mu.Unlock()
	switch {
	case c.Chance(undecided):
		answer = outbox.Answer{Code: "sim.undecided"}
	case c.Chance(undecided / 2):
		_ = c.Pass(ctx, time.Hour)
	}
	if c.Step(ctx) != nil {
		return outbox.Answer{Code: "sim.timeout"}
	}
	return answer
}
