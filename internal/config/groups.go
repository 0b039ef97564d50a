package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/schema"
)

// IngressRetention is for how long a group's ingress queue keeps a message.
const IngressRetention = 4 * day

// MaxInFlight is how many messages of a standard queue can have been received and not deleted
// (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html).
const MaxInFlight = 120_000

// Group is a set of consumers that messages are routed to, and how.
type Group struct {
	// Accept says what counts as accepted: "explicit", the consumer says so, or "on_delivery". It has no default:
	// only the owner of the consumers knows.
	Accept string `json:"accept"`
	// AcceptTimeout is for how long a consumer may leave a message unaccepted, 1s to 11h. Defaults to 30s.
	AcceptTimeout Duration `json:"accept_timeout"`
	// Consumers by name. There may be none: others can join at run time.
	Consumers map[string]Consumer `json:"consumers,omitempty"`
	// MaxWait is when a message that no consumer accepted is given up, AcceptTimeout to less than [IngressRetention].
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

var acceptType = oneOf("explicit", "on_delivery")

var groupTable = &Table{
	Title: "groups", Help: "Sets of consumers that messages are routed to, by name: lower-case letters, digits and hyphens.",
	Example: `groups:
  couriers:
    accept: explicit
    accept_timeout: 45s
    max_wait: 30m
    route: {rendezvous: customer_id}
    consumers:
      north: {sqs: courier-north, tags: [bulky], max_in_flight: 10}
      south: {lambda: courier-south, weight: 3}
`,
	Keys: []Key{
		{Name: "accept", Type: acceptType, Required: true, Example: "explicit",
			Missing: "write explicit (the consumer says that it has the message) or on_delivery (delivery is enough)",
			Help:    "What counts as accepted: that the consumer says so (`explicit`), or that the message was delivered to it (`on_delivery`)."},
		{Name: "accept_timeout", Type: duration("s", Duration(time.Second), Duration(routing.MaxAcceptTimeout)), Default: Duration(routing.DefaultAcceptTimeout).String(), Example: "45s", Help: "How long a consumer may leave a message unaccepted."},
		{Name: "consumers", Type: named(consumerTable), Example: "{north: {sqs: courier-north}}", Help: "The consumers by name. Others can join at run time."},
		{Name: "max_wait", Type: duration("m", 0, 0), Default: Duration(routing.DefaultMaxWait).String(), Example: "30m",
			Help: "When a message that no consumer accepted is given up: at least accept_timeout and less than 4d."},
		{Name: "route", Type: routeType, Required: true, Missing: "write " + orList(Routes()), Example: "{rendezvous: customer_id}",
			Help: "The routing function, which picks the consumer of a message."},
	},
}

var consumerTable = &Table{
	Title: "consumers", Help: "Members of a group. Each has exactly one of `sqs` and `lambda`.",
	Schema: `{"oneOf": [{"required": ["sqs"]}, {"required": ["lambda"]}]}`,
	Keys: []Key{
		{Name: "lambda", Type: functionType, Example: "courier-south", Help: "The function that its messages go to."},
		{Name: "max_in_flight", Type: integer(1, MaxInFlight), Example: "10", Help: "How many messages it may have at once. Without it there is no limit."},
		{Name: "sqs", Type: standardQueue, Example: "courier-north", Help: "The standard queue that its messages go to."},
		{Name: "tags", Type: Type{Form: List, Want: "a list of tags, such as [eu, bulky]", Max: routing.MaxTags, Of: &tagType}, Example: "[eu, bulky]",
			Help: "Words that routing functions choose by."},
		{Name: "weight", Type: integer(1, routing.MaxWeight), Default: DefaultWeight, Example: "3", Help: "Its share under `route: weighted`."},
	},
}

var tagType = bounded("a tag", routing.MaxTagBytes)

var standardQueue = Type{
	Want: "the name or ARN of a standard queue", Define: "standard_queue",
	Schema: `{"description": "The name or ARN of a standard queue.", "pattern": "` + standardQueuePattern + `"}`,
	Check: func(text string) string {
		if wrong := queueType.Check(text); wrong != "" {
			return wrong
		}
		if strings.HasSuffix(text, ".fifo") {
			return "a FIFO queue cannot be a consumer's: it would drop a returning message as a repetition, or block others behind it; write a standard queue"
		}
		return ""
	},
}

func (c *checker) group(path, name string, g Group, cfg *Config) {
	c.text(path, &nameType, name)
	c.keys(path, groupTable, g)
	switch {
	case g.MaxWait >= IngressRetention:
		c.failf(path+".max_wait", "%v is too long; write less than %v, when the ingress queue drops the message", g.MaxWait, IngressRetention)
	case g.MaxWait < g.AcceptTimeout:
		c.failf(path+".max_wait", "%v is less than accept_timeout, %v, so no consumer has time to accept; raise max_wait or lower accept_timeout", g.MaxWait, g.AcceptTimeout)
	}
	c.route(path+".route", g.Route)
	members := g.Members()
	for i, m := range members {
		at, consumer := path+".consumers."+Plain(m.ID), g.Consumers[m.ID]
		c.text(at, &nameType, m.ID)
		c.keys(at, consumerTable, consumer)
		if (consumer.SQS == "") == (consumer.Lambda == "") {
			c.failf(at, "write exactly one of sqs, lambda: the name or ARN of where its messages go")
			continue
		}
		if group := cfg.ingressOf(consumer.SQS); group != "" {
			c.failf(at+".sqs", "this is the ingress queue of group %s, so its messages would go in circles; write another queue", group)
		}
		c.twins(at, m, members[:i])
	}
}

// twins reports a consumer that has, or may have, the target of one before it.
func (c *checker) twins(path string, m routing.Consumer, others []routing.Consumer) {
	for _, other := range others {
		switch {
		case other.Target == m.Target:
			c.failf(path, "consumer %s has the same target, so a message that leaves one would come back to it as the other; write another target", other.ID)
		case routing.SameTarget(other.Target, m.Target):
			c.failf(path, "consumer %s may have the same target, so a message that leaves one could come back to it as the other; write the ARN of each", other.ID)
		default:
			continue
		}
		return
	}
}

// ingressOf is the group whose ingress queue this is, whatever the prefix of the deployment's queues; "" if there is none.
func (cfg *Config) ingressOf(queue string) string {
	for _, name := range cfg.GroupNames() {
		if strings.HasSuffix(queue, schema.IngressQueue("", name)) {
			return name
		}
	}
	return ""
}

// groupWarnings are about groups that give messages up earlier than they say: each time that a message comes back counts,
// and at nine tenths of what the ingress queue allows it is given up.
func (cfg *Config) groupWarnings() (warnings []string) {
	const returns = routing.DefaultMaxReceives * 9 / 10
	for _, name := range cfg.GroupNames() {
		if g := cfg.Groups[name]; g.MaxWait/g.AcceptTimeout > returns {
			warnings = append(warnings, fmt.Sprintf(
				"groups.%s: a message that no consumer accepts may be given up after it came back %d times, which can be after %v instead of max_wait, %v; raise accept_timeout or lower max_wait",
				name, returns, returns*g.AcceptTimeout, g.MaxWait))
		}
	}
	return warnings
}
