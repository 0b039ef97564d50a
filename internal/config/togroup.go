package config

import (
	"strings"

	"github.com/landfall-dev/landfall/internal/routing"
)

// ToGroup is what a destination of kind group has besides.
type ToGroup struct {
	// Group is the routing group that rows are handed to.
	Group string `json:"group"`
}

const (
	// GroupWindow is the deduplicates of every destination of kind group: so long a receipt is kept.
	GroupWindow = Window(routing.Retention)
	// GroupRetention is the least retention of a destination of kind group. A new row under the key of an old one
	// would be the old one's message for as long as there is its receipt, whose last write is at most IngressRetention
	// after the row ended, and an accept_timeout.
	GroupRetention = Duration(routing.Retention) + IngressRetention + day
)

var kindGroup = &Kind{
	Name: "group", Address: "a group of this file", Keys: toGroupTable,
	Fixed: map[string]string{"deduplicates": GroupWindow.String(), "late_arrival": IngressRetention.String()},
	defaults: func(settings, fromFile map[string]any) {
		written, _ := fromFile["retention"].(string)
		if d, err := ParseDuration(written, ""); err != nil || d < GroupRetention {
			settings["retention"] = GroupRetention.String()
		}
	},
}

var toGroupTable = &Table{
	Title: "Destinations of kind group",
	Help:  "A row is one message to a routing group of the same file. `deduplicates` is always 15d and `late_arrival` always 4d; `retention` is at least 20d, its default here.",
	Example: `destinations:
  courier-jobs: {group: couriers}
groups:
  couriers: {accept: explicit, route: least_loaded, consumers: {north: {sqs: courier-north}}}
`,
	Keys: []Key{{Name: "group", Type: groupNameType, Required: true, Example: "couriers",
		Help: "The routing group of this file that every row is handed to."}},
}

// groupNameType is a name that some group has, which the check of the destination finds out.
var groupNameType = Type{Want: "the name of a group", Define: nameType.Define, Schema: nameType.Schema}

// Kind is group.
func (g *ToGroup) Kind() *Kind { return kindGroup }

// String is the group's name.
func (g *ToGroup) String() string { return g.Group }

// Names is nil: the queue of a group is the stack's.
func (g *ToGroup) Names() map[string]string { return nil }

func (g *ToGroup) finish(*Destination) {}

func (g *ToGroup) warn(Destination) []string { return nil }

func (g *ToGroup) check(c *checker, path string, d Destination, cfg *Config) {
	if _, known := cfg.Groups[g.Group]; !known && g.Group != "" {
		names := cfg.GroupNames()
		switch meant := Nearest(g.Group, names); {
		case len(names) == 0:
			c.failf(path+".group", "unknown group %s; this file has no groups: add it under groups", Quote(g.Group))
		case meant != "":
			c.failf(path+".group", "unknown group %s; did you mean %s?", Quote(g.Group), meant)
		default:
			c.failf(path+".group", "unknown group %s; this file has %s", Quote(g.Group), Clip(strings.Join(names, ", ")))
		}
	}
	if d.Deduplicates != GroupWindow {
		c.failf(path+".deduplicates", "%v is not allowed: a group deduplicates for %v, as long as it keeps receipts; remove this key", d.Deduplicates, GroupWindow)
	}
	if d.LateArrival != IngressRetention {
		c.failf(path+".late_arrival", "%v is not allowed: a row can wait in a group's ingress queue for %v; remove this key", d.LateArrival, IngressRetention)
	}
	if d.Retention < GroupRetention {
		c.failf(path+".retention", "%v is too short: while the group keeps a receipt, a new row under the same key would be taken for the old message; write at least %v, or remove this key",
			d.Retention, GroupRetention)
	}
}
