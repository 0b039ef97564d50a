package routingsim

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/landfall-dev/landfall/internal/routing"
)

// moving holds a write to what must be so when it is asked for.
func (l *law) moving(i *instance, m routing.Move) {
	l.stage.Events++
	p := i.process
	s, from := p.told.snapshots[m.Group], m.From
	now := i.clock()
	must := func(ok bool, invariant, why string) {
		l.stage.Must(ok, invariant, "process %d: %s of %s, attempt %d: %s", p.actor.Number, m.Kind, m.ID, from.Attempt, why)
	}
	others := slices.DeleteFunc(live(s, m.At), func(id string) bool { return had(s, from, id) })
	must(!m.At.After(now) && !m.At.Before(p.actor.Began.Add(i.skew).Truncate(time.Millisecond)), "schedule",
		"its time is not now")
	if m.Kind == routing.Assign || m.Kind == routing.Reassign {
		l.choosing(p, m, must)
	}
	switch m.Kind {
	case routing.Reassign:
		must(from.State == routing.Pending || from.State == routing.Declined, "I9", "it is "+string(from.State))
		switch m.End {
		case routing.EndLapsed:
			must(!m.Seen.Before(from.Deadline) && from.State == routing.Pending, "schedule", "its deadline has not passed")
			must(!from.OnDelivery, "I9", "it may have been delivered")
			later(i.lapses, lapse{m.Group, from.Consumer}, from.Deadline)
		case routing.EndDeclined:
			must(from.State == routing.Declined, "I9", "no consumer declined")
		case routing.EndRefused, routing.EndErrored:
			kind := map[routing.End]routing.AnswerKind{routing.EndRefused: routing.NotTaken, routing.EndErrored: routing.Failed}[m.End]
			answers, noted := p.told.answers[from.Token], nowhere(from)
			must(noted || len(answers) > 0 && slices.Contains(answers, kind), "I9", "no forward was answered so")
			must(m.End == routing.EndRefused || !from.OnDelivery, "I9", "a function that fails may have done it")
			must(!from.OnDelivery || noted || p.told.wrote[cmp.Or(from.Mark, from.Token)], "I9", "another invocation may have delivered it")
		default:
			must(false, "I9", "it gives no reason")
		}
	case routing.Extend:
		answers := p.told.answers[from.Token]
		switch {
		case m.NotTaken:
			must(slices.ContainsFunc(answers, func(a routing.AnswerKind) bool { return a != routing.NoAnswer && a != routing.Taken }),
				"effort", "no forward was answered so")
			must(!from.OnDelivery || len(answers) == 1 && (answers[0] == routing.NotTaken || answers[0] == routing.NotSent) && !from.Again, "I9", "it may have been delivered")
		case from.OnDelivery:
			must(nowhere(from), "I9", "it may have been delivered")
		default:
			must(!m.At.Before(from.Deadline), "schedule", "its deadline has not passed")
			later(i.lapses, lapse{m.Group, from.Consumer}, from.Deadline)
		}
		must(len(others) == 0 || from.OnDelivery, "effort", fmt.Sprintf("%v are there", others))
		must(slices.Contains(live(s, m.At), from.Consumer) || from.OnDelivery, "effort", from.Consumer+" is not a live member")
		must(m.Deadline.Equal(m.At.Add(s.Policy.AcceptTimeout)), "schedule", "the deadline is another")
	case routing.Accept:
		must(from.OnDelivery && slices.Contains(p.told.answers[from.Token], routing.Taken), "I9", "no consumer took it")
	case routing.Kill:
		l.killing(p, m, others, must)
	}
}

// had reports whether a consumer, or a member behind whose target it is, was given a receipt's message.
func had(s routing.Snapshot, r routing.Receipt, id string) bool {
	one, _ := s.Consumer(id)
	return slices.ContainsFunc(append(r.Tried(), r.Consumer), func(tried string) bool {
		other, there := s.Consumer(tried)
		return tried == id || there && routing.SameTarget(other.Target, one.Target)
	})
}

// nowhere reports whether a receipt of a message that is accepted when it is delivered says that its consumer demonstrably
// does not have it.
func nowhere(r routing.Receipt) bool {
	return r.OnDelivery && !r.Again && r.Extensions == 0 && r.Mark != ""
}

// killing is the giving up of a message.
func (l *law) killing(p *process, m routing.Move, others []string, must func(bool, string, string)) {
	s, from := p.told.snapshots[m.Group], m.From
	waited, received, oversize := false, false, false
	for _, in := range p.told.batch {
		if in.ID == m.ID.Message {
			waited = waited || m.At.Sub(in.SentAt) >= s.Policy.MaxWait
			received = received || in.Receives >= backstop(s.Policy.MaxReceives)
			oversize = oversize || in.AttributeCount > routing.MaxIncomingAttributes
		}
	}
	unknown := from.OnDelivery && from.State == routing.Pending
	const soon = 20 * time.Minute // for whoever is there to be tried, and accepts
	must(l.world.calmSince.IsZero() || time.Since(l.world.calmSince) < soon || len(others) == 0 || oversize || unknown,
		"liveness", fmt.Sprintf("%v would have accepted", others))
	switch m.Reason {
	case routing.ReasonMaxWait:
		must(waited && !unknown, "effort", "it may still wait")
	case routing.ReasonReceiveCount:
		must(received && !unknown, "effort", "its queue does not give it up yet")
	case routing.ReasonDeliveryUnknown:
		must(unknown && (waited || received), "effort", "its delivery is not unknown, or it may still wait")
	case routing.ReasonOversize:
		must(oversize && from.State == "", "effort", "there is room")
	case routing.ReasonNobodyLeft:
		member, there := s.Consumer(from.Consumer)
		gone := !there || !member.LeaseUntil.IsZero() && !m.At.Before(member.LeaseUntil)
		must(len(others) == 0 && from.State != "" && (from.State == routing.Declined || gone), "effort",
			fmt.Sprintf("consumers are left: %v", others))
	default:
		must(false, "I11", "it gives no reason")
	}
}
