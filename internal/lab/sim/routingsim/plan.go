package routingsim

import (
	"fmt"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/sim/stage"
	"github.com/landfall-dev/landfall/internal/routing"
)

// plan is what a seed decides before its world begins. The rest is decided call by call.
type plan struct {
	// length of the time in which things go wrong. Afterwards nothing does, and all must come to its end.
	length time.Duration
	odds   stage.Odds
	skew   time.Duration // a clock is wrong by up to so much either way
	// timeout is an invocation's, of which the router is told a second less.
	timeout time.Duration
	groups  []plannedGroup
	sends   []send
	spoils  []spoil
}

// plannedGroup is a group and its queue.
type plannedGroup struct {
	name       string
	policy     routing.Policy
	visibility time.Duration // of the queue
	batch      int           // messages an invocation is given at most
	pollers    int           // invocations at once
	// deletes: the router itself deletes what has come to its end; otherwise its invoker does.
	deletes bool
	// uncounted: the queue does not say how often it handed a message out.
	uncounted bool
	consumers []consumer
	function  functionOdds
	ingress   queueOdds
	changes   []change
}

// consumer is a member, at some time, of a group.
type consumer struct {
	id string
	// function consumers are called, the others are behind a queue.
	function bool
	limit    int64
	skew     time.Duration
	odds     consumerOdds
}

// consumerOdds are those of what it does about a copy, and of what becomes of forwards to it.
type consumerOdds struct {
	slow, zombie, decline, waver, ignore, die, twice, fail, forged float64
	unreachable, lie, lost                                         float64
}

// functionOdds are those of a routing function, per question.
type functionOdds struct{ panics, hangs, deaf, unknown, tried, nobody, fails, meddles float64 }

// queueOdds are those of an ingress queue: of handing a message out twice, of keeping a batch waiting before the
// router is invoked, of not invoking it at all, of handing out again what was deleted, of honouring an old handle.
type queueOdds struct{ double, wait, throttle, ghost, old float64 }

// change is a change of a group in mid-run.
type change struct {
	at time.Duration
	// what is done, to a consumer if it is about one.
	what     changeKind
	consumer int
	policy   routing.Policy
	lease    time.Duration
}

type changeKind int

const (
	joins changeKind = iota
	leaves
	drains
	stays // it drains no more
	rents // it is a member until its lease ends, unless it renews
	renews
	copies       // it joins with the target of another
	deploys      // it is one of the configuration, or is not any more
	spoilsMember // another program writes an unreadable item about it
	vanishes
	returns
	swapsFunction
	namesNoFunction
	spoilsFunction
	resetsFunction
	changesPolicy
	hides // the configuration lacks the group for a while
	changeKinds
)

// send is a message that is put into the ingress queue of a group.
type send struct {
	group int
	id    string
	at    time.Duration
	// oversize leaves no room for the envelope.
	oversize bool
}

// of is the id of its message.
func (s send) of(p plan) routing.ID { return routing.ID{Group: p.groups[s.group].name, Message: s.id} }

// spoil is another program that writes a receipt of broken form.
type spoil struct {
	at   time.Duration
	send int
	how  int
}

// secret is in everything that must not reach a log line, a metric or an error text.
const secret = "s3cr3t"

func newPlan(seed uint64) plan {
	d := stage.Roll(seed, "plan")
	p := plan{length: d.Seconds(3*time.Minute, 25*time.Minute), odds: stage.NewOdds(d), timeout: d.Seconds(30*time.Second, 2*time.Minute)}
	p.odds.Crash, p.odds.Pause = p.odds.Crash/2, p.odds.Pause/4 // a batch makes many calls
	p.odds.LongestPause = min(p.odds.LongestPause, 10*time.Minute)
	if d.Chance(0.7) {
		p.skew = 2500 * time.Millisecond
	}
	for i := range 1 + d.Below(2) {
		p.groups = append(p.groups, newGroup(d, p, i))
	}
	if d.Chance(0.15) {
		p.hurry(d)
	}
	for i := range 3 + d.Below(10) {
		s := send{group: d.Below(len(p.groups)), id: fmt.Sprint("m", i), at: d.Between(time.Second, p.length/2), oversize: d.Chance(0.03)}
		p.sends = append(p.sends, s)
		if d.Chance(0.15) { // the outbox sends again what it did not hear of
			s.at += d.Between(time.Millisecond, 5*time.Minute)
			p.sends = append(p.sends, s)
		}
	}
	if d := stage.Roll(seed, "spoils"); d.Chance(0.3) {
		for range 1 + d.Below(4) {
			i := d.Below(len(p.sends))
			p.spoils = append(p.spoils, spoil{p.sends[i].at + d.Between(10*time.Millisecond, 5*time.Minute), i, d.Below(spoilKinds)})
		}
	}
	return p
}

