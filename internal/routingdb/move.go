package routingdb

import (
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/schema"
)

// move adds what [routing.Move.Apply] asks of a receipt, and what it makes of it. It returns false if no
// receipt admits the move; then nothing must be written.
func (w *write) move(m routing.Move) bool {
	if m.From.Token == "" {
		return false
	}
	w.requireIs(schema.Token, text(m.From.Token))
	w.requireIs(schema.Attempt, number(m.From.Attempt))
	switch m.Kind {
	case routing.Reassign:
		if _, err := m.Apply(m.From); err != nil {
			return false
		}
		w.requireUnchanged(m.From)
		w.reassign(m)
	case routing.Extend:
		if m.From.State != routing.Pending {
			return false
		}
		w.requireUnchanged(m.From)
		if extensions := w.name(schema.Extensions); m.NotTaken {
			w.setOrRemove(schema.Extensions, nil)
		} else {
			w.sets = append(w.sets, extensions+" = if_not_exists("+extensions+", "+w.value(number(0))+") + "+w.value(number(1)))
		}
		w.set(schema.Deadline, millis(m.Deadline))
		w.set(schema.Mark, text(m.Token))
	case routing.MarkAgain:
		w.requireIs(schema.State, text(schema.StatePending))
		w.requireFlag(schema.OnDelivery, true)
		w.requireFlag(schema.Again, false) // so that a repetition changes nothing
		w.set(schema.Again, flag(true))
	case routing.Accept:
		w.requireIs(schema.State, text(schema.StatePending))
		w.end(m, schema.StateAccepted)
	case routing.Decline:
		w.requireIs(schema.State, text(schema.StatePending))
		w.requireFlag(schema.OnDelivery, false)
		w.end(m, schema.StateDeclined)
	case routing.Kill:
		w.require(w.name(schema.State) + " IN (" + w.value(text(schema.StatePending)) + ", " + w.value(text(schema.StateDeclined)) + ")")
		w.end(m, schema.StateDead)
		w.set(schema.Mark, text(m.Token))
		w.set(schema.Reason, text(string(m.Reason)))
	default:
		return false
	}
	w.set(schema.ExpiresAt, number(m.At.Add(routing.Retention).Unix()))
	return true
}

// requireUnchanged asks that nothing that the move depends on has changed since the receipt was read.
func (w *write) requireUnchanged(from routing.Receipt) {
	w.requireIs(schema.State, text(string(from.State)))
	w.requireIs(schema.Deadline, millis(from.Deadline))
	w.requireFlag(schema.Again, from.Again)
}

// reassign begins the next attempt. What the last one left behind goes into the history.
func (w *write) reassign(m routing.Move) {
	past := encodePast(routing.Past{
		Consumer: m.From.Consumer, End: m.End, AssignedAt: m.From.AssignedAt, Deadline: m.From.Deadline, EndedAt: m.Seen,
	})
	history := w.name(schema.History)
	w.sets = append(w.sets, history+" = list_append(if_not_exists("+history+", "+w.value(list())+"), "+w.value(list(past))+")")
	w.set(schema.State, text(schema.StatePending))
	w.set(schema.Attempt, number(m.From.Attempt+1))
	w.set(schema.Token, text(m.Token))
	w.set(schema.Consumer, text(m.Consumer))
	w.set(schema.AssignedAt, millis(m.At))
	w.set(schema.Deadline, millis(m.Deadline))
	if m.OnDelivery {
		w.set(schema.OnDelivery, flag(true))
	} else {
		w.setOrRemove(schema.OnDelivery, nil)
	}
	for _, attribute := range []string{schema.Extensions, schema.Again, schema.Mark, schema.EndedAt, schema.Reason} {
		w.setOrRemove(attribute, nil)
	}
}

func (w *write) end(m routing.Move, state string) {
	w.set(schema.State, text(state))
	w.set(schema.EndedAt, millis(m.At))
}
