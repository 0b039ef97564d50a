package routing

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// ErrNoGroup: the configuration does not have the group.
var ErrNoGroup = errors.New("unknown group")

// Group is a set of consumers, ordered by id, one per id. It is a value that never changes.
type Group struct {
	Name      string
	consumers []Consumer
}

// NewGroup makes a group; of consumers with the same id the last one counts.
func NewGroup(name string, consumers ...Consumer) Group {
	g := Group{Name: name}
	for _, c := range consumers {
		g = g.With(c)
	}
	return g
}

// With is the group with a consumer added, or replaced if there is one of that id.
func (g Group) With(c Consumer) Group {
	c.Tags = slices.Clone(c.Tags)
	i, found := g.search(c.ID)
	consumers := slices.Clone(g.consumers)
	if found {
		consumers[i] = c
	} else {
		consumers = slices.Insert(consumers, i, c)
	}
	return Group{Name: g.Name, consumers: consumers}
}

// Without is the group without the consumer of that id.
func (g Group) Without(id string) Group {
	i, found := g.search(id)
	if !found {
		return g
	}
	return Group{Name: g.Name, consumers: slices.Delete(slices.Clone(g.consumers), i, i+1)}
}

// Consumer is the consumer of that id.
func (g Group) Consumer(id string) (Consumer, bool) {
	i, found := g.search(id)
	if !found {
		return Consumer{}, false
	}
	return g.consumers[i], true
}

// Consumers are the members, ordered by id, live or not.
func (g Group) Consumers() []Consumer { return slices.Clone(g.consumers) }

func (g Group) search(id string) (int, bool) {
	return slices.BinarySearchFunc(g.consumers, id, func(c Consumer, id string) int { return cmp.Compare(c.ID, id) })
}

// membership is the standing of the consumer of that id.
func (g Group) membership(id string, now time.Time) Membership {
	c, found := g.Consumer(id)
	if !found {
		return NoMember
	}
	return c.membership(now)
}

// AcceptMode says what counts as the acceptance of a message.
type AcceptMode int

const (
	// Explicit: the consumer says so, before it works.
	Explicit AcceptMode = iota
	// OnDelivery: that it was forwarded. For consumers that know nothing of Landfall.
	OnDelivery
)

// Policy is the configuration of a group. The zero value of a field other than Accept stands for its default.
type Policy struct {
	// Accept has no default in configurations; here its zero value is Explicit, under which only a
	// consumer accepts a message.
	Accept AcceptMode
	// AcceptTimeout is how long a consumer may leave a message unaccepted. Defaults to 30 s; at most
	// MaxAcceptTimeout.
	AcceptTimeout time.Duration
	// MaxWait is after how long, from when it was sent, a message that is not accepted is dead. Defaults to an
	// hour; it must stay below the ingress queue's retention.
	MaxWait time.Duration
	// MaxReceives is the maxReceiveCount of the ingress queue, beyond which the queue itself gives a message
	// up, without a reason. Defaults to 1000.
	MaxReceives int
}

// Defaults and bounds of [Policy].
const (
	DefaultAcceptTimeout = 30 * time.Second
	DefaultMaxWait       = time.Hour
	DefaultMaxReceives   = 1000
	// MaxAcceptTimeout leaves room within the 12 hours that SQS hides a message at most.
	MaxAcceptTimeout = 11 * time.Hour
)

// WithDefaults replaces zero fields by their defaults.
func (p Policy) WithDefaults() Policy {
	p.AcceptTimeout = cmp.Or(p.AcceptTimeout, DefaultAcceptTimeout)
	p.MaxWait = cmp.Or(p.MaxWait, DefaultMaxWait)
	p.MaxReceives = cmp.Or(p.MaxReceives, DefaultMaxReceives)
	return p
}

// Validate reports what the router cannot work with.
func (p Policy) Validate() error {
	p = p.WithDefaults()
	switch {
	case p.AcceptTimeout < time.Second || p.AcceptTimeout > MaxAcceptTimeout:
		return fmt.Errorf("accept_timeout %v: want 1 s to %v", p.AcceptTimeout, MaxAcceptTimeout)
	case p.MaxWait < p.AcceptTimeout:
		return fmt.Errorf("max_wait %v: want at least accept_timeout, %v", p.MaxWait, p.AcceptTimeout)
	case p.MaxReceives < 10:
		return fmt.Errorf("maxReceiveCount %d: want at least 10", p.MaxReceives)
	}
	return nil
}

// Snapshot is a group as it was read at one time, strongly consistent. It never changes; the next
// snapshot shows joins and leaves.
type Snapshot struct {
	Group
	Policy   Policy
	Function Function
}
