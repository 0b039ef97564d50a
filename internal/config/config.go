// Package config reads landfall.yaml, what a person writes, and landfall.json, the same with every default filled
// in, which the build writes and the functions read.
//
// Each kind of mapping has a [Table] that describes its keys. Both files have the same keys, so a resolved configuration
// is also a valid landfall.yaml that resolves to itself. All problems are reported together; see [Error].
//
// The package knows neither AWS nor how anything is sent, and does not look up names. It does not read YAML either, so
// that functions and applications need no YAML parser: that is package yamlconfig.
package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/landfall-dev/landfall/internal/outbox"
)

// MaxBytes bounds a configuration file of either kind.
const MaxBytes = 1 << 20

// Config is a resolved configuration: each field has its value, none stands for a default.
type Config struct {
	// Concurrency is how many sends one run has in flight over all destinations. Defaults to 16.
	Concurrency int `json:"concurrency"`
	// Destinations by name. At least one, unless there is a group.
	Destinations map[string]Destination `json:"destinations"`
	// Groups by name. Defaults to none.
	Groups map[string]Group `json:"groups,omitempty"`
	// LogSuccesses is the share, 0 to 1, of plain successes that get a log line. Defaults to 0.01.
	LogSuccesses float64 `json:"log_successes"`
	// Parallelism is by how many functions at once the lanes are swept. Defaults to 1.
	Parallelism int `json:"parallelism"`
}

// Destination is one place that effects go to, and how.
type Destination struct {
	Settings

	// AllowPrivate lets the URL, and the lookup's, lead to loopback and private addresses. Defaults to false.
	AllowPrivate bool `json:"allow_private"`
	// Deduplicates is for how long the remote recognises a repeated idempotency key. It has no default: only
	// the destination's owner knows. For kind group it is always [GroupWindow].
	Deduplicates Window `json:"deduplicates"`
	// Lookup asks what became of rows whose outcome is not known; nil: a person decides.
	Lookup *Lookup `json:"lookup,omitempty"`
	// Retired destinations are never claimed any more. Defaults to false.
	Retired bool `json:"retired"`

	// Target is where rows go, with what the destination's kind alone has: [*HTTP], [*SQS] or [*ToGroup].
	Target Target `json:"-"`
}

// Settings are the keys that `defaults` and each destination have in common.
type Settings struct {
	// Attempts is the budget of claims, 1 to 1000. Defaults to 5.
	Attempts int     `json:"attempts"`
	Backoff  Backoff `json:"backoff"`
	// Concurrency is how many sends to this destination one run has in flight, 1 to 1000. Defaults to 4.
	Concurrency int `json:"concurrency"`
	// HeadStart is how long the sweep leaves a new row to the fast path, 0 to 1m. Defaults to 5s.
	HeadStart Duration `json:"head_start"`
	// LateArrival: a request without effect so long after its claim's end never has one. 1ms to 30d, defaults to 10m,
	// for kind sqs to 1m; for kind group always [IngressRetention].
	LateArrival Duration `json:"late_arrival"`
	// Retention is how long a terminal row is kept, 1s to 3650d. Defaults to 7d, for kind group to
	// [GroupRetention], which is the least there.
	Retention Duration `json:"retention"`
	// SendTimeout bounds one send, 1ms to 10m. Defaults to 30s.
	SendTimeout Duration `json:"send_timeout"`
	// Shards is the number of lanes, 1 to 1000. It may only grow. Defaults to 1.
	Shards int `json:"shards"`
}

// Backoff is the wait between attempts: First, times Factor after each attempt, at most Max.
type Backoff struct {
	// Factor is 1 to 100. Defaults to 4.
	Factor float64 `json:"factor"`
	// First is 1ms or more. Defaults to 1s.
	First Duration `json:"first"`
	// Max is First to 7d. Defaults to 1m.
	Max Duration `json:"max"`
}

// Defaults of this package; those of single destinations are the domain's.
const (
	DefaultConcurrency  = 16
	DefaultHeadStart    = Duration(5 * time.Second)
	DefaultKeyHeader    = "Idempotency-Key"
	DefaultLogSuccesses = 0.01
	DefaultMethod       = "POST"
	DefaultParallelism  = 1
)

// Policy is the destination as the domain sees it.
func (d Destination) Policy() outbox.Policy {
	return outbox.Policy{
		Attempts: d.Attempts,
		Backoff: outbox.Backoff{
			First:  time.Duration(d.Backoff.First),
			Factor: d.Backoff.Factor,
			Max:    time.Duration(d.Backoff.Max),
		},
		Concurrency:  d.Concurrency,
		Deduplicates: outbox.Window(d.Deduplicates),
		HeadStart:    time.Duration(d.HeadStart),
		LateArrival:  time.Duration(d.LateArrival),
		Retention:    time.Duration(d.Retention),
		Retired:      d.Retired,
		SendTimeout:  time.Duration(d.SendTimeout),
		Shards:       d.Shards,
	}
}

// Names of the destinations, sorted.
func (c *Config) Names() []string { return slices.Sorted(maps.Keys(c.Destinations)) }

// Resolved is landfall.json: every value written out, keys in a fixed order, the same bytes for the same meaning.
func (c *Config) Resolved() ([]byte, error) {
	compact, err := encode(c)
	if err != nil {
		return nil, fmt.Errorf("encode configuration: %w", err)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, compact, "", "  "); err != nil {
		return nil, fmt.Errorf("encode configuration: %w", err)
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}
