package streams

import (
	"fmt"
	"slices"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/localaws/attr"
)

// What the service does with a stream.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html
const (
	Retention     = 24 * time.Hour // of a record
	Lines         = 4              // shards that are open at a time, as many as a new table on demand has partitions
	maxShardBytes = 64 << 20       // of a shard's records; beyond, the oldest go before their time
	shardLife     = 4 * time.Hour  // until a shard is closed and has a child
)

// Source is the table that a stream tells of.
type Source struct {
	Table, ARN string
	KeySchema  any    // as DescribeStream tells it
	View       string // KEYS_ONLY, NEW_IMAGE, OLD_IMAGE or NEW_AND_OLD_IMAGES
}

// Stream is what changed in one table. Label is part of its ARN. A nil Stream takes changes, and keeps none.
type Stream struct {
	ARN, Label string

	source  Source
	service *Service
	opened  time.Time
	closed  time.Time // zero while the table is there
	shards  []*shard  // oldest first
}

// shard is a part of a stream, for some of the keys and some hours. Sequence numbers of a stream only rise.
type shard struct {
	id, parent string
	line       int // which keys
	opened     time.Time
	closed     time.Time // zero while it takes records
	first      uint64    // sequence numbers from here
	last       uint64    // up to here, once it is closed
	trimmed    uint64    // what was at or before it is gone; 0 if nothing is
	records    []record  // oldest first
	bytes      int       // of the records
}

// record is one change; its form for readers is made when it is read.
type record struct {
	seq            uint64
	at             time.Time
	key, old, item attr.Map
	expired        bool
}

// size is what a record adds to the memory of its shard, at most: items share what did not change.
func (r record) size() int { return r.key.Size() + r.old.Size() + r.item.Size() }

// Open makes the stream of a table that was made now.
func (s *Service) Open(now time.Time, source Source) *Stream {
	st := &Stream{source: source, service: s, opened: now}
	for label := now; st.ARN == "" || s.streams[st.ARN] != nil; label = label.Add(time.Millisecond) {
		st.Label = label.UTC().Format("2006-01-02T15:04:05.000")
		st.ARN = source.ARN + "/stream/" + st.Label
	}
	s.streams[st.ARN] = st
	for line := range Lines {
		st.grow(now, line, "")
	}
	return st
}

// Close is the end of the table. What the stream has can be read as long as otherwise.
func (st *Stream) Close(now time.Time) {
	if st == nil {
		return
	}
	st.age(now)
	st.closed = now
	for _, sh := range st.shards {
		if sh.closed.IsZero() {
			st.end(now, sh)
		}
	}
}

// Add records a change of the item at a position, whose first bytes are a hash of its hash key: the item before and
// after, nil where there is none. A change that changes nothing makes no record.
func (st *Stream) Add(now time.Time, position string, key attr.Map, old, item attr.Map, expired bool) {
	if st == nil || attr.Equal(old, item) {
		return
	}
	st.age(now)
	line := int(position[0]) % Lines
	at := slices.IndexFunc(st.shards, func(sh *shard) bool { return sh.line == line && sh.closed.IsZero() })
	sh := st.shards[at]
	r := record{st.service.next(), now, key, old, item, expired}
	sh.records = append(sh.records, r)
	sh.bytes += r.size()
	for sh.bytes > maxShardBytes {
		sh.trim(1)
	}
}

// trim drops the oldest records.
func (sh *shard) trim(n int) {
	for _, r := range sh.records[:n] {
		sh.trimmed = r.seq
		sh.bytes -= r.size()
	}
	clear(sh.records[:n]) // the items are free before the array is
	sh.records = sh.records[n:]
}

// age does what time does to a stream: shards get children, old records and the shards that held them go.
func (st *Stream) age(now time.Time) {
	for i := 0; i < len(st.shards); i++ { // children are appended
		sh := st.shards[i]
		if due := sh.opened.Add(shardLife); sh.closed.IsZero() && !due.After(now) {
			st.end(due, sh)
			st.grow(due, sh.line, sh.id)
		}
		gone := 0
		for gone < len(sh.records) && now.Sub(sh.records[gone].at) >= Retention {
			gone++
		}
		sh.trim(gone)
	}
	st.shards = slices.DeleteFunc(st.shards, func(sh *shard) bool {
		return !sh.closed.IsZero() && now.Sub(sh.closed) >= Retention
	})
}

// grow opens a shard.
func (st *Stream) grow(at time.Time, line int, parent string) {
	first := st.service.next()
	st.shards = append(st.shards, &shard{line: line, parent: parent, opened: at, first: first,
		id: fmt.Sprintf("shardId-%020d-%08x", at.UnixMilli(), first)})
}

func (st *Stream) end(at time.Time, sh *shard) { sh.closed, sh.last = at, st.service.next() }

// number is a sequence number as it travels: 21 digits, so that they compare as texts, too.
func number(seq uint64) string { return fmt.Sprintf("1%020d", seq) }

// since is where the records from a sequence number on begin.
func (sh *shard) since(seq uint64) int {
	at, _ := slices.BinarySearchFunc(sh.records, seq, func(r record, seq uint64) int {
		if r.seq < seq {
			return -1
		}
		return 1
	})
	return at
}
