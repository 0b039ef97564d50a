// Package streams is DynamoDB Streams: what changed in tables, kept for a day, in order for each item.
//
// It follows the service's documentation; docs/local-aws.md lists the operations and the departures. Package ddb tells
// it of changes. Nothing runs in the background: a stream ages when it is asked for. A Service is
// not safe for concurrent use, but for Decode; package localaws guards it.
package streams

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
	"github.com/landfall-dev/landfall/internal/lab/localaws/wire"
)

// Service is DynamoDB Streams in one account and region. It implements wire.Service.
type Service struct {
	region  string
	seq     uint64 // the last sequence number
	streams map[string]*Stream
}

// New makes a Service without streams.
func New(region string) *Service { return &Service{region: region, streams: map[string]*Stream{}} }

// Name is the name of the service in ledgers and fault plans.
func (s *Service) Name() string { return "dynamodbstreams" }

// Target is what stands before the names of operations on the wire.
func (s *Service) Target() string { return "DynamoDBStreams_20120810" }

func (s *Service) next() uint64 {
	s.seq++
	return s.seq
}

// operation is a request that was read.
type operation struct {
	resource string
	run      func(now time.Time, f faults.Fault) wire.Outcome
}

// Resource is the ARN of the stream, or the table, that the operation is about.
func (o operation) Resource() string { return o.resource }

// Run does the work, unless the fault is an error.
func (o operation) Run(now time.Time, f faults.Fault) wire.Outcome {
	switch f.Error {
	case "":
		return o.run(now, f)
	case faults.Throttle:
		return wire.Outcome{Err: failure("LimitExceededException", "Rate exceeded")}
	}
	e := failure("InternalServerError", "Internal server error")
	e.Status = http.StatusInternalServerError
	return wire.Outcome{Err: e}
}

var operations = wire.Operations[*Service]{
	"DescribeStream":   wire.Reading((*Service).describeStream),
	"GetRecords":       wire.Reading((*Service).getRecords),
	"GetShardIterator": wire.Reading((*Service).getShardIterator),
	"ListStreams":      wire.Reading((*Service).listStreams),
}

// Decode reads and checks a request as far as that is possible without looking at streams.
func (s *Service) Decode(r *wire.Request) (wire.Operation, error) {
	return operations.Decode("DynamoDB Streams", s, r)
}

// stream is the stream of that ARN as of now, or the service's error.
func (s *Service) stream(now time.Time, arn string) (*Stream, error) {
	st := s.streams[arn]
	if st != nil && !st.closed.IsZero() && now.Sub(st.closed) >= Retention {
		delete(s.streams, arn)
		st = nil
	}
	if st == nil {
		return nil, failure("ResourceNotFoundException", "Requested resource not found: Stream: %s not found", arn)
	}
	st.age(now)
	return st, nil
}

// live are the streams as of now, in the order of their ARNs.
func (s *Service) live(now time.Time) []*Stream {
	var list []*Stream
	for _, arn := range slices.Sorted(maps.Keys(s.streams)) {
		if st, err := s.stream(now, arn); err == nil {
			list = append(list, st)
		}
	}
	return list
}

func failure(typ, format string, args ...any) *wire.Error {
	return &wire.Error{Namespace: "com.amazonaws.dynamodb.v20120810", Type: typ, Message: fmt.Sprintf(format, args...)}
}

// limited is a number of at least 1 and at most high, which it is if it is not there.
func limited(c *wire.Constraints, n *int, high int) int {
	c.Number("limit", n, 1, high)
	return wire.Given(n, high)
}
