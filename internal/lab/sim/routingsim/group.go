package routingsim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/sim/stage"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/routingdb"
)

// group is a group as it is now: what a deployment gave it, and what was said since, which is in the control table,
// too. All of it is under the stage's mutex.
type group struct {
	world  *routerWorld
	plan   *plannedGroup
	policy routing.Policy
	// configured are the consumers of its configuration, said is what the control table says about consumers.
	configured map[string]bool
	said       map[string]*said
	// since is when what makes a consumer a member last changed.
	since map[string]time.Time
	// hidden is the time until which the configuration lacks the group.
	hidden time.Time
	// swaps counts the routing functions so far, route is the one that routes: 0 is that of the configuration.
	swaps, route int
	// gone are the consumers whose queue was deleted.
	gone map[string]bool
	// works counts what each consumer has taken and not finished.
	works map[string]int64
}

// said is what the control table says about a consumer.
type said struct {
	joined   bool
	draining bool
	lease    time.Time
	limit    int64
	target   string
	// spoilt: another program has written an unreadable item. Then a consumer of the configuration drains, and
	// no other consumer is a member by it.
	spoilt bool
}

// noRoute is a routing function that cannot be made.
const noRoute = -1

func newGroupState(w *routerWorld, planned *plannedGroup) *group {
	g := &group{
		world: w, plan: planned, policy: planned.policy, gone: map[string]bool{}, works: map[string]int64{},
		configured: map[string]bool{}, said: map[string]*said{}, since: map[string]time.Time{},
	}
	for i, c := range planned.consumers {
		if g.configured[c.id] = stage.Roll(w.stage.Seed, "configured", planned.name, c.id).Chance(0.5); !g.configured[c.id] {
			g.join(i, time.Time{}, "")
		}
	}
	return g
}

// member is a consumer as its configuration, or it itself, says that it is.
func (g *group) member(i int) routing.Consumer {
	c := g.plan.consumers[i]
	limit := c.limit
	if !g.world.troubled() {
		limit = routing.Unlimited
	}
	return routing.Consumer{ID: c.id, Target: target(c.id), Weight: 1, ConsumerState: routing.ConsumerState{MaxInFlight: limit}}
}

func target(id string) string { return "sqs:queue-of-" + id }

// members are the consumers that a snapshot must have. Who joined with the target of another gets nothing new: those of
// the configuration come first, the others in their order.
func (g *group) members() routing.Group {
	all := routing.NewGroup(g.plan.name)
	taken := map[string]bool{}
	for _, configured := range []bool{true, false} {
		for i, c := range g.plan.consumers {
			m, s := g.member(i), g.said[c.id]
			switch {
			case g.configured[c.id] != configured || !configured && (s == nil || !s.joined):
				continue
			case configured:
				m.Draining = s != nil && (s.draining || s.spoilt)
			default:
				m.Target, m.LeaseUntil, m.MaxInFlight = s.target, s.lease, s.limit
				m.Draining = s.draining || taken[m.Target]
			}
			all = all.With(m)
			taken[m.Target] = taken[m.Target] || m.LeaseUntil.IsZero() || time.Now().Before(m.LeaseUntil)
		}
	}
	return all
}

// of is what is said about a consumer, to be changed.
func (g *group) of(id string) *said {
	if g.said[id] == nil {
		g.said[id] = &said{}
	}
	return g.said[id]
}

// done panics if a change of the control table failed: nothing happens to its client.
func (g *group) done(err error) {
	if err != nil {
		panic(fmt.Errorf("change group %s: %w", g.plan.name, err))
	}
}

const by = "operator"

// join has a consumer join, with the target of another if one is named.
func (g *group) join(i int, lease time.Time, as string) {
	m := g.member(i)
	m.LeaseUntil = lease
	if as != "" {
		m.Target = target(as)
	}
	g.done(g.world.control.Join(context.Background(), g.plan.name, m, by))
	s := g.of(m.ID)
	s.joined, s.lease, s.limit, s.spoilt, s.target = true, lease, m.MaxInFlight, false, m.Target
}

