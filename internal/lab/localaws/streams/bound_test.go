package streams

import (
	"strings"
	"testing"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/localaws/attr"
)

func TestShardDropsItsOldestRecordsBeyondItsMemory(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	st := New("us-east-1").Open(now, Source{Table: "t", ARN: "arn:t", View: "NEW_IMAGE"})
	const size = 400 << 10
	item := attr.Map{"v": attr.String(strings.Repeat("x", size))}
	for range 2 * maxShardBytes / size {
		st.Add(now, "\x00position", attr.Map{"k": attr.String("a")}, nil, item, false)
	}
	for _, sh := range st.shards {
		if n := len(sh.records); sh.line == 0 && (n < maxShardBytes/size-1 || n > maxShardBytes/size || sh.bytes > maxShardBytes || sh.trimmed != sh.records[0].seq-1) {
			t.Errorf("%d records of %d bytes, trimmed up to %d", n, sh.bytes, sh.trimmed)
		}
	}
	if st.age(now.Add(Retention)); kept(st) != 0 {
		t.Errorf("%d bytes are kept after a day", kept(st))
	}
}

func kept(st *Stream) (n int) {
	for _, sh := range st.shards {
		n += sh.bytes
	}
	return n
}
