package outbox

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"time"
)

// Window is for how long a remote deduplicates on the idempotency key, counted from the first
// attempt that may have arrived: [Never], [Always], or a duration of whole seconds.
type Window time.Duration

const (
	// Never: the remote does not deduplicate; an attempt that may have arrived is never repeated.
	Never Window = 0
	// Always: the remote deduplicates for as long as it exists.
	Always Window = -1
)

// Smaller is the shorter of two windows: what both configurations, then and now, vouch for.
func (w Window) Smaller(other Window) Window {
	switch {
	case w == Always:
		return other
	case other == Always:
		return w
	}
	return min(w, other)
}

// Margins of the protocol. They are part of what its model was checked with, not settings.
const (
	// ClaimMargin is how much longer than the send timeout a claim lives: the time to settle in.
	ClaimMargin = 10 * time.Second
	// SkewMargin is by how much clocks may differ, and within how long after the check before it a
	// request leaves.
	SkewMargin = 5 * time.Second
	// MaxSendTimeout bounds the time of one send, so that no claim lives longer than this and ClaimMargin.
	MaxSendTimeout = 10 * time.Minute
	// MaxRetryAfter bounds what a remote may ask for.
	MaxRetryAfter = time.Hour
)

// Policy is the configuration of one destination. The zero value of a field other than Deduplicates
// stands for its default; see [Policy.WithDefaults].
type Policy struct {
	// Attempts is the budget of claims, crashes included. Defaults to 5.
	Attempts int
	Backoff  Backoff
	// Concurrency is how many sends of this destination may be in flight in one run. Defaults to 4.
	Concurrency int
	// Deduplicates has no default in configurations; here its zero value is Never, which is safe.
	Deduplicates Window
	// HeadStart is by how much LaneAt of a row lies behind its time when it is put: for so long the sweep leaves
	// it to the fast path. 0: not at all.
	HeadStart time.Duration
	// LateArrival: a request that has not taken effect this long after its claim's until never
	// will. Defaults to 10 minutes.
	LateArrival time.Duration
	// Retention is how long a terminal row is kept. Defaults to 7 days.
	Retention time.Duration
	// Retired destinations are never claimed; what is certain about their rows is still settled.
	Retired bool
	// SendTimeout bounds one send. Defaults to 30 seconds; at most 10 minutes.
	SendTimeout time.Duration
	// Shards is the number of lanes. It may only grow. Defaults to 1.
	Shards int
}

// Defaults of [Policy].
const (
	DefaultAttempts    = 5
	DefaultConcurrency = 4
	DefaultLateArrival = 10 * time.Minute
	DefaultRetention   = 7 * 24 * time.Hour
	DefaultSendTimeout = 30 * time.Second
	DefaultShards      = 1
)

// WithDefaults replaces zero fields by their defaults.
func (p Policy) WithDefaults() Policy {
	orDefault(&p.Attempts, DefaultAttempts)
	orDefault(&p.Concurrency, DefaultConcurrency)
	orDefault(&p.LateArrival, DefaultLateArrival)
	orDefault(&p.Retention, DefaultRetention)
	orDefault(&p.SendTimeout, DefaultSendTimeout)
	orDefault(&p.Shards, DefaultShards)
	p.Backoff = p.Backoff.WithDefaults()
	return p
}

func orDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// until is when a claim made now ends.
func (p Policy) until(now time.Time) time.Time { return now.Add(p.SendTimeout + ClaimMargin) }

// settledBy is the earliest time at which a remote's "not found" is certain for a claim that
// lived until then.
func (p Policy) settledBy(until time.Time) time.Time { return until.Add(p.LateArrival + SkewMargin) }

// windowHolds reports whether a repetition under a claim that lives until then is certain to be
// recognised by the remote: window is the smaller of what was configured at the last claim and what
// is configured today.
func (p Policy) windowHolds(row Row, until time.Time) bool {
	switch w := row.Window.Smaller(p.Deduplicates); {
	case w == Always:
		return true
	case w <= Never:
		return false
	default:
		return row.MaybeSince.Add(time.Duration(w)).After(p.settledBy(until))
	}
}

// Backoff is the wait between attempts: First x Factor^(attempt-1), at most Max, then jittered by
// up to a tenth either way.
type Backoff struct {
	// First is the wait after the first attempt. Defaults to 1 second.
	First time.Duration
	// Factor is at least 1. Defaults to 4.
	Factor float64
	// Max bounds the wait before jitter. Defaults to 60 seconds.
	Max time.Duration
}

// Defaults of [Backoff].
const (
	DefaultBackoffFirst  = time.Second
	DefaultBackoffFactor = 4
	DefaultBackoffMax    = time.Minute
)

// WithDefaults replaces zero fields by their defaults.
func (b Backoff) WithDefaults() Backoff {
	orDefault(&b.First, DefaultBackoffFirst)
	orDefault(&b.Factor, DefaultBackoffFactor)
	orDefault(&b.Max, DefaultBackoffMax)
	return b
}

// Wait is the wait after the given number of attempts, before jitter. It saturates at Max for every
// number, however large, and treats numbers below 1 as 1.
func (b Backoff) Wait(attempts int) time.Duration {
	wait := float64(b.First) * math.Pow(b.Factor, float64(max(attempts, 1)-1))
	if !(wait < float64(b.Max)) { // also when it is infinite or not a number
		return b.Max
	}
	return time.Duration(wait)
}

// jitter spreads a wait by up to a tenth either way. It is drawn from the row and the number of its
// attempts, so that deciding stays a pure function and rows that met the same trouble still do not come
// back together.
func jitter(wait time.Duration, id ID, attempts int) time.Duration {
	sum := sha256.Sum256(strconv.AppendInt([]byte(id.PK()+"#"), int64(attempts), 10))
	unit := float64(binary.BigEndian.Uint64(sum[:])>>11) / (1 << 53) // in [0, 1)
	return wait + time.Duration(float64(wait)*0.2*(unit-0.5))
}

// Control is what an operator set for a destination at run time, without a deployment.
type Control struct {
	Destination string
	// Paused: nothing is sent there.
	Paused bool
	// MaxConcurrency is how many sends a run may have in flight there, if its policy allows more; 0: as the policy.
	MaxConcurrency int
	// Reason, By and At are those of the last change.
	Reason, By string
	At         time.Time
	// Unreadable says why the stored control cannot be read; nil for a good one.
	Unreadable error
}

// Stops reports whether nothing may be sent to the destination. A control that cannot be read counts as a pause:
// what an operator wanted to stop must not go on.
func (c Control) Stops() bool { return c.Paused || c.Unreadable != nil }

// Controlled are the destinations that a run may send to: those that no control stops, their concurrency lowered to
// its limit. A limit above a destination's own concurrency changes nothing, and so does a control of any other name.
func Controlled(destinations []Destination, controls []Control) []Destination {
	allowed := make([]Destination, 0, len(destinations))
	for _, d := range destinations {
		i := slices.IndexFunc(controls, func(c Control) bool { return c.Destination == d.Name })
		switch {
		case i < 0:
		case controls[i].Stops():
			continue
		case controls[i].MaxConcurrency > 0:
			d.Policy.Concurrency = min(d.Policy.WithDefaults().Concurrency, controls[i].MaxConcurrency)
		}
		allowed = append(allowed, d)
	}
	return allowed
}
