package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/schema"
)

// IngressRetention is for how long a group's ingress queue keeps a message.
const IngressRetention = 4 * day

// MaxInFlight is how many messages of a standard queue can have been received and not deleted
// (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html).
const MaxInFlight = 120_000

// Bounds of groups.
const ()

// Group is a set of consumers that messages are routed to, and how.
type Group struct {
	// Accept says what counts as accepted: "explicit", the consumer says so, or "on_delivery". It has no default:
	// nobody but the owner of the consumers knows.
	Accept string `json:"accept"`
	// AcceptTimeout is for how long a consumer may leave a message unaccepted, 1s to 11h. Defaults to 30s.
	AcceptTimeout Duration `json:"accept_timeout"`
	// Consumers by name. There may be none: others can join at run time.
	Consumers map[string]Consumer `json:"consumers,omitempty"`
	// MaxWait is when a message that nobody accepted is given up, AcceptTimeout to less than [IngressRetention].
	// Defaults to 1h.
	MaxWait Duration `json:"max_wait"`
	// Route has no default.
	Route Route `json:"route"`
}

// Consumer is one member of a group; its messages go to exactly one of SQS and Lambda.
type Consumer struct {
	// SQS is the name or ARN of a standard queue, Lambda that of a function. "" for the other.
	SQS    string `json:"sqs,omitempty"`
	Lambda string `json:"lambda,omitempty"`
	// MaxInFlight is how many messages it may have at once, 1 to 120000. 0, which a file says by saying nothing: as
	// many as come.
	MaxInFlight int64 `json:"max_in_flight,omitempty"`
	// Tags are what it is good at: at most 32, each 1 to 128 bytes, none twice. Defaults to none.
	Tags []string `json:"tags,omitempty"`
	// Weight is its share under a weighted route, 1 to 1000. Defaults to 1.
	Weight int `json:"weight"`
}

// DefaultWeight is the weight of a consumer that names none.
const DefaultWeight = 1

var accepts = map[string]routing.AcceptMode{"explicit": routing.Explicit, "on_delivery": routing.OnDelivery}

// Policy is the group as the domain sees it.
func (g Group) Policy() routing.Policy {
	return routing.Policy{
		Accept:        accepts[g.Accept],
		AcceptTimeout: time.Duration(g.AcceptTimeout),
		MaxWait:       time.Duration(g.MaxWait),
	}
}

// Members are the consumers as the domain sees them, ordered by id.
func (g Group) Members() (all []routing.Consumer) {
	for _, id := range slices.Sorted(maps.Keys(g.Consumers)) {
		c := g.Consumers[id]
		target := schema.TargetSQS + ":" + c.SQS
		if c.Lambda != "" {
			target = schema.TargetLambda + ":" + c.Lambda
		}
		all = append(all, routing.Consumer{ID: id, Target: target, Weight: c.Weight, ConsumerState: routing.ConsumerState{
			MaxInFlight: cmp.Or(c.MaxInFlight, routing.Unlimited), Tags: c.Tags,
		}})
	}
	return all
}

// GroupNames are the names of the groups, sorted.
func (c *Config) GroupNames() []string { return slices.Sorted(maps.Keys(c.Groups)) }

func readGroups(to *map[string]Group) field {
	return func(d *document, path string, n ast.Node) {
		*to = map[string]Group{}
		d.named(path, n, func(name, path string, n ast.Node) {
			g := Group{AcceptTimeout: Duration(routing.DefaultAcceptTimeout), MaxWait: Duration(routing.DefaultMaxWait)}
			d.mapping(path, n, g.fields())
			(*to)[name] = g
		})
	}
}

func (g *Group) fields() map[string]field {
	return map[string]field{
		"accept":         text(&g.Accept),
		"accept_timeout": duration(&g.AcceptTimeout, "s"),
		"consumers":      g.readConsumers,
		"max_wait":       duration(&g.MaxWait, "m"),
		"route":          g.Route.read,
	}
}

func (g *Group) readConsumers(d *document, path string, n ast.Node) {
	g.Consumers = map[string]Consumer{}
	d.named(path, n, func(name, path string, n ast.Node) {
		c := Consumer{Weight: DefaultWeight}
		d.mapping(path, n, c.fields())
		if c.SQS == "" && d.keys[path+".sqs"] != nil {
			c.SQS = unread
		}
		if c.Lambda == "" && d.keys[path+".lambda"] != nil {
			c.Lambda = unread
		}
		g.Consumers[name] = c
	})
}

func (c *Consumer) fields() map[string]field {
	return map[string]field{
		"lambda": text(&c.Lambda),
		"max_in_flight": func(d *document, path string, n ast.Node) {
			integer(&c.MaxInFlight)(d, path, n)
			if bare(n) == "0" {
				d.failf(n, path, "0 would take nothing: write 1 to %d, or leave it out for no limit", MaxInFlight)
			}
		},
		"sqs":    text(&c.SQS),
		"tags":   texts(&c.Tags, "tags, such as [eu, bulky]"),
		"weight": integer(&c.Weight),
	}
}

