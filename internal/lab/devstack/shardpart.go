package devstack

import (
	"context"
	"slices"
	"time"

	"github.com/landfall-dev/landfall/internal/bounded"
)

// shardPart is a shard of a stream, or the part of it that is for some of the items, as a source with a
// concurrency of 1: a batch is done with before the next one is made.
type shardPart struct {
	stream *stream
	shard  string
	feed   chan []streamRecord
	end    context.CancelFunc // ends the part's pump

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
func (p *shardPart) poll(ctx context.Context) ([]batch, error) {
	if len(p.todo) == 0 && !p.collect(ctx) || !bounded.Pause(ctx, p.wait) {
		return nil, nil
	}
	p.expire(ctx)
	if len(p.todo) == 0 {
		return nil, nil
	}
	records := p.todo[0].records
	var b batch // without until: that it is throttled is for settle to wait out
	for _, r := range records {
		b.records = append(b.records, record{id: r.sequence, text: r.text})
	}
	if p.stream.mapping.IteratorAge != nil {
		p.stream.mapping.IteratorAge(time.Since(records[len(records)-1].at))
	}
	return []batch{b}, nil
}

// collect makes a batch of records, for which it waits; false if ctx has ended or no more will come.
func (p *shardPart) collect(ctx context.Context) bool {
	var window <-chan time.Time // from the first record on
	open := true
	for open && !p.full() {
		if len(p.read) > 0 && window == nil {
			window = time.After(p.stream.mapping.BatchingWindow)
		}
		var page []streamRecord
		select { // what is there goes first
		case page, open = <-p.feed:
		default:
			if len(p.read) > 0 && p.stream.mapping.BatchingWindow == 0 {
				return p.cut()
			}
			select {
			case page, open = <-p.feed:
			case <-window:
				return p.cut()
			case <-ctx.Done():
				return false
			}
		}
		p.read = append(p.read, page...)
	}
	if len(p.read) == 0 {
		p.end()
		return false
	}
	return p.cut()
}

func (p *shardPart) full() bool {
	return len(p.read) >= p.stream.mapping.BatchSize || p.fitting() < len(p.read)
}

// fitting is how many of the records that were read fit into an event.
func (p *shardPart) fitting() int {
	size := len(eventStart) + len(eventEnd)
	for i, r := range p.read {
		if size += len(r.text) + len(","); size > MaxRequest && i > 0 {
			return i
		}
	}
	return len(p.read)
}

// cut makes an attempt of the records that were read. It returns true.
func (p *shardPart) cut() bool {
	n := min(p.fitting(), p.stream.mapping.BatchSize)
	p.todo, p.read, p.wait, p.last = []attempt{{records: p.read[:n:n]}}, p.read[n:], 0, 0
	return true
}

// lifetime is how old a record gets.
func (p *shardPart) lifetime() time.Duration {
	return min(p.stream.mapping.MaximumRecordAge, streamRetention)
}

// expire discards records that have become too old from the first attempt: they are its first ones.
func (p *shardPart) expire(ctx context.Context) {
	head := &p.todo[0]
	young := slices.IndexFunc(head.records, func(r streamRecord) bool { return time.Since(r.at) < p.lifetime() })
	switch young {
	case 0:
		return
	case -1:
		young = len(head.records)
	}
	old := *head
	old.records, head.records = head.records[:young], head.records[young:]
	p.discard(context.WithoutCancel(ctx), old, "RecordAgeExceeded")
	if len(head.records) == 0 {
		p.todo = p.todo[1:]
	}
}

// settle decides what comes next: the batch, what is left of it, its halves, or the one behind it.
func (p *shardPart) settle(ctx context.Context, b batch, failed map[string]bool) {
	head := &p.todo[0]
	if b.notRun != nil { // which uses up no retry
		p.wait = p.backoff()
		return
	}
	head.invoked++
	head.result = b.result
	first := slices.IndexFunc(head.records, func(r streamRecord) bool { return failed[r.sequence] })
	half := len(head.records) / 2
	p.wait = 0
	switch {
	case first < 0:
		p.todo, p.last = p.todo[1:], 0
	case first > 0: // those before it are done with, and with them what counts against the others
		*head, p.last = attempt{records: head.records[first:]}, 0
	case b.result.FunctionError != "" && p.stream.mapping.BisectBatchOnFunctionError && half > 0:
		second := *head
		head.records, second.records = head.records[:half], second.records[half:]
		p.todo = slices.Insert(p.todo, 1, second)
	case head.retries == p.stream.mapping.MaximumRetryAttempts:
		p.discard(ctx, *head, "RetryAttemptsExhausted")
		p.todo, p.last = p.todo[1:], 0
	default:
		head.retries++
		p.wait = p.backoff()
	}
}

// backoff is the wait before a batch is tried again: 1 s at first, doubling up to 1 min.
func (p *shardPart) backoff() time.Duration {
	p.last = min(max(2*p.last, firstPollWait), maxPollWait)
	return p.last
}
