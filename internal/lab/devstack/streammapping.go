package devstack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// Defaults and bounds of a StreamMapping
// (https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-params.html).
const (
	DefaultStreamBatch       = 100
	MaxParallelizationFactor = 10
	MaxRetryAttempts         = 10_000
	LeastRecordAge           = time.Minute
	MaxRecordAge             = 7 * 24 * time.Hour

	// Unlimited retries end when the records expire in the stream, after a day.
	Unlimited = -1
)

// StreamMapping is an event source mapping of a DynamoDB stream: the function is invoked with what
// changed in a table, in order for each item. A batch that it fails on holds up those behind it, until
// it is handled or discarded. It is as Lambda's, but for tumbling windows; and it begins anew, at its
// starting position, whenever it is made.
type StreamMapping struct {
	// BatchSize is how many records an invocation gets at most, fewer if together they exceed
	// MaxRequest bytes. Defaults to DefaultStreamBatch, at most MaxBatch.
	BatchSize int

	// BatchingWindow is how long a batch, from its first record on, waits to be filled: whole
	// seconds, at most MaxBatchingWindow.
	BatchingWindow time.Duration

	// BisectBatchOnFunctionError has a batch on which the function failed tried again as two, which
	// uses up no retry.
	BisectBatchOnFunctionError bool

	// Client is a client of the stream's service. Required.
	Client *dynamodbstreams.Client

	// Filters are event patterns, JSON texts, of which a record must match one. None let all records
	// pass. Of the operators of patterns there is only equality; others are refused.
	Filters []string

	// Function is the name of the function that is invoked.
	Function string

	// IteratorAge gets, before each invocation, how long ago the last of its records came into
	// the stream. May be nil; is called for several batches at a time.
	IteratorAge func(time.Duration)

	// MaximumRecordAge is how old a record gets before it is discarded, within LeastRecordAge and
	// MaxRecordAge. Defaults to a day, when records expire in the stream in any case.
	MaximumRecordAge time.Duration

	// MaximumRetryAttempts is how often a batch is tried again that the function failed on, at most
	// MaxRetryAttempts, before it is discarded; Unlimited (Lambda's default) for no bound.
	MaximumRetryAttempts int

	// OnFailure is the URL of a queue that gets a message about discarded records: where they stand in
	// the stream, not what is in them. Needs Queues.
	OnFailure string

	// ParallelizationFactor is how many batches of a shard run at a time, still in order for each
	// item. Defaults to 1, at most MaxParallelizationFactor.
	ParallelizationFactor int

	// Queues is a client of OnFailure's SQS.
	Queues *sqs.Client

	// ReportBatchItemFailures lets the function say which record of a batch it has not handled: those
	// before the first one are done with, the others are tried again
	// (https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html).
	ReportBatchItemFailures bool

	// StartingPosition is types.ShardIteratorTypeTrimHorizon or types.ShardIteratorTypeLatest.
	// LATEST begins with what is written after MapStream has returned. Required.
	StartingPosition types.ShardIteratorType

	// Table is the name of the table whose latest stream is read.
	Table string
}

// MapStream starts an event source mapping; the table's stream must be there. It ends when ctx does,
// or with the stack; batches whose invocation has begun are still settled.
//
//	err := stack.MapStream(ctx, devstack.StreamMapping{Function: "stream", Client: client, Table: "outbox", StartingPosition: types.ShardIteratorTypeLatest})
func (s *Stack) MapStream(ctx context.Context, m StreamMapping) error {
	m = m.withDefaults()
	if s.pools[m.Function] == nil {
		return fmt.Errorf("map stream of %s: %w", m.Table, ErrUnknownFunction)
	}
	st, err := openStream(ctx, m)
	if err != nil {
		return fmt.Errorf("map stream of %s: %w", m.Table, err)
	}
	st.invoke = func(ctx context.Context, event []byte) (Result, error) { return s.Invoke(ctx, m.Function, event) }
	st.say = func(format string, args ...any) { s.out.printf(m.Function, "stream of "+m.Table+": "+format, args...) }
	if !s.launch(ctx, st.run) {
		return fmt.Errorf("map stream of %s: %w", m.Table, ErrStopped)
	}
	return nil
}

func (m StreamMapping) withDefaults() StreamMapping {
	m.BatchSize = cmp.Or(m.BatchSize, DefaultStreamBatch)
	m.MaximumRecordAge = cmp.Or(m.MaximumRecordAge, streamRetention)
	m.ParallelizationFactor = cmp.Or(m.ParallelizationFactor, 1)
	return m
}

func (m StreamMapping) check() error {
	switch {
	case m.Client == nil:
		return errors.New("client is missing")
	case m.Table == "":
		return errors.New("table is missing")
	case m.StartingPosition != types.ShardIteratorTypeTrimHorizon && m.StartingPosition != types.ShardIteratorTypeLatest:
		return fmt.Errorf("starting position %q is neither TRIM_HORIZON nor LATEST", m.StartingPosition)
	case m.ParallelizationFactor < 1 || m.ParallelizationFactor > MaxParallelizationFactor:
		return fmt.Errorf("parallelization factor %d is not within 1 to %d", m.ParallelizationFactor, MaxParallelizationFactor)
	case m.MaximumRetryAttempts < Unlimited || m.MaximumRetryAttempts > MaxRetryAttempts:
		return fmt.Errorf("%d retry attempts: want 0 to %d, or Unlimited", m.MaximumRetryAttempts, MaxRetryAttempts)
	case m.MaximumRecordAge < LeastRecordAge || m.MaximumRecordAge > MaxRecordAge:
		return fmt.Errorf("record age %v is not within %v to %v", m.MaximumRecordAge, LeastRecordAge, MaxRecordAge)
	case m.OnFailure != "" && m.Queues == nil:
		return errors.New("OnFailure needs Queues: a client of its SQS")
	}
	return checkBatch(m.BatchSize, m.BatchingWindow)
}
