package devstack

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/landfall-dev/landfall/internal/bounded"
)

// source is where an event source mapping gets its records: a queue, or a shard of a stream.
type source interface {
	// poll waits a while for records and returns them as batches, which are delivered one after the
	// other; none if there are none. An error is tried again.
	poll(ctx context.Context) ([]batch, error)

	// settle gets the ids of the records that the function has not handled. The next poll of a
	// source with a concurrency of 1 comes after it. ctx does not end with the mapping.
	settle(ctx context.Context, b batch, failed map[string]bool)
}

// batch is what one invocation gets.
type batch struct {
	records []record
	until   time.Time // when its records are no longer the mapping's: until then, throttling is waited out

	// What the pump tells settle of the invocation.
	result Result
	notRun error // why there was none
}

// record is a part of a batch.
type record struct {
	id     string // what a function calls it in batchItemFailures
	handle string // what the source calls it
	text   []byte // its JSON in the event
}

// Between polls that fail, the mapping waits 1 s, doubling up to 1 min.
const (
	firstPollWait = time.Second
	maxPollWait   = time.Minute
)

// pump is an event source mapping at work: it polls a source, invokes the function, and tells the
// source what became of it.
type pump struct {
	source      source
	invoke      func(ctx context.Context, event []byte) (Result, error)
	concurrency int  // batches under way
	report      bool // the function may report failures of single records
	say         func(format string, args ...any)
}

// run returns when ctx has ended and the batches under way are settled. A batch is only polled when
// there is room for its invocation.
func (p pump) run(ctx context.Context) {
	var deliveries sync.WaitGroup
	defer deliveries.Wait()
	slots := make(chan struct{}, p.concurrency)
	wait := firstPollWait
	for {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		batches, err := p.source.poll(ctx)
		if ctx.Err() != nil {
			return // what was received just now comes back by itself
		}
		if err != nil {
			p.say("poll failed, next try in %v: %v", wait, err)
			if !bounded.Pause(ctx, wait) {
				return
			}
			wait = min(2*wait, maxPollWait)
			<-slots
			continue
		}
		wait = firstPollWait
		deliveries.Go(func() {
			defer func() { <-slots }()
			for _, b := range batches {
				p.deliver(ctx, b)
			}
		})
	}
}

// deliver takes a batch to its end.
func (p pump) deliver(ctx context.Context, b batch) {
	result, err := p.call(ctx, b)
	b.result, b.notRun = result, err
	var failed map[string]bool
	switch {
	case err != nil:
	case result.FunctionError != "":
		err = errors.New("the function failed, " + result.ErrorType())
	case p.report:
		failed, err = itemFailures(result.Payload, b.records)
	}
	if err != nil {
		p.say("batch of %d kept: %v", len(b.records), err)
		failed = make(map[string]bool)
		for _, r := range b.records {
			failed[r.id] = true
		}
	}
	p.source.settle(context.WithoutCancel(ctx), b, failed)
}

// call invokes the function, again while it is throttled and the batch is still the mapping's. An
// invocation that has begun is waited for, whatever becomes of ctx.
func (p pump) call(ctx context.Context, b batch) (Result, error) {
	event, wait := b.event(), firstThrottleWait
	for {
		result, err := p.invoke(context.WithoutCancel(ctx), event)
		if !errors.Is(err, ErrThrottled) || !time.Now().Add(wait).Before(b.until) || !bounded.Pause(ctx, wait) {
			return result, err
		}
		wait = min(2*wait, maxThrottleWait)
	}
}
