package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/routing"
)

// SQS is what a destination of kind sqs has besides.
type SQS struct {
	// Queue is a name or an ARN. One that ends in .fifo is a FIFO queue.
	Queue string `json:"sqs"`
	// Base64 says that bodies are the Base64 of payloads, which then need not be text. Defaults to false.
	Base64 bool `json:"base64"`
}

func (s *SQS) fields() map[string]field {
	return map[string]field{"base64": boolean(&s.Base64), "sqs": text(&s.Queue)}
}

// What AWS itself or Landfall knows better than the owner of a destination.
const (
	// DefaultAWSLateArrival is the late_arrival of a destination of AWS's own that names none, nor do the defaults.
	DefaultAWSLateArrival = Duration(time.Minute)
	// GroupWindow is the deduplicates of every destination of kind group: so long a receipt is kept.
	GroupWindow = Window(routing.Retention)
	// GroupRetention is the least retention of a destination of kind group. A new row under the key of an old one
	// would be the old one's message for as long as there is its receipt, whose last write is at most IngressRetention
	// after the row ended, and an accept_timeout.
	GroupRetention = Duration(routing.Retention) + IngressRetention + day
	// fifoWindow: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/FIFO-queues-exactly-once-processing.html.
	fifoWindow = Window(5 * time.Minute)
)

// kinds of destinations in this version, each with the keys that it alone has.
var kinds = []struct {
	kind string
	keys map[string]field
}{
	{"http", new(HTTP).fields()},
	{"sqs", new(SQS).fields()},
	{"group", map[string]field{"group": nil}},
}

// laterKinds are those of versions to come.
var laterKinds = []string{"sns", "eventbridge", "lambda"}

const oneKind = "a destination takes exactly one of http, sqs, group"

// Kind is the name of the destination's kind: "http", "sqs" or "group".
func (d Destination) Kind() string {
	switch {
	case d.SQS != nil:
		return "sqs"
	case d.Group != "":
		return "group"
	}
	return "http"
}

// kindOf is the kind of a destination by the first of its keys that names one; http where none does.
func kindOf(n ast.Node) (kind string, later bool) {
	values, _ := mappingValues(n)
	for _, v := range values {
		name := v.Key.GetToken().Value
		for _, k := range kinds {
			if k.kind == name {
				return name, false
			}
		}
		later = later || slices.Contains(laterKinds, name)
	}
	return "http", later
}

// foreign are the keys of kinds other than this one, with what is wrong about them.
func foreign(kind string) map[string]string {
	keys := map[string]string{}
	for _, other := range kinds {
		for key := range other.keys {
			if other.kind != kind {
				keys[key] = fmt.Sprintf("belongs to destinations of kind %s, and this one is of kind %s: %s", other.kind, kind, oneKind)
			}
		}
	}
	return keys
}

// become makes a destination one of a kind, with the defaults of that kind, and returns the keys that it then has
// besides. lateArrival says that somebody has set it for all.
func (d *Destination) become(kind string, lateArrival bool) map[string]field {
	switch kind {
	case "sqs":
		d.SQS = &SQS{}
		if !lateArrival {
			d.LateArrival = DefaultAWSLateArrival
		}
		return d.SQS.fields()
	case "group":
		d.Deduplicates, d.LateArrival, d.Retention = GroupWindow, IngressRetention, max(d.Retention, GroupRetention)
		return map[string]field{"group": text(&d.Group)}
	}
	d.HTTP = &HTTP{KeyHeader: DefaultKeyHeader, Method: DefaultMethod}
	return d.HTTP.fields()
}

// unreadTarget stands in for a target that is there but could not be read, which is reported already.
func (d *Destination) unreadTarget(kind string) {
	switch {
	case kind == "sqs" && d.Queue == "":
		d.Queue = unread
	case kind == "group" && d.Group == "":
		d.Group = unread
	case kind == "http" && d.URL == "":
		d.URL = "https://unread.invalid"
	}
}

// target checks where a destination's rows go, and what its kind alone has.
func (c *checker) target(path string, d Destination, cfg *Config) {
	switch {
	case (d.HTTP != nil && d.SQS != nil) || d.Group != "" && (d.HTTP != nil || d.SQS != nil):
		c.failf(path, "has keys of several kinds: %s", oneKind)
	case d.SQS != nil && d.Queue != "":
		c.queue(path+".sqs", d.Queue, cfg)
	case d.Group != "":
		c.toGroup(path, d, cfg)
	case d.HTTP != nil && d.URL != "":
		c.http(path, d.HTTP)
	default:
		c.failf(path, "has no target: give it http: and a URL, sqs: and a queue, or group: and a group of this file")
	}
}

func (c *checker) queue(path, queue string, cfg *Config) {
	if !queueName.MatchString(queue) {
		c.failf(path, "%s is no queue of SQS: write its name or its ARN", quote(queue))
	} else if group := cfg.ingressOf(queue); group != "" {
		c.failf(path, "is the ingress queue of group %s: write group: %s, or a row that is sent again would be another message", group, group)
	}
}

func (c *checker) toGroup(path string, d Destination, cfg *Config) {
	if _, known := cfg.Groups[d.Group]; !known {
		names := cfg.GroupNames()
		switch meant := nearest(d.Group, names); {
		case len(names) == 0:
			c.failf(path+".group", "%s is no group of this file: there are none (groups:)", quote(d.Group))
		case meant != "":
			c.failf(path+".group", "%s is no group of this file: %s?", quote(d.Group), meant)
		default:
			c.failf(path+".group", "%s is no group of this file: there are %s", quote(d.Group), clip(strings.Join(names, ", ")))
		}
	}
	if d.Deduplicates != GroupWindow {
		c.failf(path+".deduplicates", "%v is not possible: a group deduplicates for %v, for as long as it keeps receipts; leave it out", d.Deduplicates, GroupWindow)
	}
	if d.LateArrival != IngressRetention {
		c.failf(path+".late_arrival", "%v is not possible: a row can wait in a group's ingress queue for %v; leave it out", d.LateArrival, IngressRetention)
	}
	if d.Retention < GroupRetention {
		c.failf(path+".retention", "%v is too short: while the group has a receipt, a new row under the same key would be the old message; at least %v, or leave it out",
			d.Retention, GroupRetention)
	}
}

// fifoWarning is what to say to who trusts a FIFO queue for longer than it remembers.
func (d Destination) fifoWarning(name string) string {
	w := d.Deduplicates
	if d.SQS == nil || !strings.HasSuffix(d.Queue, ".fifo") || w <= fifoWindow && w != Window(outbox.Always) {
		return ""
	}
	return fmt.Sprintf("destinations.%s: a FIFO queue recognises a repetition for %v: deduplicates %v is true only if who reads the queue sees to it", name, fifoWindow, w)
}
