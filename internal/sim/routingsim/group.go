package routingsim

import (
	"context"
	"slices"
	"time"

	"github.com/landfall-dev/landfall/internal/routing"
)

// group is a group as it is now. All of it is under the stage's mutex.
type group struct {
	*world
	*plannedGroup
	snapshot routing.Snapshot
	// swaps counts the routing functions so far.
	swaps int
	// gone are the consumers whose queue is no more.
	gone map[string]bool
	// works counts what each consumer has taken and not finished.
	works map[string]int64
}

func newGroupState(w *world, planned *plannedGroup) *group {
	g := &group{world: w, plannedGroup: planned, gone: map[string]bool{}, works: map[string]int64{}}
	g.snapshot = routing.Snapshot{Group: routing.NewGroup(planned.name), Policy: planned.policy}
	for i := range planned.consumers {
		g.snapshot.Group = g.snapshot.With(g.member(i))
	}
	return g
}

// member is a consumer as it joins.
func (g *group) member(i int) routing.Consumer {
	c := g.consumers[i]
	return routing.Consumer{ID: c.id, Target: "queue of " + c.id, ConsumerState: routing.ConsumerState{MaxInFlight: c.limit}}
}

// change is what somebody does to the group.
func (g *group) change(c change) {
	g.Events++
	var m routing.Consumer
	there := false
	if len(g.consumers) > 0 {
		if m, there = g.snapshot.Consumer(g.consumers[c.consumer].id); !there {
			m = g.member(c.consumer)
		}
	}
	switch c.what {
	case joins, stays:
		m.Draining, m.LeaseUntil = false, time.Time{}
	case drains:
		m.Draining = true
	case rents:
		m.LeaseUntil = time.Now().Add(c.lease)
	case leaves:
		g.snapshot.Group = g.snapshot.Without(m.ID)
	case vanishes, returns:
		g.gone[m.ID] = c.what == vanishes
	case swapsFunction:
		g.swaps++
	case changesPolicy:
		g.snapshot.Policy = c.policy
	}
	if c.what == joins || there && (c.what == stays || c.what == drains || c.what == rents) {
		g.snapshot.Group = g.snapshot.With(m)
	}
	g.Note(0, "%s: %v of %s, policy %+v", g.name, c.what, m.ID, g.snapshot.Policy)
}

func (k changeKind) String() string {
	return [...]string{"joining", "leaving", "draining", "staying", "renting", "vanishing", "returning", "a new function, not", "a new policy, not"}[k]
}

// calmDown has every member that is there do as it should.
func (g *group) calmDown() {
	clear(g.gone)
	for _, m := range g.snapshot.Consumers() {
		m.Draining = false
		m.MaxInFlight = routing.Unlimited
		g.snapshot.Group = g.snapshot.With(m)
	}
}

// now is the group as it is now, with what its consumers have in flight, for a process.
func (g *group) now(i *instance) routing.Snapshot {
	s := g.snapshot
	for _, m := range s.Consumers() {
		m.CurrentInFlight = g.works[m.ID]
		s.Group = s.With(m)
	}
	s.Function = &function{instance: i, process: i.process, group: g, number: g.swaps}
	return s
}

func (w *world) group(name string) *group {
	return w.groups[slices.IndexFunc(w.groups, func(g *group) bool { return g.name == name })]
}

// groupsPort is the groups as one instance reads them.
type groupsPort struct{ *instance }

// Snapshot implements [routing.Groups].
func (g *groupsPort) Snapshot(ctx context.Context, name string) (routing.Snapshot, error) {
	p := g.process
	s, err := reads(ctx, p.call("group", name, 0), "group "+name, func() (routing.Snapshot, error) {
		return g.group(name).now(g.instance), nil
	})
	g.Mu.Lock()
	defer g.Mu.Unlock()
	if err != nil {
		p.told.trouble = true
		return routing.Snapshot{}, err
	}
	p.told.snapshots[name] = s
	return s, nil
}
