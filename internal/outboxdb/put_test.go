package outboxdb_test

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outboxdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

func pending(key string, payload []byte) outbox.Row {
	now := time.Now().Truncate(time.Millisecond)
	return outbox.Row{
		ID: outbox.ID{Destination: "charge", Key: key}, Status: outbox.StatusPending, CreatedAt: now, LaneAt: now,
		Lane:    outbox.Lane{Kind: outbox.DueLane, Destination: "charge"},
		Payload: payload, Origin: "origin of " + key,
	}
}

// TestRowPastItsRetentionIsReplaced though the table's TTL has not deleted it, up to 48 hours late;
// and no other row is replaced.
func TestRowPastItsRetentionIsReplaced(t *testing.T) {
	t.Parallel()
	later := func(d time.Duration) types.AttributeValue { return n(time.Now().Add(d).Unix()) }
	cases := []struct {
		name, status string
		expires      time.Duration // 0: no expires_at
		free         bool
	}{
		{"completed, over", "completed", -time.Second, true},
		{"failed, over", "failed", -48 * time.Hour, true},
		{"completed, retained", "completed", 2 * time.Second, false},
		{"failed, retained", "failed", time.Hour, false},
		{"completed, for ever", "completed", 0, false},
		{"pending, with a wrong expires_at", "pending", -time.Hour, false},
		{"dispatching, with a wrong expires_at", "dispatching", -time.Hour, false},
		{"outcome_unknown, with a wrong expires_at", "outcome_unknown", -time.Hour, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				old := foreign("charge#k", time.Now())
				old[schema.Status] = s(c.status)
				delete(old, schema.Lane) // as of a completed row; the put does not look at it
				if c.expires != 0 {
					old[schema.ExpiresAt] = later(c.expires)
				}
				b.write(old)
				if _, err := b.Get(t.Context(), outbox.ID{Destination: "charge", Key: "k"}); errors.Is(err, outbox.ErrNotFound) != c.free {
					t.Errorf("get: %v; want the row to be gone: %v", err, c.free)
				}
				err := b.Put(t.Context(), pending("k", []byte("new")))
				if c.free && err != nil || !c.free && !errors.Is(err, outbox.ErrExists) {
					t.Errorf("put: %v; want the key to be free: %v", err, c.free)
				}
				if replaced := !reflect.DeepEqual(b.item("charge#k"), old); replaced != c.free {
					t.Errorf("replaced: %v, want %v", replaced, c.free)
				}
			})
		})
	}
}

// TestPayloadIsKeptToTheByte puts payloads that encodings like to change, short and long: the long ones
// are stored compressed.
func TestPayloadIsKeptToTheByte(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var all, runes []byte
	for i := range 256 {
		all = append(all, byte(i))
	}
	for r := rune(0); r < 0x30000; r += 7 {
		runes = append(runes, string(r)...) // surrogates become U+FFFD, which is a character like others
	}
	cases := map[string]struct {
		payload []byte
		binary  bool
	}{
		"none": {[]byte{}, false}, "text": {[]byte("hello"), false}, "zero byte in text": {[]byte("a\x00b"), false},
		"quotes and escapes": {[]byte("\"\\\u2028\x7f<&>\r\n\t"), false}, "byte order mark": {[]byte("\uFEFF{}"), false},
		"noncharacters": {[]byte("\uFFFE\uFFFF\U0010FFFF"), false}, "all characters": {runes, false},
		"all bytes": {all, true}, "invalid UTF-8": {[]byte("a\xff\xfe"), true}, "half a surrogate pair": {[]byte("\xed\xa0\x80"), true},
		"390 KB": {noise(390 << 10), true}, "1 MiB that compresses": {bytes.Repeat([]byte(`{"a": 1}`), 1<<17), false},
	}
	for name, c := range cases {
		row := pending(name, c.payload)
		row.Binary = c.binary
		if err := b.Put(t.Context(), row); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := b.claimOf(row.ID, nil)
		if !bytes.Equal(got.Payload, c.payload) || got.Unreadable != nil {
			t.Errorf("%s: %d bytes came back, not the %d that were put: %v", name, len(got.Payload), len(c.payload), got.Unreadable)
		}
		if got.Binary != c.binary {
			t.Errorf("%s: binary is %v, want %v", name, got.Binary, c.binary)
		}
	}
}

