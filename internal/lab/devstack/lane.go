package devstack

import (
	"context"
	"slices"
	"time"

	"github.com/landfall-dev/landfall/internal/bounded"
)

// lane is a shard of a stream, or the part of it that is for some of the items, as a source with a
// concurrency of 1: a batch is done with before the next one is made.
type lane struct {
	*stream
	shard string
	feed  chan []streamRecord
	end   context.CancelFunc // ends the lane's pump

	read []streamRecord // not in a batch yet
	todo []attempt      // in order; the first one is under way
	wait time.Duration  // before the first one is tried again
	last time.Duration  // the wait before that
}

// attempt is a batch that is tried until it is handled or discarded.
type attempt struct {
	records []streamRecord
	invoked int    // so often
	retries int    // of these, what counts against MaximumRetryAttempts
	result  Result // of the last invocation
}

// poll returns the batch that is next, after its wait, and discards what has become too old.
func (l *lane) poll(ctx context.Context) ([]batch, error) {
	if len(l.todo) == 0 && !l.collect(ctx) || !bounded.Pause(ctx, l.wait) {
		return nil, nil
	}
	l.expire(ctx)
	if len(l.todo) == 0 {
		return nil, nil
	}
	records := l.todo[0].records
	b := batch{event: []byte(eventStart)} // that it is throttled is for settle to wait out
	for i, r := range records {
		if i > 0 {
			b.event = append(b.event, ',')
		}
		b.event = append(b.event, r.text...)
		b.records = append(b.records, record{id: r.sequence})
	}
	b.event = append(b.event, eventEnd...)
	if l.IteratorAge != nil {
		l.IteratorAge(time.Since(records[len(records)-1].at))
	}
	return []batch{b}, nil
}

// collect makes a batch of records, for which it waits; false if ctx has ended or no more will come.
func (l *lane) collect(ctx context.Context) bool {
	var window <-chan time.Time // from the first record on
	open := true
	for open && !l.full() {
		if len(l.read) > 0 && window == nil {
			window = time.After(l.BatchingWindow)
		}
		var page []streamRecord
		select { // what is there goes first
		case page, open = <-l.feed:
		default:
			if len(l.read) > 0 && l.BatchingWindow == 0 {
				return l.cut()
			}
			select {
			case page, open = <-l.feed:
			case <-window:
				return l.cut()
			case <-ctx.Done():
				return false
			}
		}
		l.read = append(l.read, page...)
	}
	if len(l.read) == 0 {
		l.end()
		return false
	}
	return l.cut()
}

func (l *lane) full() bool { return len(l.read) >= l.BatchSize || l.fitting() < len(l.read) }

// fitting is how many of the records that were read fit into an event.
func (l *lane) fitting() int {
	size := len(eventStart) + len(eventEnd)
	for i, r := range l.read {
		if size += len(r.text) + len(","); size > MaxRequest && i > 0 {
			return i
		}
	}
	return len(l.read)
}

// cut makes an attempt of what was read, and is true.
func (l *lane) cut() bool {
	n := min(l.fitting(), l.BatchSize)
	l.todo, l.read, l.wait, l.last = []attempt{{records: l.read[:n:n]}}, l.read[n:], 0, 0
	return true
}

// lifetime is how old a record gets.
func (l *lane) lifetime() time.Duration { return min(l.MaximumRecordAge, streamRetention) }

// expire discards records that have become too old from the first attempt: they are its first ones.
func (l *lane) expire(ctx context.Context) {
	head := &l.todo[0]
	young := slices.IndexFunc(head.records, func(r streamRecord) bool { return time.Since(r.at) < l.lifetime() })
	switch young {
	case 0:
		return
	case -1:
		young = len(head.records)
	}
	old := *head
	old.records, head.records = head.records[:young], head.records[young:]
	l.discard(context.WithoutCancel(ctx), old, "RecordAgeExceeded")
	if len(head.records) == 0 {
		l.todo = l.todo[1:]
	}
}

// settle decides what comes next: the batch, what is left of it, its halves, or the one behind it.
func (l *lane) settle(ctx context.Context, b batch, failed map[string]bool) {
	head := &l.todo[0]
	if b.notRun != nil { // which uses up no retry
		l.wait = l.backoff()
		return
	}
	head.invoked++
	head.result = b.result
	first := slices.IndexFunc(head.records, func(r streamRecord) bool { return failed[r.sequence] })
	half := len(head.records) / 2
	l.wait = 0
	switch {
	case first < 0:
		l.todo, l.last = l.todo[1:], 0
	case first > 0: // those before it are done with, and with them what counts against the others
		*head, l.last = attempt{records: head.records[first:]}, 0
	case b.result.FunctionError != "" && l.BisectBatchOnFunctionError && half > 0:
		second := *head
		head.records, second.records = head.records[:half], second.records[half:]
		l.todo = slices.Insert(l.todo, 1, second)
	case head.retries == l.MaximumRetryAttempts:
		l.discard(ctx, *head, "RetryAttemptsExhausted")
		l.todo, l.last = l.todo[1:], 0
	default:
		head.retries++
		l.wait = l.backoff()
	}
}

// backoff is the wait before a batch is tried again: 1 s at first, doubling up to 1 min.
func (l *lane) backoff() time.Duration {
	l.last = min(max(2*l.last, firstPollWait), maxPollWait)
	return l.last
}
