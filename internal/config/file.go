package config

import (
	"time"

	"github.com/landfall-dev/landfall/internal/outbox"
)

// Bounds of values. Where AWS gives the number, the page stands beside it.
const (
	minDuration = Duration(time.Millisecond)
	// maxSendTimeout leaves room for claiming and settling before Lambda ends a function at 15 minutes
	// (https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html).
	maxSendTimeout = Duration(10 * time.Minute)
	maxHeadStart   = Duration(time.Minute) // a sweep later, the fast path has had its chance
	maxLateArrival = 30 * day
	maxBackoff     = 7 * day
	maxFactor      = 100
	minRetention   = Duration(time.Second) // the table's TTL counts seconds
	maxRetention   = 3650 * day
	maxAttempts    = 1000
	// maxConcurrency is what Lambda's 1,024 file descriptors allow for at one connection per send (same page).
	maxConcurrency = 1000
	maxShards      = 1000 // each costs a query per sweep
	// maxParallelism is 20 rules of five targets, out of an event bus's 100 to 300 rules
	// (https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-quota.html).
	maxParallelism = 100
)

// File is the table of landfall.yaml as a whole.
var File = &Table{
	Title: "landfall.yaml", Help: "The keys at the top of the file. It needs at least one destination or one group.",
	Example: `concurrency: 32
defaults: {send_timeout: 10s}
destinations:
  charge: {http: https://api.example.com/charges, deduplicates: 24h}
`,
	Schema: `{"anyOf": [
		{"required": ["destinations"], "properties": {"destinations": {"minProperties": 1}}},
		{"required": ["groups"], "properties": {"groups": {"minProperties": 1}}}]}`,
	Keys: []Key{
		{Name: "concurrency", Type: integer(1, maxConcurrency), Default: DefaultConcurrency, Example: "32",
			Help: "How many sends one run has in flight over all destinations."},
		{Name: "defaults", Type: mapping(settingsTable), Example: "{send_timeout: 10s}", Help: "Settings of every destination that does not have its own."},
		{Name: "destinations", Type: named(destinationTable), Example: "{charge: {http: https://api.example.com/charges, deduplicates: 24h}}",
			Help: "Where rows go, by name: lower-case letters, digits and hyphens."},
		{Name: "groups", Type: named(groupTable), Example: "{couriers: {accept: explicit, route: least_loaded}}",
			Help: "Sets of consumers that messages are routed to, by name."},
		{Name: "log_successes", Type: number(0, 1), Default: DefaultLogSuccesses, Example: "0.1",
			Help: "The share of plain successes that get a log line."},
		{Name: "parallelism", Type: integer(1, maxParallelism), Default: DefaultParallelism, Example: "3",
			Help: "By how many functions at once the lanes are swept."},
	},
}

var policy = outbox.Policy{}.WithDefaults()

var settingsTable = &Table{
	Title: "defaults", Help: "Settings that `defaults` and each destination can have.",
	Example: `defaults:
  attempts: 8
  backoff: {first: 2s, factor: 3, max: 5m}
  retention: 30d
destinations:
  charge: {http: https://api.example.com/charges, deduplicates: 24h, attempts: 3}
`,
	Keys: []Key{
		{Name: "attempts", Type: integer(1, maxAttempts), Default: policy.Attempts, Example: "8", Help: "How often a row is claimed at most."},
		{Name: "backoff", Type: mapping(backoffTable), Default: true, Example: "{first: 2s, factor: 3, max: 5m}", Help: "The wait between attempts."},
		{Name: "concurrency", Type: integer(1, maxConcurrency), Default: policy.Concurrency, Example: "8",
			Help: "How many sends to one destination one run has in flight."},
		{Name: "head_start", Type: duration("s", 0, maxHeadStart), Default: DefaultHeadStart.String(), Example: "10s",
			Help: "How long the sweep leaves a new row to the fast path."},
		{Name: "late_arrival", Type: duration("m", minDuration, maxLateArrival), Default: Duration(policy.LateArrival).String(), Example: "5m",
			Help: "A request that has had no effect so long after its claim never will have one. If a lookup sees effects late, add that lag. Kind sqs defaults to 1m."},
		{Name: "retention", Type: duration("d", minRetention, maxRetention), Default: Duration(policy.Retention).String(), Example: "30d",
			Help: "How long a row is kept after it has ended."},
		{Name: "send_timeout", Type: duration("s", minDuration, maxSendTimeout), Default: Duration(policy.SendTimeout).String(), Example: "10s",
			Why: "Lambda ends a function after 15m, and the send must be settled by then", Help: "When a send is given up."},
		{Name: "shards", Type: integer(1, maxShards), Default: policy.Shards, Example: "4",
			Help: "The number of lanes. It may grow, and must never shrink."},
	},
}

var backoffTable = &Table{
	Title: "backoff", Help: "The wait between attempts: `first`, multiplied by `factor` after each attempt, at most `max`.",
	Keys: []Key{
		{Name: "factor", Type: number(1, maxFactor), Default: policy.Backoff.Factor, Example: "3", Help: "What the wait is multiplied by after each attempt."},
		{Name: "first", Type: duration("s", minDuration, maxBackoff), Default: Duration(policy.Backoff.First).String(), Example: "2s", Help: "The first wait."},
		{Name: "max", Type: duration("s", minDuration, maxBackoff), Default: Duration(policy.Backoff.Max).String(), Example: "5m", Help: "The longest wait, at least `first`."},
	},
}

// destinationTable has the keys of all destinations; those of a kind come from [Kind].
var destinationTable = &Table{
	Title: "destinations", Kinds: kinds,
	Help: "Each destination has exactly one of `http`, `sqs` and `group`, which is its kind, and the settings of `defaults`. These keys are common to all kinds.",
	Example: `destinations:
  charge:
    http: https://api.example.com/charges
    deduplicates: 24h
    send_timeout: 10s
  old-mail: {http: https://mail.example.com, deduplicates: never, retired: true}
`,
	Keys: sorted(settingsTable.Keys, []Key{
		{Name: "allow_private", Type: boolean, Default: false, Example: "true", Help: "Let URLs lead to loopback and private addresses. Link-local and metadata addresses stay out of reach."},
		{Name: "deduplicates", Type: windowType, Required: true, Example: "24h",
			Missing: "write never, always or a duration, such as 24h: how long this destination recognises a repeated idempotency key",
			Help:    "How long the remote recognises a repeated idempotency key: never, always, or a duration of whole seconds, at most 3650d. Kind group has 15d."},
		{Name: "lookup", Type: mapping(lookupTable), Example: "{lambda: ledger-lookup}",
			Help: "How to ask what became of a row whose outcome is not known."},
		{Name: "retired", Type: boolean, Default: false, Example: "true", Help: "Rows of this destination are no longer claimed."},
	}),
}

// destination checks one destination.
func (c *checker) destination(path, name string, d Destination, cfg *Config) {
	c.text(path, &nameType, name)
	c.keys(path, destinationTable, d)
	c.backoff(path+".backoff", d.Backoff)
	if d.Lookup != nil {
		c.lookup(path+".lookup", *d.Lookup)
	}
	c.keys(path, d.Target.Kind().Keys, d.Target)
	d.Target.check(c, path, d, cfg)
}

func (c *checker) backoff(path string, b Backoff) {
	if b.Max < b.First {
		c.failf(path+".max", "%v is less than the first wait, %v; raise max or lower first", b.Max, b.First)
	}
}
