package sim

import (
	"errors"
	"net/http"
	"time"

	"github.com/landfall-dev/landfall/internal/clock"
	"github.com/landfall-dev/landfall/internal/lab/sim/stage"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// watched is a process's clock, as it watches it by the answers of the table.
type watched struct {
	watch *clock.Watch
	// off says that the clock is beyond what the promises allow.
	off bool
	// proven is when the last answer arrived that cannot but prove it; zero: none did. It is under the stage's mutex.
	proven time.Time
}

// setClock gives a process its clock: in some worlds, that of some functions is beyond the margin. It has dice of its own. The
// stage's mutex is held.
func (p *process) setClock(d *stage.Dice) {
	p.actor.SetClock(d, p.world.plan.skew)
	own := stage.Roll(p.world.stage.Seed, "clock", p.actor.Number)
	works := p.sends() || p.actor.Kind == "reconciler"
	if works && !p.world.stage.Calm.Load() && own.Chance(p.world.plan.clocksOff) {
		const days = 24 * time.Hour
		p.actor.Skew = stage.Pick(own, 4*time.Second, 50*time.Second, time.Hour, 16*days) * time.Duration(1-2*own.Below(2))
		p.clock.off, p.told.trouble = true, true
	}
	p.clock.watch = &clock.Watch{Now: p.actor.Now}
}

// readsControls is the first answer that a run gets that claims: also in worlds without sayings it has a Date.
func (p *process) readsControls() {
	now := time.Now()
	p.hears(now, now)
	p.world.stage.Mu.Lock()
	defer p.world.stage.Mu.Unlock()
	p.world.law.heardTime(p, now, nil)
}

// hears feeds the watch of a process as DynamoDB would: with the answer, arriving now, of a request that began at a time and
// that the table answered at another, both by the world's clock.
func (p *process) hears(began, wrote time.Time) {
	p.clock.watch.Heard(began.Add(p.actor.Skew), p.actor.Now(), wrote.UTC().Format(http.TimeFormat))
}

// isAnswer reports whether an error, or none, is what the table said, rather than that no answer came.
func isAnswer(err error) bool {
	var refused *outbox.RefusedError
	return err == nil || errors.As(err, &refused) || errors.Is(err, outbox.ErrConflict) || errors.Is(err, outbox.ErrNotFound) || errors.Is(err, outbox.ErrExists)
}

// heardTime is called when a process has an answer of the table to a request that began at a time: it may prove that the
// process's clock is off.
func (l *law) heardTime(p *process, began time.Time, err error) {
	if p.clock.off && isAnswer(err) && p.actor.Skew.Abs() > trusted+dateWidth+time.Since(began) {
		p.clock.proven = time.Now()
	}
}

// mustTrust checks that a process does something by the clock only while no answer has proven that it is off.
func (l *law) mustTrust(p *process, id outbox.ID, what string) {
	since := time.Since(p.clock.proven)
	l.stage.Must(p.clock.proven.IsZero() || since > restsFor, "clock", "%s is %s by process %d, whose clock is off by %v, as an answer proved %v ago",
		id, what, p.actor.Number, p.actor.Skew, since)
}

// worksOn checks that a run stops for its clock only if that is off.
func (l *law) worksOn(p *process, err error) {
	var off *clock.OffError
	if errors.As(err, &off) {
		l.stage.Happened["a clock that is off stopped a run"]++
		l.stage.Must(p.actor.Skew.Abs() > trusted, "clock", "process %d, whose clock is wrong by %v, which is allowed, says %v", p.actor.Number, p.actor.Skew, err)
	}
}