// hurry makes a world in which several invocations have the same message all the time, and each is slow: what must be
// told apart then are attempts that an unknown invocation forwarded, and messages that are accepted while they are
// given up.
func (p *plan) hurry(d *stage.Dice) {
	p.odds.Slow, p.odds.LongestAnswer = 0.9, 10*time.Second
	for i := range p.groups {
		g := &p.groups[i]
		g.visibility, g.pollers, g.batch, g.ingress.double, g.changes = 2*time.Second, 4, 1+d.Below(3), 0.7, nil
		g.policy.Accept = stage.Pick(d, routing.Explicit, routing.OnDelivery)
		g.policy.AcceptTimeout, g.policy.MaxWait = d.Seconds(time.Second, 10*time.Second), d.Seconds(10*time.Second, time.Minute)
		for j := range g.consumers {
			c := &g.consumers[j]
			c.limit, c.function = routing.Unlimited, false
			c.odds.slow, c.odds.zombie, c.odds.ignore, c.odds.unreachable, c.odds.forged = 0.8, 0, 0.1, 0.6*d.Unit(), 0.5
		}
	}
}

func newGroup(d *stage.Dice, p plan, i int) plannedGroup {
	g := plannedGroup{
		name: fmt.Sprint("g", i), policy: newPolicy(d), visibility: d.Seconds(2*time.Second, 6*time.Minute),
		batch: 1 + d.Below(10), pollers: 1 + d.Below(4), deletes: d.Chance(0.5),
		function: functionOdds{
			panics: stage.Some(d, 0.2), hangs: stage.Some(d, 0.2), deaf: stage.Some(d, 0.1), unknown: stage.Some(d, 0.3),
			tried: stage.Some(d, 0.3), nobody: stage.Some(d, 0.3), fails: stage.Some(d, 0.2), meddles: stage.Some(d, 0.5),
		},
		ingress: queueOdds{
			double: stage.Some(d, 0.3), wait: stage.Some(d, 0.3), throttle: stage.Some(d, 0.4), ghost: stage.Some(d, 0.4), old: d.Unit(),
		},
	}
	g.uncounted = stage.Roll(uint64(*d), "uncounted").Chance(0.1)
	for c := range stage.Pick(d, 0, 1, 2, 3, 3, 4, 5, 6) {
		g.consumers = append(g.consumers, newConsumer(d, p, c))
	}
	for range d.Below(8) {
		c := change{
			at: d.Between(time.Second, p.length), what: changeKind(d.Below(int(changeKinds))), policy: newPolicy(d),
			lease: d.Seconds(5*time.Second, 10*time.Minute),
		}
		c.policy.MaxReceives = g.policy.MaxReceives // that is the queue's
		if len(g.consumers) > 0 {
			c.consumer = d.Below(len(g.consumers))
		} else if c.what < swapsFunction {
			continue
		}
		g.changes = append(g.changes, c)
	}
	return g
}

// quiet is the plan without what goes wrong.
func (p plan) quiet() plan {
	p.odds, p.skew, p.timeout, p.spoils = stage.Odds{}, 0, time.Minute, nil
	for i := range p.groups {
		g := &p.groups[i]
		g.function, g.ingress, g.changes = functionOdds{}, queueOdds{}, nil
		g.policy.Accept, g.policy.MaxWait, g.policy.MaxReceives, g.visibility = routing.Explicit, 10*time.Minute, 1000, 6*time.Minute
		for j := range g.consumers {
			c := &g.consumers[j]
			c.skew, c.limit, c.function = 0, routing.Unlimited, false
			c.odds = consumerOdds{slow: c.odds.slow, zombie: c.odds.zombie, decline: c.odds.decline, ignore: c.odds.ignore}
		}
	}
	return p
}

func newPolicy(d *stage.Dice) routing.Policy {
	p := routing.Policy{
		AcceptTimeout: d.Between(time.Second, 3*time.Minute).Round(100 * time.Millisecond),
		MaxReceives:   stage.Pick(d, 10, 20, 50, 1000, 1000, 1000),
	}
	p.MaxWait = max(p.AcceptTimeout, d.Seconds(30*time.Second, time.Hour))
	if d.Chance(0.3) {
		p.Accept = routing.OnDelivery
	}
	return p
}

func newConsumer(d *stage.Dice, p plan, i int) consumer {
	c := consumer{
		id: string(rune('a' + i)), function: d.Chance(0.25), limit: stage.Pick(d, int64(routing.Unlimited), 0, 1, 3, 10),
		odds: consumerOdds{
			slow: stage.Some(d, 0.8), zombie: stage.Some(d, 0.6), decline: stage.Some(d, 0.5), waver: stage.Some(d, 0.3),
			ignore: stage.Some(d, 0.6), die: stage.Some(d, 0.3), twice: stage.Some(d, 0.4), fail: stage.Some(d, 0.5),
			forged: stage.Some(d, 0.4), unreachable: stage.Some(d, 0.3), lie: stage.Some(d, 0.3), lost: stage.Some(d, 0.4),
		},
	}
	c.skew = d.Skew(p.skew)
	return c
}
