package sim

import (
	"time"

	"github.com/landfall-dev/landfall/internal/lab/sim/stage"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// sending is called when a process calls a sender: right after its last check.
func (l *law) sending(p *process, row outbox.Row) *attempt {
	l.Events++
	l.Note(p.Number, "sends %s under %s", row.ID, stage.Marked(row.Token))
	policy, now := p.policy(row.Destination), p.Now()
	h := l.history(row.ID)
	stored, _ := l.table.row(row.ID)
	l.Must(sameRow(stored, row), "I3", "what is sent of %s is not the row as it is stored, claimed", row.ID)
	l.Must(row.Unreadable == nil, "I3", "%s is sent, and it cannot be read", row.ID)
	a := h.find(row.Token)
	if a == nil || a.by != p || row.Status != outbox.StatusDispatching {
		l.Violated("I2", "%s is sent by process %d, which does not hold it", row.ID, p.Number)
		return nil
	}
	a.sends++
	a.sending, a.began = true, time.Now()
	l.Must(a.sends == 1, "I4", "%s is sent %d times under one claim", row.ID, a.sends)
	l.Must(!now.Truncate(time.Millisecond).After(a.at.Add(outbox.SkewMargin)), "I3", "%s is sent %v after it was claimed", row.ID, now.Sub(a.at))
	deadline, _ := p.Ctx.Deadline()
	l.Must(time.Until(deadline) >= policy.SendTimeout+outbox.ClaimMargin/2, "I3", "%s is sent with %v left", row.ID, time.Until(deadline))
	if len(h.suspects()) > 0 {
		l.Happened["sent again though it may have arrived"]++
		l.Must(l.recognised(policy, h, row, row.Until), "I4",
			"%s is sent again, an earlier attempt may have arrived, and the remote may not recognise it", row.ID)
	}
	l.alone(p, a, row)
	return a
}

// alone holds concurrency to its bounds, and what was taken over to be sent alone.
func (l *law) alone(p *process, sent *attempt, row outbox.Row) {
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
	l.Must(alone == 0 || all == 1, "I8", "%s is sent beside another row, and one of them was abandoned before", row.ID)
	l.Must(here <= p.atMost(row.Destination), "concurrency", "%d sends at once to %s", here, row.Destination)
	l.Must(all <= p.config.concurrency, "concurrency", "%d sends at once", all)
}

// departing is called when the request leaves.
func (l *law) departing(p *process, row outbox.Row) {
	l.Events++
	stored, _ := l.table.row(row.ID)
	l.Must(stored.Status == outbox.StatusDispatching && stored.Token == row.Token, "I3", "a request for %s leaves, and its claim is over", row.ID)
}

// sent is called when a sender has reported an outcome, or panicked: that is the zero one, unknown.
func (l *law) sent(p *process, a *attempt, out outbox.Outcome) {
	l.Events++
	if a == nil || !a.sending || p.Dead {
		return
	}
	l.Note(p.Number, "hears %s %q of %s", out.Kind, out.Code, stage.Marked(a.token))
	a.sending, a.answer, a.answered = false, &out, p.Now()
}

// settling is called when a process begins to settle: it does not wait for the sender any more.
func (l *law) settling(p *process, s outbox.Settlement) {
	if s.From != nil {
		l.mustBeAllowed(p, s.ID, "ended")
	}
	a := l.history(s.ID).find(s.Token)
	if a != nil && a.sends > 0 {
		l.holdsUp(p, s.Destination, a.began)
	}
	if a != nil && a.sending {
		a.sending, a.answered = false, p.Now()
	}
}

// asking is called when a process asks a remote about a row.
func (l *law) asking(p *process, row outbox.Row) {
	l.Events++
	l.Note(p.Number, "asks about %s", row.ID)
	l.mustBeLate(p, row, "is asked about")
	l.Must(row.Status == outbox.StatusOutcomeUnknown, "I4", "%s is asked about, and it is %s", row.ID, row.Status)
}

// mustBeLate holds a final word on a row, as it was read, to come when nothing can arrive any more. What
// was claimed after it was read is not the word's business: it does not apply to such a row.
func (l *law) mustBeLate(p *process, row outbox.Row, what string) {
	for _, a := range l.history(row.ID).attempts {
		if a.verdict == suspect {
			latest := a.until.Add(-a.by.Skew).Add(p.policy(row.Destination).LateArrival)
			l.Must(!time.Now().Before(latest), "I4", "%s %s %v too early", row.ID, what, time.Until(latest))
		}
		if a.token == row.Token {
			return
		}
	}
}

// answered is called when a lookup has answered.
func (l *law) answered(p *process, row outbox.Row, answer outbox.Answer) {
	l.Events++
	if !p.Dead {
		l.Note(p.Number, "is told %s about %s", answer.Kind, row.ID)
		l.history(row.ID).answer[p] = answer
	}
}

// mustHaveLanded holds a completed row to have taken effect.
func (l *law) mustHaveLanded(o *operation) {
	l.remote.catchUp()
	l.Must(len(l.remote.effects[o.id()]) > 0 || l.orderOf[o.by].Move == outbox.MarkCompleted, "I5", "%s: completed, and it has not taken effect", o)
}

// mustBeAskedInTime holds a row of unknown outcome to be looked at when its remote can be asked, or at its
// next look, and not much later.
func (l *law) mustBeAskedInTime(o *operation, row outbox.Row) {
	p := o.by.policy(row.Destination)
	if o.by.sends() && !row.Until.IsZero() {
		first := row.Until.Add(p.LateArrival + outbox.SkewMargin)
		l.Must(row.LaneAt.Equal(first), "schedule", "%s: the first look is at %v, want %v", o, row.LaneAt, first)
	}
	latest := o.by.Now().Add(time.Hour)
	for _, end := range []time.Time{row.Until, o.by.Now().Add(p.SendTimeout + outbox.ClaimMargin)} {
		if at := end.Add(p.LateArrival + outbox.SkewMargin); at.After(latest) {
			latest = at
		}
	}
	l.Must(!row.LaneAt.After(latest), "liveness", "%s: the next look is at %v", o, row.LaneAt)
}
