package outbox

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// MaxKeyBytes bounds an idempotency key, in bytes of UTF-8. With the longest destination and the
// separator it stays below the 2,048 bytes that DynamoDB allows a partition key.
const MaxKeyBytes = 512

// MaxDestinationBytes bounds the name of a destination.
const MaxDestinationBytes = 63

// InvalidDestination stands in the name of a row whose destination cannot be one.
const InvalidDestination = "invalid"

// ID names a row: at most one exists per destination and idempotency key while it is retained.
//
// The key belongs to the application and may be personal, so an ID formats and logs itself as
// "<destination>/<first 16 hex digits of SHA-256(pk)>"; only [ID.PK] yields the key.
type ID struct {
	Destination string
	Key         string
}

// PK is the primary key of the row, "<destination>#<idempotency key>".
func (id ID) PK() string {
	if id.Destination == "" {
		return id.Key
	}
	return id.Destination + "#" + id.Key
}

// String is the name that logs, metrics and errors use. It does not reveal the key, nor the text that a foreign
// writer put in the place of a destination.
func (id ID) String() string {
	sum := sha256.Sum256([]byte(id.PK()))
	destination := id.Destination
	if ValidateDestination(destination) != nil {
		destination = InvalidDestination
	}
	return destination + "/" + hex.EncodeToString(sum[:8])
}

// GoString keeps the key out of %#v, too.
func (id ID) GoString() string { return id.String() }

// LogValue keeps the key out of structured logs.
func (id ID) LogValue() slog.Value { return slog.StringValue(id.String()) }

// Shard is the lane number of the row among the shards of its destination:
// CRC-32/IEEE of the primary key, modulo shards. It depends only on the key, so that every
// writer in every language puts the row into the same lane.
func (id ID) Shard(shards int) int {
	if shards <= 1 {
		return 0
	}
	return int(crc32.ChecksumIEEE([]byte(id.PK())) % uint32(shards))
}

// Validate checks the bounds that docs/row-format.md states. The error does not contain the key.
func (id ID) Validate() error {
	if err := ValidateDestination(id.Destination); err != nil {
		return err
	}
	return validateKey(id.Key)
}

// ParsePK splits a primary key at its first '#': a destination has none, a key may have many. A text
// that is not a primary key of Landfall becomes an invalid ID without destination whose PK is still pk, so that
// even such a row can be read and ended.
func ParsePK(pk string) ID {
	destination, key, found := strings.Cut(pk, "#")
	if !found || destination == "" {
		return ID{Key: pk}
	}
	return ID{Destination: destination, Key: key}
}

// ValidateDestination checks that name is [a-z0-9][a-z0-9-]{0,62}.
func ValidateDestination(name string) error {
	if name == "" || len(name) > MaxDestinationBytes {
		return fmt.Errorf("destination: %d bytes, want 1 to %d", len(name), MaxDestinationBytes)
	}
	for i, c := range []byte(name) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && (c != '-' || i == 0) {
			return fmt.Errorf("destination %q: want lower-case letters, digits and inner hyphens ([a-z0-9][a-z0-9-]{0,62})", name)
		}
	}
	return nil
}

func validateKey(key string) error {
	if key == "" || len(key) > MaxKeyBytes {
		return fmt.Errorf("idempotency key: %d bytes, want 1 to %d", len(key), MaxKeyBytes)
	}
	if !utf8.ValidString(key) {
		return errors.New("idempotency key: not valid UTF-8")
	}
	if i := strings.IndexFunc(key, unicode.IsControl); i >= 0 {
		return fmt.Errorf("idempotency key: control character at byte %d", i)
	}
	return nil
}

// Status is where a row stands. Only pending rows are claimed; completed and failed are terminal.
type Status string

// The five statuses, as they are stored.
const (
	StatusPending        Status = "pending"
	StatusDispatching    Status = "dispatching"
	StatusOutcomeUnknown Status = "outcome_unknown"
	StatusCompleted      Status = "completed"
	StatusFailed         Status = "failed"

	// StatusInvalid stands for a stored status that is not one of the five, or that contradicts the row's lane. It
	// is never written.
	StatusInvalid Status = "invalid"
)

// Terminal reports whether a row of this status has ended and only waits for its retention.
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

	// Code says what the last trouble was, and Cause, if set, what had led to it: for a row whose budget, window or
	// deliver_by was over, the code of its last attempt; for a row that could not be read, what was wrong.
	Code      string
	Cause     string
	RemoteRef string
	CommandID string
	Trace     string

	CreatedAt   time.Time
	CompletedAt time.Time
	DeliverBy   time.Time
	// ExpiresAt has a resolution of one second. Only terminal rows have it.
	ExpiresAt time.Time

	// Resolution is a person's last decision about the row.
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
	// ResolutionID is random and new for each order: an order applies only to a row that still bears the one before it.
	ResolutionID string
	// ResolvedBy is the person, as far as the tool knows.
	ResolvedBy string
	ResolvedAt time.Time
	// Reason is the person's own text.
	Reason string
	// Forced says that it was too early to know, and that the person insisted.
	Forced bool
}

// Repeats reports whether putting r over stored is the same put again, by an SDK or an application that
// did not hear the answer of the first: then it succeeds and changes nothing. Without an origin it is
// a conflict: the two cannot be compared.
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
