package outbox_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"

	"github.com/landfall-dev/landfall/internal/outbox"
)

func TestKeysNeverReachTextOrLogs(t *testing.T) {
	t.Parallel()
	row := outbox.Row{ID: outbox.ID{Destination: "mail", Key: "alice@example.com"}, Payload: []byte("top secret")}
	var log bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&log, nil))
	logger.Info("row", "id", row.ID, "row", row, "error", row.Validate())
	slog.New(slog.NewTextHandler(&log, nil)).Info("row", "id", row.ID, "row", row)
	fmt.Fprintf(&log, "%v %+v %#v %s %v", row.ID, row.ID, row.ID, row.ID, &row.ID)
	fmt.Fprintf(&log, "%v %+v %#v %s %v", row, row, row, row, &row)
	fmt.Fprint(&log, outbox.ID{Destination: "mail", Key: "alice@example.com\n"}.Validate(), &outbox.RefusedError{Row: row})
	fmt.Fprint(&log, outbox.ParsePK("alice@example.com#1"), outbox.ParsePK("alice@example.com"))
	for _, secret := range []string{"alice", "secret", "c2VjcmV0", "116 111 112"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("%q in: %s", secret, &log)
		}
	}
	if want := "mail/89a1b4a5a4e4c6a7"; !strings.HasPrefix(row.ID.String(), "mail/") || len(row.ID.String()) != len(want) {
		t.Errorf("log name %q", row.ID)
	}
}

func TestShardIsTheSameForEveryWriter(t *testing.T) {
	t.Parallel()
	// Vectors of docs/row-format.md, computed with Python's zlib.crc32.
	for _, v := range []struct {
		destination, key string
		shards, want     int
	}{
		{"charge", "order-42", 1, 0}, {"charge", "order-42", 8, 4}, {"charge", "order-42", 64, 12},
		{"mail", "é", 16, 11}, {"a", "#", 1000, 542}, {"charge", "order-42", math.MaxInt32, 1737001613},
	} {
		if got := (outbox.ID{Destination: v.destination, Key: v.key}).Shard(v.shards); got != v.want {
			t.Errorf("%s#%s of %d: shard %d, want %d", v.destination, v.key, v.shards, got, v.want)
		}
	}
}

func TestPrimaryKeysRoundTrip(t *testing.T) {
	t.Parallel()
	for pk, valid := range map[string]bool{
		"charge#order-42": true, "a#b#c": true, "a##": true, "charge#é": true, "a#" + strings.Repeat("k", 512): true,
		strings.Repeat("d", 63) + "#k": true,
		"":                             false, "#": false, "#k": false, "k": false, "a#": false, "A#k": false, "-a#k": false, "a b#k": false,
		"a#\x00": false, "a#\u0085": false, "a#\xff": false, "a#" + strings.Repeat("k", 513): false,
		strings.Repeat("d", 64) + "#k": false,
	} {
		id := outbox.ParsePK(pk)
		if id.PK() != pk {
			t.Errorf("%q became %q", pk, id.PK())
		}
		if err := id.Validate(); (err == nil) != valid {
			t.Errorf("%q: %v, want valid = %v", pk, err, valid)
		}
	}
}

func TestLanesRoundTrip(t *testing.T) {
	t.Parallel()
	for text, valid := range map[string]bool{
		"due#charge#0": true, "unknown#a-b#17": true, "failed#c#3": true,
		"": false, "due#charge": false, "due#charge#": false, "due#charge#-1": false, "due#charge#01": false,
		"late#charge#0": false, "due##0": false, "due#charge#0#": false, "due#charge#99999999999999999999": false,
	} {
		lane, err := outbox.ParseLane(text)
		if (err == nil) != valid {
			t.Errorf("%q: %v, want valid = %v", text, err, valid)
		}
		if valid && lane.String() != text {
			t.Errorf("%q became %q", text, lane)
		}
	}
}
