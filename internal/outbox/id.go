package outbox

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxKeyBytes bounds an idempotency key, in bytes of UTF-8. With the longest destination and the
// separator it stays below the 2,048 bytes that DynamoDB allows a partition key.
const MaxKeyBytes = 512

// MaxDestinationBytes bounds the name of a destination.
const MaxDestinationBytes = 63

// InvalidDestination is what a row is named after whose destination is not a possible one.
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

// String is the name that logs, metrics and errors use. It does not reveal the key, nor what a foreign
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
// CRC-32/IEEE of the primary key, modulo shards. It depends on nothing but the key, so that every
// writer in every language puts the row into the same lane.
func (id ID) Shard(shards int) int {
	if shards <= 1 {
		return 0
	}
	return int(crc32.ChecksumIEEE([]byte(id.PK())) % uint32(shards))
}

// Validate checks the bounds of DESIGN section "The outbox row". The error does not contain the key.
func (id ID) Validate() error {
	if err := ValidateDestination(id.Destination); err != nil {
		return err
	}
	return validateKey(id.Key)
}

// ParsePK splits a primary key at its first '#': a destination has none, a key may have many. What is
// no primary key of Landfall's becomes an invalid ID without destination whose PK is still pk, so that
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
