package outbox

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Status is where a row stands. Only pending rows are claimed; completed and failed are terminal.
type Status string

// The five statuses, as they are stored.
const (
	StatusPending        Status = "pending"
	StatusDispatching    Status = "dispatching"
	StatusOutcomeUnknown Status = "outcome_unknown"
	StatusCompleted      Status = "completed"
	StatusFailed         Status = "failed"

	// StatusInvalid stands for a stored status that is none of the five, or that contradicts the row's lane. It
	// is never written.
	StatusInvalid Status = "invalid"
)

// Terminal reports whether nothing but retention is left for a row of this status.
func (s Status) Terminal() bool { return s == StatusCompleted || s == StatusFailed }

// Lane is where rows of one destination wait for attention. Lanes are per destination, so that one
// that stalls hides no other, and numbered, so that a busy one can be walked in parallel.
type Lane struct {
	Kind        LaneKind
	Destination string
	Shard       int
}

// LaneKind says what the rows of a lane wait for.
type LaneKind string

// A row is in a due lane while pending or dispatching, in an unknown lane until it is reconciled,
// in a failed lane until it expires, and in none once completed.
const (
	DueLane     LaneKind = "due"
	UnknownLane LaneKind = "unknown"
	FailedLane  LaneKind = "failed"
)

// String is the lane as stored, "<kind>#<destination>#<shard>".
func (l Lane) String() string {
	return string(l.Kind) + "#" + l.Destination + "#" + strconv.Itoa(l.Shard)
}

// as is the lane of another kind with the same destination and shard: rows keep their shard for life.
func (l Lane) as(kind LaneKind) Lane { l.Kind = kind; return l }

// ParseLane reads a stored lane.
func ParseLane(s string) (Lane, error) {
	kind, rest, _ := strings.Cut(s, "#")
	destination, shard, complete := strings.Cut(rest, "#")
	if !complete {
		return Lane{}, errors.New("lane has too few parts, want 3: kind#destination#shard")
	}
	l := Lane{Kind: LaneKind(kind), Destination: destination}
	switch l.Kind {
	case DueLane, UnknownLane, FailedLane:
	default:
		return Lane{}, fmt.Errorf("lane kind %q: want due, unknown or failed", kind)
	}
	if err := ValidateDestination(l.Destination); err != nil {
		return Lane{}, fmt.Errorf("lane: %w", err)
	}
	n, err := strconv.Atoi(shard)
	if err != nil || n < 0 || strconv.Itoa(n) != shard {
		return Lane{}, fmt.Errorf("lane shard %q: want a number from 0", shard)
	}
	l.Shard = n
	return l, nil
}

// Row is one effect to be landed. Times have a resolution of one millisecond; the zero time, the
// empty string and nil mean that the attribute is absent. docs/row-format.md is the public form.
type Row struct {
	ID
	Status Status
	// Lane is zero once the row is completed.
	Lane   Lane
	LaneAt time.Time

	// Payload is the exact bytes to send, after payload_encoding was undone.
	Payload []byte
	// Binary says that the payload is stored as bytes; otherwise it is text.
	Binary      bool
	ContentType string
	Headers     map[string]string

	AttemptCount int
	LookupCount  int
	// Origin is the hash of what the application put; rows of foreign writers may lack it.
	Origin string

	// Token, ClaimedBy, ClaimedAt and Until describe the last claim and outlive it: they fence late
	// answers and tell the reconciler when it may ask. All are zero while the row was never claimed.
	Token     string
	ClaimedBy string
	ClaimedAt time.Time
	Until     time.Time
	// MaybeSince is when the first attempt that may have arrived was claimed; zero: none can have.
	MaybeSince time.Time
	// Window is for how long the remote deduplicates, as configured when the last claim was made.
	Window Window

	Code      string
	RemoteRef string
	CommandID string
	Trace     string

	CreatedAt   time.Time
	CompletedAt time.Time
	DeliverBy   time.Time
	// ExpiresAt has a resolution of one second. Only terminal rows have it.
	ExpiresAt time.Time

	// Resolution is what a person last decided about the row.
	Resolution

	// Unreadable says why the row breaks the row format; nil for a good row. The fields that could be
	// read are filled in all the same. Such a row is ended, never sent.
	Unreadable error
	// Seen is what the store needs to fence a write on exactly what was read, even where that is of
	// the wrong type. It belongs to the store; the domain only hands it back.
	Seen any
}

// Resolution records a person's decision on the row that it is about.
type Resolution struct {
	// ResolvedBy is who decided, as far as the tool knows.
	ResolvedBy string
	ResolvedAt time.Time
	// Reason is what the person gave as such.
	Reason string
	// Forced says that it was too early to know, and that the person insisted.
	Forced bool
}

// Repeats reports whether putting r over stored is the same put again, by an SDK or an application that
// did not hear the answer of the first: then it succeeds and changes nothing. Without an origin nobody
// can tell, and it is a conflict.
func (r Row) Repeats(stored Row) bool { return r.Origin != "" && r.Origin == stored.Origin }

// crashed reports whether the row's last claim was abandoned: the row may be what killed the worker, so it
// is next claimed alone (I8), though the remote may have said meanwhile that nothing arrived.
func (r Row) crashed() bool { return r.Code == CodeClaimAbandoned }

// light is the row without what only sending it needs: enough to examine and to claim it again, whose
// answer brings the rest. A run may have to remember many.
func (r Row) light() Row {
	r.Payload, r.Headers = nil, nil
	return r
}

// MayHaveArrived reports whether any earlier attempt may have reached the remote.
func (r Row) MayHaveArrived() bool { return !r.MaybeSince.IsZero() }

func (r Row) expired(at time.Time) bool { return !r.DeliverBy.IsZero() && !at.Before(r.DeliverBy) }
