package devstack

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html and
// https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html#dynamodb-polling-and-batching
const (
	streamRetention = 24 * time.Hour
	shardPause      = 250 * time.Millisecond // between reads of a shard that find nothing
	shardSearch     = 10 * time.Second       // between searches for new shards
	readAhead       = 4                      // answers with records that may wait for their batches
	maxPage         = 1000                   // records of an answer
)

// stream is the mapping of a stream at work: each shard that is open has a reader, and pumps to which
// it hands its records.
type stream struct {
	mapping  StreamMapping
	arn      string
	region   string
	patterns []pattern
	begin    map[string]*string // iterators of the shards that are there at the start
	invoke   func(ctx context.Context, event []byte) (Result, error)
	say      func(format string, args ...any)
}

// openStream checks a mapping and finds the stream, and where to begin in it.
func openStream(ctx context.Context, m StreamMapping) (*stream, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	s := &stream{mapping: m, begin: map[string]*string{}}
	for _, text := range m.Filters {
		p, err := parsePattern(text)
		if err != nil {
			return nil, err
		}
		s.patterns = append(s.patterns, p)
	}
	if err := s.find(ctx); err != nil {
		return nil, err
	}
	shards, err := s.shards(ctx)
	if err != nil {
		return nil, err
	}
	for _, shard := range shards {
		id := aws.ToString(shard.ShardId)
		if s.begin[id], err = s.iterator(ctx, id, m.StartingPosition, ""); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// find finds the table's latest stream: labels are times.
func (s *stream) find(ctx context.Context) error {
	in := &dynamodbstreams.ListStreamsInput{TableName: &s.mapping.Table}
	label := ""
	for {
		out, err := s.mapping.Client.ListStreams(ctx, in)
		if err != nil {
			return err
		}
		for _, st := range out.Streams {
			if l := aws.ToString(st.StreamLabel); l > label {
				label, s.arn = l, aws.ToString(st.StreamArn)
			}
		}
		if in.ExclusiveStartStreamArn = out.LastEvaluatedStreamArn; in.ExclusiveStartStreamArn == nil {
			break
		}
	}
	parts := strings.SplitN(s.arn, ":", 6) // arn:aws:dynamodb:<region>:<account>:table/<name>/stream/<label>
	if len(parts) != 6 {
		return fmt.Errorf("the table has no stream: create it with a StreamSpecification")
	}
	s.region = parts[3]
	return nil
}

func (s *stream) shards(ctx context.Context) ([]types.Shard, error) {
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: &s.arn}
	var list []types.Shard
	for {
		out, err := s.mapping.Client.DescribeStream(ctx, in)
		if err != nil {
			return nil, err
		}
		list = append(list, out.StreamDescription.Shards...)
		if in.ExclusiveStartShardId = out.StreamDescription.LastEvaluatedShardId; in.ExclusiveStartShardId == nil {
			return list, nil
		}
	}
}

func (s *stream) iterator(ctx context.Context, shard string, kind types.ShardIteratorType, sequence string) (*string, error) {
	in := &dynamodbstreams.GetShardIteratorInput{StreamArn: &s.arn, ShardId: &shard, ShardIteratorType: kind}
	if sequence != "" {
		in.SequenceNumber = &sequence
	}
	out, err := s.mapping.Client.GetShardIterator(ctx, in)
	if err != nil {
		return nil, err
	}
	return out.ShardIterator, nil
}

// run returns when ctx has ended and the batches under way are settled. A shard is begun when its
// parent is done with: so an item's records stay in order.
func (s *stream) run(ctx context.Context) {
	var readers sync.WaitGroup
	defer readers.Wait()
	ended := make(chan string)
	done := map[string]bool{} // shards that were begun; true once they are done with
	for {
		shards, err := s.shards(ctx)
		var gone *types.ResourceNotFoundException
		switch {
		case err == nil, ctx.Err() != nil:
		case errors.As(err, &gone):
			s.say("the stream is gone: %v", err)
			return
		default:
			s.say("search for shards failed, next try in %v: %v", shardSearch, err)
		}
		waiting := map[string]bool{} // shards whose records come first
		for _, shard := range shards {
			waiting[*shard.ShardId] = !done[*shard.ShardId]
		}
		for _, shard := range shards {
			id := *shard.ShardId
			if _, begun := done[id]; begun || waiting[aws.ToString(shard.ParentShardId)] {
				continue
			}
			done[id] = false
			readers.Go(func() {
				s.drain(ctx, id)
				select {
				case ended <- id:
				case <-ctx.Done():
				}
			})
		}
		select {
		case id := <-ended:
			done[id] = true
		case <-time.After(shardSearch):
		case <-ctx.Done():
			return
		}
	}
}
