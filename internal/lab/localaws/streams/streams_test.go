package streams_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamodbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/smithy-go"

	"github.com/landfall-dev/landfall/internal/lab/localaws"
	"github.com/landfall-dev/landfall/internal/lab/localaws/conformance"
	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
	"github.com/landfall-dev/landfall/internal/lab/localaws/ledger"
)

// bundle is a table with a stream, in a bubble.
type bundle struct {
	*conformance.Stream
	t       *testing.T
	account *localaws.Account
}

func inBubble(t *testing.T, plan faults.Plan, test func(*testing.T, bundle)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		account := localaws.New(localaws.Options{Faults: plan})
		test(t, bundle{conformance.StreamOf(t, account.Config("test"), conformance.Schema{Key: "pk"}, "NEW_IMAGE"), t, account})
	})
}

func (b bundle) put(versions ...int) {
	b.t.Helper()
	for _, v := range versions {
		if _, err := b.DB.PutItem(b.t.Context(), &dynamodb.PutItemInput{TableName: &b.Table, Item: conformance.Of("pk", "a", "v", v)}); err != nil {
			b.t.Fatal(err)
		}
	}
}

// shard is the open shard that has the item.
func (b bundle) shard() types.Shard {
	b.t.Helper()
	for _, s := range b.Shards() {
		if len(b.read(b.iterator(s.ShardId, "TRIM_HORIZON"))) > 0 {
			return s
		}
	}
	b.t.Fatal("no shard has records")
	return types.Shard{}
}

func (b bundle) iterator(shard *string, kind types.ShardIteratorType) *string {
	b.t.Helper()
	i, err := b.Iterator(shard, kind, "")
	if err != nil {
		b.t.Fatal(err)
	}
	return i
}

func (b bundle) get(iterator *string) (*dynamodbstreams.GetRecordsOutput, error) {
	return b.C.GetRecords(b.t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: iterator})
}

// read are the versions that one answer has.
func (b bundle) read(iterator *string) []string {
	b.t.Helper()
	out, err := b.get(iterator)
	if err != nil {
		b.t.Fatal(err)
	}
	return versions(out)
}

func versions(out *dynamodbstreams.GetRecordsOutput) []string {
	list := []string{}
	for _, r := range out.Records {
		n, ok := r.Dynamodb.NewImage["v"].(*types.AttributeValueMemberN)
		if !ok {
			list = append(list, "-")
			continue
		}
		list = append(list, n.Value)
	}
	return list
}

func code(err error) string {
	var e smithy.APIError
	if errors.As(err, &e) {
		return e.ErrorCode()
	}
	return fmt.Sprint(err)
}

func TestIteratorExpires(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, b bundle) {
		b.put(1)
		i := b.iterator(b.shard().ShardId, "TRIM_HORIZON")
		time.Sleep(15*time.Minute - time.Millisecond) // virtual
		out, err := b.get(i)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond) // virtual
		if _, err := b.get(i); code(err) != "ExpiredIteratorException" {
			t.Errorf("an old iterator: %v", err)
		}
		if _, err := b.get(out.NextShardIterator); err != nil {
			t.Errorf("its successor: %v", err)
		}
	})
}

func TestRecordsExpireAfterADay(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, b bundle) {
		b.put(1)
		first := b.All(1)[0].Dynamodb.SequenceNumber
		shard := b.shard().ShardId
		time.Sleep(time.Hour) // virtual
		b.put(2)
		time.Sleep(23*time.Hour - time.Second) // virtual
		at, err := b.Iterator(shard, "AT_SEQUENCE_NUMBER", *first)
		if err != nil {
			t.Fatal(err)
		}
		if got := b.read(at); !slices.Equal(got, []string{"1", "2"}) {
			t.Errorf("after a day but for a second: %v", got)
		}
		time.Sleep(time.Second) // virtual
		if _, err := b.get(at); code(err) != "TrimmedDataAccessException" {
			t.Errorf("a place that is gone: %v", err)
		}
		if _, err := b.Iterator(shard, "AT_SEQUENCE_NUMBER", *first); code(err) != "TrimmedDataAccessException" {
			t.Errorf("an iterator of a record that is gone: %v", err)
		}
		if got := b.read(b.iterator(shard, "TRIM_HORIZON")); !slices.Equal(got, []string{"2"}) {
			t.Errorf("after a day: %v", got)
		}
	})
}

