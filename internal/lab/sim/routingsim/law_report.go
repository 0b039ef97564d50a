package routingsim

import (
	"errors"
	"slices"
	"strings"

	"github.com/landfall-dev/landfall/internal/routing"
)

// misled reports whether a routing function named a consumer for a message that was not a candidate.
func (t *told) misled(id routing.ID) bool {
	for key, picks := range t.picks {
		for _, pick := range picks {
			if strings.HasPrefix(key, id.Message+" ") && !slices.Contains(t.candidates[key], pick) {
				return true
			}
		}
	}
	return false
}

// routed holds a report to what the invocation has been told.
func (l *law) routed(i *instance, batch []routing.Incoming, handled []routing.Handled) {
	p := i.process
	t := &p.told
	l.stage.Must(len(handled) == len(batch), "report", "process %d was given %d messages and reports %d", p.actor.Number, len(batch), len(handled))
	reroutes := map[routing.ID]int{}
	for n, h := range handled {
		in := batch[n]
		l.scan("a reported error", h.Err)
		id := routing.ID{Group: in.Group, Message: in.ID}
		m := in.Source.(*message)
		says := func(ok bool, what string, said any) {
			l.stage.Must(ok, "report", "process %d about %s, message %d: %s %v", p.actor.Number, id, m.number, what, said)
		}
		says(h.ID == id, "it speaks of", h.ID)
		says(h.Kept != t.deleted[in.Handle], "kept", h.Kept)
		says(h.Forwards == t.forwards[in.Handle], "forwards", h.Forwards)
		says(h.Kept || l.record(id).ended(), "not kept, and not ended", h.Receipt.State)
		_, tried := t.deleted[in.Handle]
		says(!t.buried[in.Handle] || tried, "it is buried, and not deleted; kept", h.Kept)
		says(h.Receipt.State != routing.Accepted || tried || h.GivenBack, "it is accepted, and not deleted; kept", h.Kept)
		var unknown *routing.UnknownConsumerSelectedError
		says(!errors.As(h.Err, &unknown) || t.misled(id), "every named consumer was a candidate, and it reports", h.Err)
		reroutes[id] += len(h.Reroutes)
		if !t.trouble && h.Err == nil && !h.GivenBack {
			m.routed = max(m.routed, in.Receives)
		}
		l.stage.Note(p.actor.Number, "is done with %s: kept %t, held %v, %v", in.ID, h.Kept, h.Held, h.Err)
	}
	for _, a := range t.late {
		if a.end == "" {
			a.missed++
		}
	}
	for id, n := range reroutes {
		l.stage.Must(n == t.reroutes[id], "report", "process %d reports %d reroutes of %s, not %d", p.actor.Number, n, id,
			t.reroutes[id])
	}
}