func (g *group) drain(id string, draining bool) {
	g.done(g.world.control.Drain(context.Background(), g.plan.name, id, draining, by))
	switch s := g.said[id]; {
	case draining:
		g.of(id).draining = true
	case s != nil && s.spoilt:
		delete(g.said, id)
	case s != nil:
		s.draining = false
	}
}

func (g *group) leave(id string) {
	g.done(g.world.control.Leave(context.Background(), g.plan.name, id))
	delete(g.said, id)
}

// renew moves the end of a lease, if the consumer has one.
func (g *group) renew(id string, until time.Time) {
	s, err := g.said[id], g.world.control.Renew(context.Background(), g.plan.name, id, until)
	if s == nil || s.lease.IsZero() {
		g.world.stage.Must(errors.Is(err, routingdb.ErrNoMember), "group", "%s renews a lease that it does not have: %v", id, err)
		return
	}
	g.done(err)
	if until.After(s.lease) {
		s.lease = until
	}
}

func (g *group) setRoute(kind string, route int) {
	g.done(g.world.control.SetRoute(context.Background(), g.plan.name, routingdb.Route{Kind: kind, Argument: fmt.Sprint(g.swaps)}, by))
	g.route = route
}

func (g *group) resetRoute() {
	g.done(g.world.control.ResetRoute(context.Background(), g.plan.name))
	g.route = 0
}

// change applies one planned change to the group.
func (g *group) change(c change) {
	g.world.stage.Events++
	id, before := "", g.members()
	if len(g.plan.consumers) > 0 {
		id = g.plan.consumers[c.consumer].id
	}
	until := time.Now().Add(c.lease).Truncate(time.Millisecond)
	switch c.what {
	case joins:
		g.join(c.consumer, time.Time{}, "")
	case rents:
		g.join(c.consumer, until, "")
	case copies:
		g.join(c.consumer, time.Time{}, g.plan.consumers[0].id)
	case renews:
		g.renew(id, until)
	case leaves:
		g.leave(id)
	case drains, stays:
		g.drain(id, c.what == drains)
	case deploys:
		g.configured[id] = !g.configured[id]
	case spoilsMember:
		g.spoilMember(id)
		g.said[id] = &said{spoilt: true}
	case vanishes, returns:
		g.gone[id] = c.what == vanishes
	case swapsFunction:
		g.swaps++
		g.setRoute(routeKind, g.swaps)
	case namesNoFunction:
		g.setRoute("nonsense", noRoute)
	case spoilsFunction:
		g.spoilRoute()
		g.route = noRoute
	case resetsFunction:
		g.resetRoute()
	case changesPolicy:
		g.policy = c.policy
	case hides:
		g.hidden = until
	}
	for _, c := range g.plan.consumers { // one may be what another was
		was, there := before.Consumer(c.id)
		is, stays := g.members().Consumer(c.id)
		if there != stays || was.Draining != is.Draining || !was.LeaseUntil.Equal(is.LeaseUntil) {
			g.since[c.id] = time.Now()
		}
	}
	g.world.stage.Happened["in a group: "+c.what.String()]++
	if c.what >= swapsFunction {
		id = "all"
	}
	g.world.stage.Note(0, "%s: %v for %s, policy %+v", g.plan.name, c.what, id, g.policy)
}

func (k changeKind) String() string {
	return [...]string{
		"joining", "leaving", "draining", "staying", "renting", "renewing", "copying", "a deployment", "spoiling", "vanishing", "returning",
		"a new function", "a function that is none", "a function that nobody can read", "the function as configured",
		"a new policy", "no such group",
	}[k]
}

// calmDown has every member that is there do as it should.
func (g *group) calmDown() {
	clear(g.gone)
	g.hidden = time.Time{}
	if g.route == noRoute {
		g.resetRoute()
	}
	for i, c := range g.plan.consumers {
		if s := g.said[c.id]; s != nil {
			g.drain(c.id, false)
			if s.joined && (s.lease.IsZero() || s.lease.After(time.Now())) {
				g.join(i, s.lease, "")
			}
		}
	}
}

func (w *routerWorld) group(name string) *group {
	return w.groups[slices.IndexFunc(w.groups, func(g *group) bool { return g.plan.name == name })]
}
