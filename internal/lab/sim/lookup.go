package sim

import (
	"context"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/sim/stage"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// lookup is a process's way to ask a remote.
type lookup struct {
	process     *process
	destination *destination
}

// Look implements [outbox.Lookup]. The remote answers what it sees, which may be behind; it may also not
// know, not answer, or fail.
func (l *lookup) Look(ctx context.Context, row outbox.Row) outbox.Answer {
	w := l.process.world
	c := l.process.call("look", row.ID, w.rowSlot(row.ID))
	w.stage.Mu.Lock()
	w.law.asking(l.process, row)
	w.stage.Mu.Unlock()
	answer := l.answer(ctx, c, row)
	w.stage.Mu.Lock()
	defer w.stage.Mu.Unlock()
	w.law.answered(l.process, row, answer)
	return answer
}

func (l *lookup) answer(ctx context.Context, c *stage.Call, row outbox.Row) outbox.Answer {
	w, undecided := l.process.world, l.destination.remote.undecided
	if w.stage.Calm.Load() {
		undecided = 0
	}
	if c.Chance(undecided / 4) {
		panic("lookup " + secret)
	}
	if c.Step(ctx) != nil {
		return outbox.Answer{Code: "sim.timeout"}
	}
	w.stage.Mu.Lock()
	w.remote.catchUp()
	answer := outbox.Answer{Kind: outbox.AnswerNotFound, Code: "sim.not_found"}
	if d := w.remote.visible(row.ID); d != nil {
		answer = outbox.Answer{Kind: outbox.AnswerCompleted, Ref: stage.Pick(c.Dice, "", d.ref())}
	} else if c.Chance(0.2) {
		answer = outbox.Answer{Kind: outbox.AnswerFailed, Code: "sim.failed"}
	}
	w.stage.Mu.Unlock()
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