func TestShardIsClosedAfterFourHours(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, b bundle) {
		b.put(1)
		old := b.shard()
		time.Sleep(4*time.Hour - time.Second) // virtual
		b.put(2)
		i := b.iterator(old.ShardId, "TRIM_HORIZON")
		time.Sleep(time.Second) // virtual
		b.put(3)
		out, err := b.get(i)
		if err != nil || !slices.Equal(versions(out), []string{"1", "2"}) || out.NextShardIterator != nil {
			t.Errorf("the closed shard: %v, %v, next %v", versions(out), err, out.NextShardIterator)
		}
		limited, err := b.C.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: i, Limit: aws.Int32(1)})
		if err != nil || len(limited.Records) != 1 || limited.NextShardIterator == nil {
			t.Errorf("a page of the closed shard: %v, next %v", err, limited.NextShardIterator)
		}
		shards := b.Shards()
		if len(shards) != 8 {
			t.Errorf("%d shards", len(shards))
		}
		for _, s := range shards {
			if closed := s.SequenceNumberRange.EndingSequenceNumber != nil; closed != (s.ParentShardId == nil) {
				t.Errorf("shard %s: closed %v, parent %s", *s.ShardId, closed, aws.ToString(s.ParentShardId))
			}
			if aws.ToString(s.ParentShardId) == *old.ShardId {
				if got := b.read(b.iterator(s.ShardId, "TRIM_HORIZON")); !slices.Equal(got, []string{"3"}) {
					t.Errorf("the child: %v", got)
				}
				for shard, foreign := range map[*string]*string{s.ShardId: out.Records[0].Dynamodb.SequenceNumber, old.ShardId: s.SequenceNumberRange.StartingSequenceNumber} {
					if _, err := b.Iterator(shard, "AT_SEQUENCE_NUMBER", *foreign); code(err) != "ValidationException" {
						t.Errorf("a record of another shard: %v", err)
					}
				}
			}
		}
		children, err := b.C.DescribeStream(t.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: &b.ARN, ShardFilter: &types.ShardFilter{Type: "CHILD_SHARDS", ShardId: old.ShardId}})
		if err != nil || len(children.StreamDescription.Shards) != 1 {
			t.Errorf("children: %+v, %v", children, err)
		}
		time.Sleep(24 * time.Hour) // virtual
		if shards := b.Shards(); slices.ContainsFunc(shards, func(s types.Shard) bool { return *s.ShardId == *old.ShardId }) {
			t.Error("the shard is there a day after it was closed")
		}
	})
}

func TestStreamOutlivesItsTable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		account := localaws.New(localaws.Options{})
		db, c := dynamodb.NewFromConfig(account.Config("test")), dynamodbstreams.NewFromConfig(account.Config("test"))
		create := func() string {
			out, err := db.CreateTable(t.Context(), &dynamodb.CreateTableInput{TableName: aws.String("table"), BillingMode: "PAY_PER_REQUEST",
				KeySchema:            []dynamodbtypes.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: "HASH"}},
				AttributeDefinitions: []dynamodbtypes.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: "S"}},
				StreamSpecification:  &dynamodbtypes.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: "KEYS_ONLY"}})
			if err != nil {
				t.Fatal(err)
			}
			return *out.TableDescription.LatestStreamArn
		}
		old := create()
		if _, err := db.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String("table")}); err != nil {
			t.Fatal(err)
		}
		again := create() // at the same time
		if again == old || !strings.HasPrefix(again, "arn:aws:dynamodb:us-east-1:000000000000:table/table/stream/") {
			t.Errorf("streams %s and %s", old, again)
		}
		for _, c := range []struct {
			arn, status string
			open        bool
		}{{old, "DISABLED", false}, {again, "ENABLED", true}} {
			out, err := dynamodbstreams.NewFromConfig(account.Config("test")).DescribeStream(t.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: &c.arn})
			if err != nil || string(out.StreamDescription.StreamStatus) != c.status || (out.StreamDescription.Shards[0].SequenceNumberRange.EndingSequenceNumber == nil) != c.open {
				t.Errorf("%s: %+v, %v", c.arn, out, err)
			}
		}
		time.Sleep(24 * time.Hour) // virtual
		out, err := c.ListStreams(t.Context(), &dynamodbstreams.ListStreamsInput{})
		if err != nil || len(out.Streams) != 1 || *out.Streams[0].StreamArn != again {
			t.Errorf("after a day: %+v, %v", out, err)
		}
	})
}

