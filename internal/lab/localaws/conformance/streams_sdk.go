package conformance

import (
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamodbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/landfall-dev/landfall/internal/lab/localaws"
)

// Stream is the stream of a table under test. Its methods fail the test when the endpoint does not do what they are for.
type Stream struct {
	t     testing.TB
	DB    *dynamodb.Client
	C     *dynamodbstreams.Client
	Table string
	ARN   string
}

// NewStream makes a table with a stream of a view type, in an account of its own if the endpoint is ours. The table is
// deleted after the test.
func NewStream(t testing.TB, s Schema, view dynamodbtypes.StreamViewType) *Stream {
	t.Helper()
	config := aws.Config{Region: localaws.Region, Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")}
	if endpoint := os.Getenv("LANDFALL_ENDPOINT"); endpoint != "" {
		config.BaseEndpoint = &endpoint
	} else {
		config = localaws.New(localaws.Options{}).Config("conformance")
	}
	return StreamOf(t, config, s, view)
}

// StreamOf is NewStream in a given account.
func StreamOf(t testing.TB, config aws.Config, s Schema, view dynamodbtypes.StreamViewType) *Stream {
	t.Helper()
	s.Stream = view
	st := &Stream{t: t, DB: dynamodb.NewFromConfig(config), C: dynamodbstreams.NewFromConfig(config)}
	st.Table = Table(t, st.DB, s)
	out, err := st.DB.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &st.Table})
	if err != nil {
		t.Fatalf("describe table: %v", err)
	}
	st.ARN = aws.ToString(out.Table.LatestStreamArn)
	return st
}

// Shards are the shards of the stream, parents before children.
func (st *Stream) Shards() []types.Shard {
	st.t.Helper()
	var shards []types.Shard
	var from *string
	for {
		out, err := st.C.DescribeStream(st.t.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: &st.ARN, ExclusiveStartShardId: from})
		if err != nil {
			st.t.Fatalf("describe stream: %v", err)
		}
		shards = append(shards, out.StreamDescription.Shards...)
		if from = out.StreamDescription.LastEvaluatedShardId; from == nil {
			return shards
		}
	}
}

// Iterator is an iterator of a shard; sequence may be empty.
func (st *Stream) Iterator(shard *string, kind types.ShardIteratorType, sequence string) (*string, error) {
	in := &dynamodbstreams.GetShardIteratorInput{StreamArn: &st.ARN, ShardId: shard, ShardIteratorType: kind}
	if sequence != "" {
		in.SequenceNumber = &sequence
	}
	out, err := st.C.GetShardIterator(st.t.Context(), in)
	if err != nil {
		return nil, err
	}
	return out.ShardIterator, nil
}

// Read reads from an iterator until n records have come, the shard ends or some time has passed. It returns the next
// iterator, too.
func (st *Stream) Read(iterator *string, n int) ([]types.Record, *string) {
	st.t.Helper()
	var records []types.Record
	for deadline := time.Now().Add(5 * time.Second); iterator != nil; {
		out, err := st.C.GetRecords(st.t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: iterator})
		if err != nil {
			st.t.Fatalf("get records: %v", err)
		}
		records, iterator = append(records, out.Records...), out.NextShardIterator
		if len(records) >= n || len(out.Records) == 0 && time.Now().After(deadline) {
			break
		}
		pause(200 * time.Millisecond)
	}
	return records, iterator
}

// All reads all records that there are, shard by shard, until n have come.
func (st *Stream) All(n int) []types.Record {
	st.t.Helper()
	var records []types.Record
	for deadline := time.Now().Add(5 * time.Second); ; pause(200 * time.Millisecond) {
		records = nil
		for _, shard := range st.Shards() {
			iterator, err := st.Iterator(shard.ShardId, types.ShardIteratorTypeTrimHorizon, "")
			if err != nil {
				st.t.Fatalf("get iterator: %v", err)
			}
			some, _ := st.Read(iterator, 0)
			records = append(records, some...)
		}
		if len(records) >= n || time.Now().After(deadline) {
			return records
		}
	}
}

func pause(d time.Duration) { <-time.After(d) }
