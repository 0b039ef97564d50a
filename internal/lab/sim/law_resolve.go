package sim

import (
	"time"

	"github.com/landfall-dev/landfall/internal/outbox"
)

// settledByLookup is the table of answers.
func (l *law) settledByLookup(o *operation, h *history, before, after outbox.Row) {
	p, now := o.by.policy(o.id().Destination), o.by.actor.Now()
	answer := h.answer[o.by]
	l.mustBeLate(o.by, before, "is resolved")
	l.stage.Must(before.LookupCount == o.settlement.From.LookupCount || after.Status != outbox.StatusOutcomeUnknown, "I2", "%s: another lookup was faster", o)
	l.stage.Must(after.LookupCount == before.LookupCount+1 || after.Status != outbox.StatusOutcomeUnknown && after.LookupCount == o.settlement.From.LookupCount+1,
		"conservation", "%s: the lookup is not counted", o)
	want := map[outbox.AnswerKind]outbox.Status{
		outbox.AnswerCompleted: outbox.StatusCompleted, outbox.AnswerFailed: outbox.StatusFailed,
		outbox.AnswerNotFound: outbox.StatusPending, outbox.AnswerUnresolved: outbox.StatusOutcomeUnknown,
	}[answer.Kind]
	if answer.Kind == outbox.AnswerNotFound {
		h.clear()
		if before.AttemptCount >= p.Attempts || !before.DeliverBy.IsZero() && !now.Before(before.DeliverBy) && after.Status == outbox.StatusFailed {
			want = outbox.StatusFailed
		}
		l.stage.Must(after.Status != outbox.StatusPending || !after.LaneAt.After(now), "schedule", "%s: resent later than now", o)
	}
	l.stage.Must(after.Status == want, "I5", "%s: the remote said %s", o, answer.Kind)
	l.stage.Must(answer.Ref == "" || after.RemoteRef == answer.Ref, "conservation", "%s forgot the remote's reference", o)
	if after.Status == outbox.StatusOutcomeUnknown {
		wait := time.Minute
		for range before.LookupCount {
			wait = min(4*wait, time.Hour)
		}
		const settling = 15 * time.Second
		got := after.LaneAt.Sub(now)
		l.stage.Must(got <= wait && got >= wait-settling-l.delays(o.by), "schedule", "%s: asked again after %v, want %v", o, got, wait)
	}
}

// delays is by how much a write of a process may be late.
func (l *law) delays(p *process) time.Duration {
	return l.world.plan.odds.LongestDelay + l.world.plan.odds.LongestPause
}

// ordering is called when a person gives an order.
func (l *law) ordering(p *process, order outbox.Order) {
	if l.orderOf == nil {
		l.orderOf = map[*process]outbox.Order{}
	}
	l.orderOf[p] = order
	l.stage.Note(p.actor.Number, "orders %s", order.Move)
}

// settledByPerson is the table of orders.
func (l *law) settledByPerson(o *operation, h *history, before, after outbox.Row) {
	order := l.orderOf[o.by]
	l.stage.Must(!h.ordered[o.by], "order", "%s took effect before, and does so again", o)
	h.ordered[o.by] = true
	from, to := outbox.StatusOutcomeUnknown, outbox.StatusPending
	switch order.Move {
	case outbox.MarkCompleted:
		to = outbox.StatusCompleted
	case outbox.MarkFailed:
		to = outbox.StatusFailed
	case outbox.Retry:
		from = outbox.StatusFailed
	case outbox.Cancel:
		from, to = outbox.StatusPending, outbox.StatusFailed
	}
	l.stage.Must(before.Status == from && after.Status == to, "I2", "%s: %s made %s of %s", o, order.Move, after.Status, before.Status)
	if from == outbox.StatusOutcomeUnknown && !order.Force {
		l.mustBeLate(o.by, before, "is resolved by a person")
	} else if from != outbox.StatusOutcomeUnknown {
		l.stage.Must(len(h.suspects()) == 0, "I4", "%s: %s, and an attempt may have arrived", o, order.Move)
	}
	l.stage.Must(order.Move != outbox.Retry || o.settlement.ResolvedAt.Before(before.ExpiresAt), "retention", "%s: its retention is over", o)
	if to == outbox.StatusPending {
		l.stage.Must(after.AttemptCount == 0, "I8", "%s: no new budget", o)
		h.claims = 0
		if order.NeverArrived {
			h.clear()
		} else if len(h.suspects()) > 0 {
			p := o.by.policy(o.id().Destination)
			l.stage.Must(l.recognised(p, h, before, o.settlement.LaneAt.Add(p.SendTimeout+settleTime)), "I4",
				"%s: resent, and the remote may not recognise it", o)
		}
	} else {
		l.stage.Must(after.AttemptCount == before.AttemptCount, "I8", "%s changed the number of attempts", o)
	}
	l.stage.Must(after.ResolvedBy == order.By && after.Reason == order.Reason && !after.ResolvedAt.IsZero() && after.ResolutionID != before.ResolutionID,
		"conservation", "%s: the row does not record its operator, time and reason, and an id of its own", o)
}
