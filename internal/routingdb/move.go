package routingdb

import (
	"github.com/landfall-dev/landfall/internal/dynamo"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/schema"
)

// addMove adds the conditions of [routing.Move.Apply] and its changes to a write. It returns false if no receipt admits
// the move; then nothing must be written.
func addMove(w *dynamo.Write, m routing.Move) bool {
	if m.From.Token == "" {
		return false
	}
	w.RequireIs(schema.Token, dynamo.Text(m.From.Token))
	w.RequireIs(schema.Attempt, dynamo.Number(m.From.Attempt))
	switch m.Kind {
	case routing.Reassign:
		if _, err := m.Apply(m.From); err != nil {
			return false
		}
		requireUnchanged(w, m.From)
		reassign(w, m)
	case routing.Extend:
		if m.From.State != routing.Pending {
			return false
		}
		requireUnchanged(w, m.From)
		if m.NotTaken {
			w.SetOrRemove(schema.Extensions, nil)
		} else {
			w.SetTo(schema.Extensions, "if_not_exists(", schema.Extensions, ", ", w.Value(dynamo.Number(0)), ") + ", w.Value(dynamo.Number(1)))
		}
		w.Set(schema.Deadline, dynamo.Millis(m.Deadline))
		w.Set(schema.Mark, dynamo.Text(m.Token))
	case routing.MarkAgain:
		w.RequireIs(schema.State, dynamo.Text(schema.StatePending))
		w.RequireFlag(schema.OnDelivery, true)
		w.RequireFlag(schema.Again, false) // so that a repetition changes nothing
		w.Set(schema.Again, dynamo.Flag(true))
	case routing.Accept:
		w.RequireIs(schema.State, dynamo.Text(schema.StatePending))
		end(w, m, schema.StateAccepted)
	case routing.Decline:
		w.RequireIs(schema.State, dynamo.Text(schema.StatePending))
		w.RequireFlag(schema.OnDelivery, false)
		end(w, m, schema.StateDeclined)
	case routing.Kill:
		w.Require(w.Name(schema.State), " IN (", w.Value(dynamo.Text(schema.StatePending)), ", ", w.Value(dynamo.Text(schema.StateDeclined)), ")")
		end(w, m, schema.StateDead)
		w.Set(schema.Mark, dynamo.Text(m.Token))
		w.Set(schema.Reason, dynamo.Text(string(m.Reason)))
	default:
		return false
	}
	w.Set(schema.ExpiresAt, dynamo.Number(m.At.Add(routing.Retention).Unix()))
	return true
}

// requireUnchanged asks that nothing that the move depends on has changed since the receipt was read.
func requireUnchanged(w *dynamo.Write, from routing.Receipt) {
	w.RequireIs(schema.State, dynamo.Text(string(from.State)))
	w.RequireFlag(schema.Again, from.Again)
	if mark := dynamo.Text(from.Mark); from.Mark == "" {
		w.RequireIsOrAbsent(schema.Mark, mark)
	} else {
		w.RequireIs(schema.Mark, mark)
	}
}

// reassign begins the next attempt. What the last one left behind goes into the history.
func reassign(w *dynamo.Write, m routing.Move) {
	past := encodePast(routing.Past{
		Consumer: m.From.Consumer, End: m.End, AssignedAt: m.From.AssignedAt, Deadline: m.From.Deadline, EndedAt: m.Seen,
	})
	w.SetTo(schema.History, "list_append(if_not_exists(", schema.History, ", ", w.Value(dynamo.List()), "), ", w.Value(dynamo.List(past)), ")")
	w.Set(schema.State, dynamo.Text(schema.StatePending))
	w.Set(schema.Attempt, dynamo.Number(m.From.Attempt+1))
	w.Set(schema.Token, dynamo.Text(m.Token))
	w.Set(schema.Consumer, dynamo.Text(m.Consumer))
	w.Set(schema.AssignedAt, dynamo.Millis(m.At))
	w.Set(schema.Deadline, dynamo.Millis(m.Deadline))
	if m.OnDelivery {
		w.Set(schema.OnDelivery, dynamo.Flag(true))
	} else {
		w.SetOrRemove(schema.OnDelivery, nil)
	}
	for _, attribute := range []string{schema.Extensions, schema.Again, schema.Mark, schema.EndedAt, schema.Reason} {
		w.SetOrRemove(attribute, nil)
	}
}

func end(w *dynamo.Write, m routing.Move, state string) {
	w.Set(schema.State, dynamo.Text(state))
	w.Set(schema.EndedAt, dynamo.Millis(m.At))
}
