package routingsim

import (
	"fmt"
	"slices"
	"time"

	"github.com/landfall-dev/landfall/internal/routing"
)

// read holds a snapshot to what was said about its group.
func (l *law) read(g *group, s routing.Snapshot) {
	same := func(a, b routing.Consumer) bool {
		return a.ID == b.ID && a.Target == b.Target && a.Weight == b.Weight && a.Draining == b.Draining &&
			a.LeaseUntil.Equal(b.LeaseUntil) && a.MaxInFlight == b.MaxInFlight
	}
	want := g.members().Consumers()
	l.stage.Must(slices.EqualFunc(s.Consumers(), want, same), "group", "%s is read with %s, and has %s", g.plan.name, inShort(s.Consumers()), inShort(want))
	l.stage.Must(s.Policy == g.policy, "group", "%s is read with another policy: %+v", g.plan.name, s.Policy)
	f, made := s.Function.(*function)
	l.stage.Must(made == (g.route != noRoute) && (!made || f.number == g.route), "group", "%s is read with another routing function than %d", g.plan.name, g.route)
}

// mayForward holds a forward to a consumer that was a member when the run began, and that is not draining if the run
// picked it: what the control table says counts for every run that begins later.
func (l *law) mayForward(p *process, f routing.Forward, must func(bool, string, string)) {
	g := l.world.group(f.Message.Group)
	m, there := g.members().Consumer(f.Consumer.ID)
	before := !g.since[f.Consumer.ID].After(p.actor.Began)
	over := there && !m.LeaseUntil.IsZero() && m.LeaseUntil.Add(5*time.Second).Before(p.actor.Began)
	must(!before || there && !over, "choice", "it was no member any more when the run began")
	must(!before || !m.Draining || !p.told.wrote[f.Envelope.Token], "choice", "it was draining already when the run began")
}

func inShort(consumers []routing.Consumer) (text string) {
	for _, c := range consumers {
		text += fmt.Sprintf("%s (draining %t, lease %d, limit %d) ", c.ID, c.Draining, c.LeaseUntil.UnixMilli(), c.MaxInFlight)
	}
	return text
}