// What a plan does to reads, in answers until they are empty.
func TestFaultsOfReadsLeaveTheStreamAsItIs(t *testing.T) {
	for name, c := range map[string]struct {
		fault faults.Fault // of the first read
		want  string
	}{
		"none":       {faults.Fault{}, "[1 2 3] []"},
		"duplicates": {faults.Fault{Duplicates: 2}, "[1 2 3] [2 3] []"},
		"all twice":  {faults.Fault{Duplicates: 9}, "[1 2 3] [1 2 3] []"},
		"lost":       {faults.Fault{Lost: 1}, "[2 3] []"},
		"all lost":   {faults.Fault{Lost: 9}, "[] []"},
		"late":       {faults.Fault{Late: 2 * time.Second}, "[1] [2 3] []"},
		"throttled":  {faults.Fault{Error: faults.Throttle}, "LimitExceededException [1 2 3] []"},
		"failed":     {faults.Fault{Error: faults.Internal}, "InternalServerError [1 2 3] []"},
	} {
		t.Run(name, func(t *testing.T) {
			armed := false
			inBubble(t, func(r faults.Request) faults.Fault {
				if r.Operation == "GetRecords" && armed {
					armed = false
					return c.fault
				}
				return faults.Fault{}
			}, func(t *testing.T, b bundle) {
				b.put(1)
				shard := b.shard().ShardId
				time.Sleep(2 * time.Second) // virtual
				b.put(2, 3)
				armed = true
				i := b.iterator(shard, "TRIM_HORIZON")
				got := []string{}
				for n := 0; n < 2 || got[len(got)-1] != "[]"; n++ {
					out, err := b.C.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: i}, func(o *dynamodbstreams.Options) { o.Retryer = aws.NopRetryer{} })
					if err != nil {
						got = append(got, code(err))
						continue
					}
					got, i = append(got, fmt.Sprint(versions(out))), out.NextShardIterator
				}
				if got := strings.Join(got, " "); got != c.want {
					t.Errorf("read %s", got)
				}
				if got := b.read(b.iterator(shard, "TRIM_HORIZON")); len(got) != 3 {
					t.Errorf("the stream has %v", got)
				}
			})
		})
	}
}

func TestOnlyReadsAreBilled(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, b bundle) {
		b.put(1)
		b.shard()
		before := b.account.Ledger().Sum(nil)
		i := b.iterator(b.Shards()[0].ShardId, "LATEST")
		for range 3 {
			b.read(i)
		}
		sum := b.account.Ledger().Sum(func(k ledger.Key) bool {
			return k.Service == "dynamodbstreams" && k.Operation == "GetRecords" && k.Resource == b.ARN
		})
		all := b.account.Ledger().Sum(nil)
		if read, write := all.Units(); all.Billed-before.Billed != 3 || sum.Billed != sum.Requests || read != 0 || write != 1 {
			t.Errorf("reads %+v, all %+v", sum, all)
		}
	})
}

func TestStreamsAreListedWhole(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, b bundle) {
		want := []string{b.ARN}
		for range 2 {
			other := conformance.StreamOf(t, b.account.Config("test"), conformance.Schema{Key: "pk"}, "KEYS_ONLY")
			want = append(want, other.ARN)
			one, err := b.C.ListStreams(t.Context(), &dynamodbstreams.ListStreamsInput{TableName: &other.Table})
			if err != nil || len(one.Streams) != 1 || *one.Streams[0].StreamArn != other.ARN {
				t.Errorf("streams of one table: %+v, %v", one, err)
			}
		}
		slices.Sort(want)
		var got []string
		in := &dynamodbstreams.ListStreamsInput{Limit: aws.Int32(2)}
		for {
			out, err := b.C.ListStreams(t.Context(), in)
			if err != nil || len(out.Streams) > 2 {
				t.Fatalf("%+v, %v", out, err)
			}
			for _, s := range out.Streams {
				got = append(got, *s.StreamArn)
			}
			if in.ExclusiveStartStreamArn = out.LastEvaluatedStreamArn; in.ExclusiveStartStreamArn == nil {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("listed %v", got)
		}
	})
}
