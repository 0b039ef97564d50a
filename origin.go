package landfall

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"hash"
	"maps"
	"slices"
	"time"

	"github.com/landfall-dev/landfall/internal/outbox"
)

// origin tells a repeated put from other content: 128 bits of a hash over all that the application asked
// for. It leaves out the time of the put and the trace, which differ between attempts.
// The order and the form of what is hashed must never change: rows outlive releases.
func origin(row outbox.Row, notBefore time.Time) string {
	h := sha256.New()
	texts(h, "landfall-origin-1", row.Destination, row.Key, string(row.Payload), row.ContentType, row.CommandID)
	times(h, notBefore, row.DeliverBy)
	for _, name := range slices.Sorted(maps.Keys(row.Headers)) {
		texts(h, name, row.Headers[name])
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:16])
}

// texts hashes each text with its length, so that no two lists of texts are the same bytes.
func texts(h hash.Hash, all ...string) {
	for _, s := range all {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(s))))
		h.Write([]byte(s))
	}
}

func times(h hash.Hash, all ...time.Time) {
	for _, t := range all {
		ms := int64(-1)
		if !t.IsZero() {
			ms = t.UnixMilli()
		}
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(ms)))
	}
}