func (c *checker) group(path, name string, g Group, cfg *Config) {
	c.name(path, name, "a group")
	if _, known := accepts[g.Accept]; !known {
		if g.Accept == "" {
			c.failf(path+".accept", "is missing: does a consumer say that it has a message, or is it enough to have delivered it? Write explicit or on_delivery")
		} else {
			c.failf(path+".accept", "%s is not possible: allowed are explicit, on_delivery", quote(g.Accept))
		}
	}
	c.between(path+".accept_timeout", g.AcceptTimeout, Duration(time.Second), Duration(routing.MaxAcceptTimeout))
	switch {
	case g.MaxWait >= IngressRetention:
		c.failf(path+".max_wait", "%v is too long: less than %v, when the ingress queue forgets the message", g.MaxWait, IngressRetention)
	case g.MaxWait < g.AcceptTimeout:
		c.failf(path+".max_wait", "%v is less than accept_timeout, %v: nobody would have the time to accept", g.MaxWait, g.AcceptTimeout)
	}
	c.route(path+".route", g.Route)
	members := g.Members()
	for i, m := range members {
		at, consumer := path+".consumers."+plain(m.ID), g.Consumers[m.ID]
		c.name(at, m.ID, "a consumer")
		c.consumer(at, consumer, cfg)
		twin := slices.IndexFunc(members[:i], func(other routing.Consumer) bool { return routing.SameTarget(other.Target, m.Target) })
		switch {
		case twin < 0 || consumer.SQS+consumer.Lambda == "":
		case members[twin].Target == m.Target:
			c.failf(at, "has the target of %s: a message that moved on from one would come back to it as the other", members[twin].ID)
		default:
			c.failf(at, "may have the target of %s, and a message that moved on from one would come back to it as the other: if they are two, write the ARN of each", members[twin].ID)
		}
	}
}

func (c *checker) consumer(path string, m Consumer, cfg *Config) {
	switch {
	case (m.SQS == "") == (m.Lambda == ""):
		c.failf(path, "takes exactly one of sqs, lambda: the name or ARN of where its messages go")
	case m.SQS != "":
		c.consumerQueue(path+".sqs", m.SQS, cfg)
	default:
		c.function(path+".lambda", m.Lambda)
	}
	if m.MaxInFlight != 0 {
		c.count(path+".max_in_flight", m.MaxInFlight, MaxInFlight)
	}
	c.count(path+".weight", int64(m.Weight), routing.MaxWeight)
	if len(m.Tags) > routing.MaxTags {
		c.failf(path+".tags", "%d tags are too many: at most %d", len(m.Tags), routing.MaxTags)
	}
	for i, tag := range m.Tags {
		at := path + ".tags." + strconv.Itoa(i)
		if tag == "" || len(tag) > routing.MaxTagBytes {
			c.failf(at, "a tag is 1 to %d bytes long", routing.MaxTagBytes)
		}
		if slices.Contains(m.Tags[:i], tag) {
			c.failf(at, "%s is there twice", clip(tag))
		}
	}
}

func (c *checker) consumerQueue(path, queue string, cfg *Config) {
	switch group := cfg.ingressOf(queue); {
	case !queueName.MatchString(queue):
		c.failf(path, "%s is no queue of SQS: write its name or its ARN", quote(queue))
	case strings.HasSuffix(queue, ".fifo"):
		c.failf(path, "a FIFO queue cannot be a consumer's: a message that returns to it would be swallowed as a repetition, or hold up those behind it")
	case group != "":
		c.failf(path, "is the ingress queue of group %s: its messages would go round in circles", group)
	}
}

// ingressOf is the group whose ingress queue this is, whatever the prefix of the deployment's queues; "" if none's.
func (cfg *Config) ingressOf(queue string) string {
	for _, name := range cfg.GroupNames() {
		if strings.HasSuffix(queue, schema.IngressQueue("", name)) {
			return name
		}
	}
	return ""
}

// name checks what destinations, groups and consumers are called.
func (c *checker) name(path, name, what string) {
	if outbox.ValidateDestination(name) != nil {
		c.failf(path, "%s cannot name %s: 1 to 63 lower-case letters, digits and hyphens, and no hyphen first", quote(name), what)
	}
}

// groupWarnings are about groups that give messages up earlier than they say: each time that a message comes back counts,
// and at nine tenths of what the ingress queue allows it is given up.
func (cfg *Config) groupWarnings() (warnings []string) {
	const returns = routing.DefaultMaxReceives * 9 / 10
	for _, name := range cfg.GroupNames() {
		if g := cfg.Groups[name]; g.MaxWait/g.AcceptTimeout > returns {
			warnings = append(warnings, fmt.Sprintf(
				"groups.%s: a message that nobody accepts may be given up after it came back %d times, which can be %v and not max_wait, %v: a longer accept_timeout or a shorter max_wait is true",
				name, returns, returns*g.AcceptTimeout, g.MaxWait))
		}
	}
	return warnings
}
