package devstack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// Defaults and bounds of a QueueMapping
// (https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-parameters.html and
// https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html). A FIFO queue gives batches
// of at most DefaultBatch, and no window.
const (
	DefaultBatch              = 10
	MaxBatch                  = 10_000
	MaxBatchingWindow         = 5 * time.Minute
	DefaultMaximumConcurrency = 5 // what Lambda begins with
	LeastMaximumConcurrency   = 2
	MostMaximumConcurrency    = 1000
)

// QueueMapping is an event source mapping of an SQS queue: the function is invoked with the queue's
// messages, and those that it handled are deleted. The others stay in the queue, and come back when
// their visibility timeout is over. It is as Lambda's, but for filters.
type QueueMapping struct {
	// BatchSize is how many messages an invocation gets at most, fewer if together they exceed
	// MaxRequest bytes. More than DefaultBatch need a window. Defaults to DefaultBatch, at most MaxBatch.
	BatchSize int

	// BatchingWindow is how long a batch, from its first message on, waits to be filled: whole
	// seconds, at most MaxBatchingWindow.
	BatchingWindow time.Duration

	// Client is a client of the queue's SQS. Required.
	Client *sqs.Client

	// Function is the name of the function that is invoked.
	Function string

	// MaximumConcurrency is how many batches the function has at the same time at most; beyond the
	// function's own concurrency, they wait. Defaults to DefaultMaximumConcurrency, within
	// LeastMaximumConcurrency and MostMaximumConcurrency.
	MaximumConcurrency int

	// Queue is the queue's URL.
	Queue string

	// ReportBatchItemFailures lets the function say which messages of a batch it has not handled
	// (https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html). Without it, its
	// answer is not looked at: a batch is handled unless the function fails.
	ReportBatchItemFailures bool
}

// MapQueue starts an event source mapping; the queue must be there. It ends when ctx does, or with
// the stack; batches whose invocation has begun are still settled.
//
//	err := stack.MapQueue(ctx, devstack.QueueMapping{Function: "route", Client: client, Queue: url, ReportBatchItemFailures: true})
func (s *Stack) MapQueue(ctx context.Context, m QueueMapping) error {
	m = m.withDefaults()
	if err := s.checkMapping(m); err != nil {
		return fmt.Errorf("map queue %s: %w", m.Queue, err)
	}
	source, err := openQueue(ctx, m)
	if err != nil {
		return fmt.Errorf("map queue %s: %w", m.Queue, err)
	}
	source.say = func(format string, args ...any) { s.out.printf(m.Function, "queue "+source.name+": "+format, args...) }
	pump := pump{
		source:      source,
		invoke:      func(ctx context.Context, event []byte) (Result, error) { return s.Invoke(ctx, m.Function, event) },
		concurrency: m.MaximumConcurrency,
		report:      m.ReportBatchItemFailures,
		say:         source.say,
	}
	if !s.launch(ctx, pump.run) {
		return fmt.Errorf("map queue %s: %w", m.Queue, ErrStopped)
	}
	return nil
}

func (m QueueMapping) withDefaults() QueueMapping {
	m.BatchSize = cmp.Or(m.BatchSize, DefaultBatch)
	m.MaximumConcurrency = cmp.Or(m.MaximumConcurrency, DefaultMaximumConcurrency)
	return m
}

func (s *Stack) checkMapping(m QueueMapping) error {
	switch {
	case s.pools[m.Function] == nil:
		return ErrUnknownFunction
	case m.Client == nil:
		return errors.New("client is missing")
	case m.Queue == "":
		return errors.New("queue is missing: give the queue's URL")
	case m.BatchSize > DefaultBatch && m.BatchingWindow == 0:
		return fmt.Errorf("batch size %d needs a batching window of at least 1s: only up to %d go without", m.BatchSize, DefaultBatch)
	case m.MaximumConcurrency < LeastMaximumConcurrency || m.MaximumConcurrency > MostMaximumConcurrency:
		return fmt.Errorf("maximum concurrency %d is not within %d to %d", m.MaximumConcurrency, LeastMaximumConcurrency, MostMaximumConcurrency)
	}
	return checkBatch(m.BatchSize, m.BatchingWindow)
}

// checkBatch checks what mappings of queues and of streams have in common.
func checkBatch(size int, window time.Duration) error {
	switch {
	case size < 1 || size > MaxBatch:
		return fmt.Errorf("batch size %d is not within 1 to %d", size, MaxBatch)
	case window < 0 || window > MaxBatchingWindow || window%time.Second != 0:
		return fmt.Errorf("batching window %v: want whole seconds within 0 to %v", window, MaxBatchingWindow)
	}
	return nil
}
