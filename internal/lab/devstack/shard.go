package devstack

import (
	"context"
	"errors"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/landfall-dev/landfall/internal/bounded"
)

// drain reads a shard to its end, and returns when its records are done with or ctx has ended.
func (s *stream) drain(ctx context.Context, shard string) {
	var pumps sync.WaitGroup
	defer pumps.Wait()
	parts := make([]*shardPart, s.mapping.ParallelizationFactor)
	for i := range parts {
		ctx, end := context.WithCancel(ctx)
		part := &shardPart{stream: s, shard: shard, feed: make(chan []streamRecord, readAhead), end: end}
		parts[i] = part
		pumps.Go(func() {
			defer end()
			pump{source: part, invoke: s.invoke, concurrency: 1, report: s.mapping.ReportBatchItemFailures, say: s.say}.run(ctx)
		})
	}
	s.read(ctx, shard, func(records []streamRecord) {
		pages := make([][]streamRecord, len(parts))
		for _, r := range records {
			at := int(r.key % uint32(len(parts)))
			pages[at] = append(pages[at], r)
		}
		for i, page := range pages {
			if len(page) == 0 {
				continue
			}
			select {
			case parts[i].feed <- page:
			case <-ctx.Done():
			}
		}
	})
	for _, part := range parts {
		close(part.feed)
	}
}

// read hands on the records of a shard that pass the filters, until the shard or ctx ends.
func (s *stream) read(ctx context.Context, shard string, hand func([]streamRecord)) {
	iterator, kind, last := s.begin[shard], types.ShardIteratorTypeTrimHorizon, ""
	if iterator != nil {
		kind = s.mapping.StartingPosition
	}
	limit := int32(min(s.mapping.BatchSize, maxPage))
	wait := firstPollWait
	for {
		var err error
		if iterator == nil {
			iterator, err = s.iterator(ctx, shard, kind, last)
		}
		var out *dynamodbstreams.GetRecordsOutput
		if err == nil {
			out, err = s.mapping.Client.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: iterator, Limit: &limit})
		}
		var expired *types.ExpiredIteratorException
		var trimmed *types.TrimmedDataAccessException
		var gone *types.ResourceNotFoundException
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
		case errors.As(err, &expired):
			iterator = nil
			continue
		case errors.As(err, &trimmed):
			s.say("records of the shard %s were lost: they expired before they were read", shard)
			iterator, kind, last = nil, types.ShardIteratorTypeTrimHorizon, ""
			continue
		case errors.As(err, &gone):
			s.say("the shard %s is gone: %v", shard, err)
			return
		default:
			s.say("read failed, next try in %v: %v", wait, err)
			if !bounded.Pause(ctx, wait) {
				return
			}
			wait = min(2*wait, maxPollWait)
			continue
		}
		wait = firstPollWait
		records := make([]streamRecord, 0, len(out.Records))
		for _, r := range out.Records {
			record := s.record(r)
			kind, last = types.ShardIteratorTypeAfterSequenceNumber, record.sequence
			if passes(s.patterns, record.text) {
				records = append(records, record)
			}
		}
		hand(records)
		if iterator = out.NextShardIterator; iterator == nil {
			return
		}
		if len(out.Records) == 0 && !bounded.Pause(ctx, shardPause) {
			return
		}
	}
}