// TestPayloadIsCompressedOnlyIfItSavesAUnit looks at the form in which payloads are stored.
func TestPayloadIsCompressedOnlyIfItSavesAUnit(t *testing.T) {
	t.Parallel()
	text := func(n int) []byte { return []byte(strings.Repeat("x", n)) }
	cases := []struct {
		name    string
		payload []byte
		gzip    bool
		units   int
	}{
		{"a unit in all", text(700), false, 1},
		{"two units, one when compressed", text(1000), true, 1},
		{"two units either way", noise(1000), false, 2},
		{"large", text(300 << 10), true, 1},
		{"random", noise(300 << 10), false, 301},
	}
	for _, c := range cases {
		row := pending("k", c.payload)
		row.Binary = c.payload[0] != 'x'
		put, err := outboxdb.Insert(table, row)
		if err != nil {
			t.Fatal(err)
		}
		if _, compressed := put.Item[schema.PayloadEncoding]; compressed != c.gzip {
			t.Errorf("%s: compressed is %v, want %v", c.name, compressed, c.gzip)
		}
		if got := (outboxdb.ItemSize(put.Item) + 1023) / 1024; got != c.units {
			t.Errorf("%s: %d units, want %d", c.name, got, c.units)
		}
		again, err := outboxdb.Insert(table, row)
		if err != nil || !reflect.DeepEqual(put.Item, again.Item) {
			t.Errorf("%s: the same put makes another item: %v", c.name, err)
		}
	}
}

// TestRowWithoutRoomForItsOutcomeIsRefused tries the largest item that is taken, and one byte more.
func TestRowWithoutRoomForItsOutcomeIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	largest := sized(t, "charge", outboxdb.MaxItem, time.Now())
	if err := b.Put(t.Context(), largest); err != nil {
		t.Fatal(err)
	}
	claimed := b.claimOf(largest.ID, nil)
	if claimed.Unreadable != nil {
		t.Fatal(claimed.Unreadable)
	}
	outcome := outbox.Unknown(strings.Repeat("r", 5000), strings.Repeat("c", 5000))
	b.settle(outbox.Decide(outbox.Policy{}.WithDefaults(), claimed, outcome, time.Now()))
	got, err := b.Get(t.Context(), largest.ID)
	if err != nil || got.Status != outbox.StatusOutcomeUnknown || len(got.Payload) == 0 {
		t.Errorf("settled as %q with %d bytes of payload, %v; want unknown with its payload", got.Status, len(got.Payload), err)
	}

	largest.Key, largest.Payload = "other", append(largest.Payload, noise(100)...)
	var large *outboxdb.TooLargeError
	if err := b.Put(t.Context(), largest); !errors.As(err, &large) || large.Size <= outboxdb.MaxItem {
		t.Errorf("put: %v, want that it is too large", err)
	}
	if b.item("charge#other") != nil {
		t.Error("it was put")
	}
}

// TestRetentionIsRoundedUp, not by the part of a second that a time to live cannot say.
func TestRetentionIsRoundedUp(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, rest := range []time.Duration{0, time.Millisecond, 999 * time.Millisecond} {
		row := pending(rest.String(), nil)
		b.insert(row, false)
		until := time.Unix(4102444800, 0).Add(rest)
		b.settle(outbox.Settlement{ID: row.ID, Token: b.claimOf(row.ID, nil).Token, Status: outbox.StatusCompleted, CompletedAt: until, ExpiresAt: until})
		got, err := b.Get(t.Context(), row.ID)
		if err != nil || got.ExpiresAt.Before(until) || got.ExpiresAt.Sub(until) >= time.Second {
			t.Errorf("kept until %v, %v; want %v", got.ExpiresAt, err, until)
		}
	}
}
