package sim

import (
	"time"

	"github.com/landfall-dev/landfall/internal/lab/sim/stage"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// sending is called when a process calls a sender: right after its last check.
func (l *law) sending(p *process, row outbox.Row) *attempt {
	l.stage.Events++
	l.stage.Note(p.actor.Number, "sends %s under %s", row.ID, stage.Marked(row.Token))
	policy, now := p.policy(row.Destination), p.actor.Now()
	h := l.history(row.ID)
	stored, _ := l.world.table.row(row.ID)
	l.stage.Must(sameRow(stored, row), "I3", "what is sent of %s is not the row as it is stored, claimed", row.ID)
	l.stage.Must(row.Unreadable == nil, "I3", "%s is sent, and it cannot be read", row.ID)
	a := h.find(row.Token)
	if a == nil || a.by != p || row.Status != outbox.StatusDispatching {
		l.stage.Violated("I2", "%s is sent by process %d, which does not hold it", row.ID, p.actor.Number)
		return nil
	}
	a.sends++
	a.sending, a.began = true, time.Now()
	l.stage.Must(a.sends == 1, "I4", "%s is sent %d times under one claim", row.ID, a.sends)
	l.stage.Must(!now.Truncate(time.Millisecond).After(a.at.Add(margin)), "I3", "%s is sent %v after it was claimed", row.ID, now.Sub(a.at))
	deadline, _ := p.actor.Ctx.Deadline()
	l.stage.Must(time.Until(deadline) >= policy.SendTimeout+settleTime/2, "I3", "%s is sent with %v left", row.ID, time.Until(deadline))
	if len(h.suspects()) > 0 {
		l.stage.Happened["sent again though it may have arrived"]++
		l.stage.Must(l.recognised(policy, h, row, row.Until), "I4",
			"%s is sent again, an earlier attempt may have arrived, and the remote may not recognise it", row.ID)
	}
	l.alone(p, row)
	return a
}

// alone checks the bounds of concurrency, and that a row that was taken over is sent alone.
func (l *law) alone(p *process, row outbox.Row) {
	all, here, alone := 0, 0, 0
	for id, h := range l.histories {
		for _, a := range h.attempts {
			if a.by != p || !a.sending {
				continue
			}
			all++
			if id.Destination == row.Destination {
				here++
			}
			if a.alone {
				alone++
			}
		}
	}
	l.stage.Must(alone == 0 || all == 1, "I8", "%s is sent beside another row, and one of them was abandoned before", row.ID)
	l.stage.Must(here <= p.atMost(row.Destination), "concurrency", "%d sends at once to %s", here, row.Destination)
	l.stage.Must(all <= p.config.concurrency, "concurrency", "%d sends at once", all)
}

// departing is called when the request leaves.
func (l *law) departing(p *process, row outbox.Row) {
	l.stage.Events++
	stored, _ := l.world.table.row(row.ID)
	l.stage.Must(stored.Status == outbox.StatusDispatching && stored.Token == row.Token, "I3", "a request for %s leaves, and its claim is over", row.ID)
}

// sent is called when a sender has reported an outcome, or panicked: that is the zero one, unknown.
func (l *law) sent(p *process, a *attempt, out outbox.Outcome) {
	l.stage.Events++
	if a == nil || !a.sending || p.actor.Dead {
		return
	}
	l.stage.Note(p.actor.Number, "hears %s %q of %s", out.Kind, out.Code, stage.Marked(a.token))
	a.sending, a.answer, a.answered = false, &out, p.actor.Now()
}

// settling is called when a process begins to settle: it does not wait for the sender any more.
func (l *law) settling(p *process, s outbox.Settlement) {
	if s.From != nil {
		l.mustBeAllowed(p, s.ID, "ended")
		if s.Status != outbox.StatusCompleted {
			l.mustTrust(p, s.ID, "ended")
		}
	}
	a := l.history(s.ID).find(s.Token)
	if a != nil && a.sends > 0 {
		l.holdsUp(p, s.Destination, a.began)
	}
	if a != nil && a.sending {
		a.sending, a.answered = false, p.actor.Now()
	}
}

// asking is called when a process asks a remote about a row.
func (l *law) asking(p *process, row outbox.Row) {
	l.stage.Events++
	l.stage.Note(p.actor.Number, "asks about %s", row.ID)
	l.mustBeLate(p, row, "is asked about")
	l.mustTrust(p, row.ID, "asked about")
	l.stage.Must(row.Status == outbox.StatusOutcomeUnknown, "I4", "%s is asked about, and it is %s", row.ID, row.Status)
}

// mustBeLate checks that a row, as it was read, is decided only when no attempt can arrive any more. Claims after
// the reading do not count: the decision does not apply to a row that was claimed since.
func (l *law) mustBeLate(p *process, row outbox.Row, what string) {
	for _, a := range l.history(row.ID).attempts {
		if a.verdict == suspect {
			latest := a.until.Add(-a.by.actor.Skew).Add(p.policy(row.Destination).LateArrival)
			l.stage.Must(!time.Now().Before(latest), "I4", "%s %s %v too early", row.ID, what, time.Until(latest))
		}
		if a.token == row.Token {
			return
		}
	}
}

// answered is called when a lookup has answered.
func (l *law) answered(p *process, row outbox.Row, answer outbox.Answer) {
	l.stage.Events++
	if !p.actor.Dead {
		l.stage.Note(p.actor.Number, "is told %s about %s", answer.Kind, row.ID)
		l.history(row.ID).answer[p] = answer
	}
}

// mustHaveLanded checks that a completed row has taken effect.
func (l *law) mustHaveLanded(o *operation) {
	l.world.remote.catchUp()
	l.stage.Must(len(l.world.remote.effects[o.id()]) > 0 || l.orderOf[o.by].Move == outbox.MarkCompleted, "I5", "%s: completed, and it has not taken effect", o)
}

// mustBeAskedInTime checks that a row of unknown outcome is looked at as soon as its remote can be asked, or at its
// next look, and not much later.
func (l *law) mustBeAskedInTime(o *operation, row outbox.Row) {
	p := o.by.policy(row.Destination)
	if o.by.sends() && !row.Until.IsZero() {
		first := row.Until.Add(p.LateArrival + margin)
		l.stage.Must(row.LaneAt.Equal(first), "schedule", "%s: the first look is at %v, want %v", o, row.LaneAt, first)
	}
	latest := o.by.actor.Now().Add(time.Hour)
	for _, end := range []time.Time{row.Until, o.by.actor.Now().Add(p.SendTimeout + settleTime)} {
		if at := end.Add(p.LateArrival + margin); at.After(latest) {
			latest = at
		}
	}
	l.stage.Must(!row.LaneAt.After(latest), "liveness", "%s: the next look is at %v", o, row.LaneAt)
}
