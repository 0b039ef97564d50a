package conformance

import (
	"fmt"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamodbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// told is what a record says, in short: the event, the version (v) of the images, the size.
func told(r types.Record) string {
	d := r.Dynamodb
	return fmt.Sprint(r.EventName, " key ", names(d.Keys), " new ", version(d.NewImage), " old ", version(d.OldImage), " ", aws.ToInt64(d.SizeBytes))
}

func names(item map[string]types.AttributeValue) []string {
	list := []string{}
	for name, v := range item {
		list = append(list, name+"="+fmt.Sprint(scalar(v)))
	}
	slices.Sort(list)
	return list
}

func version(item map[string]types.AttributeValue) string {
	if len(item) == 0 {
		return "-"
	}
	return fmt.Sprint(scalar(item["v"]))
}

func scalar(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	}
	return "?"
}

func write(t *testing.T, st *Stream, items ...Item) {
	t.Helper()
	put(t, st.DB, st.Table, items...)
}

func TestStreamTellsItsViewOfRealChanges(t *testing.T) {
	t.Parallel()
	for view, want := range map[dynamodbtypes.StreamViewType][]string{
		"KEYS_ONLY":          {"INSERT key [pk=a] new - old - 3", "MODIFY key [pk=a] new - old - 3", "REMOVE key [pk=a] new - old - 3"},
		"NEW_IMAGE":          {"INSERT key [pk=a] new one old - 10", "MODIFY key [pk=a] new three old - 12", "REMOVE key [pk=a] new - old - 3"},
		"OLD_IMAGE":          {"INSERT key [pk=a] new - old - 3", "MODIFY key [pk=a] new - old one 10", "REMOVE key [pk=a] new - old three 12"},
		"NEW_AND_OLD_IMAGES": {"INSERT key [pk=a] new one old - 10", "MODIFY key [pk=a] new three old one 19", "REMOVE key [pk=a] new - old three 12"},
	} {
		t.Run(string(view), func(t *testing.T) {
			t.Parallel()
			OverTime(t, func(t *testing.T) {
				st := NewStream(t, Schema{Key: "pk"}, view)
				key := Of("pk", "a")
				remove := func() {
					t.Helper()
					if _, err := st.DB.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &st.Table, Key: key}); err != nil {
						t.Fatal(err)
					}
				}
				refused := update(st.Table, key, "SET v = :v", Of(":v", "two"))
				refused.ConditionExpression = aws.String("v = :v")
				remove()
				write(t, st, Of("pk", "a", "v", "one"), Of("pk", "a", "v", "one"))
				if _, err := st.DB.UpdateItem(t.Context(), refused); code(err) != "ConditionalCheckFailedException" {
					t.Fatal(err)
				}
				for range 2 {
					if _, err := st.DB.UpdateItem(t.Context(), update(st.Table, key, "SET v = :v", Of(":v", "three"))); err != nil {
						t.Fatal(err)
					}
				}
				remove()
				remove()
				var got []string
				for _, r := range st.All(len(want)) {
					got = append(got, told(r))
					if r.Dynamodb.StreamViewType != types.StreamViewType(view) || aws.ToString(r.EventSource) != "aws:dynamodb" || aws.ToString(r.EventVersion) != "1.1" || aws.ToString(r.EventID) == "" || r.UserIdentity != nil {
						t.Errorf("%s: view %s, source %s, version %s, id %s, identity %v", told(r), r.Dynamodb.StreamViewType, aws.ToString(r.EventSource), aws.ToString(r.EventVersion), aws.ToString(r.EventID), r.UserIdentity)
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("got %q", got)
				}
			})
		})
	}
}

func TestStreamKeepsTheOrderOfAnItemsChanges(t *testing.T) {
	t.Parallel()
	OverTime(t, func(t *testing.T) {
		st := NewStream(t, Schema{Key: "pk sk:N"}, "NEW_IMAGE")
		const keys, versions = 20, 5
		for v := range versions {
			for k := range keys {
				write(t, st, Of("pk", fmt.Sprint(k), "sk", k, "v", v))
			}
		}
		got, ids := map[string]string{}, map[string]bool{}
		last := ""
		for _, r := range st.All(keys * versions) {
			key := fmt.Sprint(names(r.Dynamodb.Keys))
			got[key] += version(r.Dynamodb.NewImage)
			ids[*r.EventID] = true
			last = max(last, *r.Dynamodb.SequenceNumber)
			if n := len(*r.Dynamodb.SequenceNumber); n < 21 || n > 40 {
				t.Errorf("sequence number %s", *r.Dynamodb.SequenceNumber)
			}
		}
		for key, order := range got {
			if order != "01234" {
				t.Errorf("%s: %s", key, order)
			}
		}
		if len(got) != keys || len(ids) != keys*versions {
			t.Errorf("%d keys, %d events", len(got), len(ids))
		}
	})
}

func TestTransactionIsARecordForEachItem(t *testing.T) {
	t.Parallel()
	OverTime(t, func(t *testing.T) {
		st := NewStream(t, Schema{Key: "pk"}, "NEW_IMAGE")
		write(t, st, Of("pk", "c", "v", 0))
		in := &dynamodb.TransactWriteItemsInput{TransactItems: []dynamodbtypes.TransactWriteItem{
			{Put: &dynamodbtypes.Put{TableName: &st.Table, Item: Of("pk", "a", "v", 1)}},
			{Update: &dynamodbtypes.Update{TableName: &st.Table, Key: Of("pk", "b"), UpdateExpression: aws.String("SET v = :v"), ExpressionAttributeValues: Of(":v", 2)}},
			{ConditionCheck: &dynamodbtypes.ConditionCheck{TableName: &st.Table, Key: Of("pk", "c"), ConditionExpression: aws.String("attribute_exists(pk)")}},
		}}
		if _, err := st.DB.TransactWriteItems(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		in.TransactItems[0].Put.ConditionExpression = aws.String("attribute_not_exists(pk)")
		if _, err := st.DB.TransactWriteItems(t.Context(), in); err == nil {
			t.Fatal("the transaction was not refused")
		}
		var got []string
		for _, r := range st.All(3) {
			got = append(got, told(r))
		}
		slices.Sort(got)
		want := []string{"INSERT key [pk=a] new 1 old - 9", "INSERT key [pk=b] new 2 old - 9", "INSERT key [pk=c] new 0 old - 8"}
		if !slices.Equal(got, want) {
			t.Errorf("got %q", got)
		}
	})
}

func TestIteratorStartsWhereItsTypeSays(t *testing.T) {
	t.Parallel()
	OverTime(t, func(t *testing.T) {
		st := NewStream(t, Schema{Key: "pk"}, "NEW_IMAGE")
		for v := range 4 {
			write(t, st, Of("pk", "a", "v", v))
		}
		all := st.All(4)
		if len(all) != 4 {
			t.Fatalf("%d records", len(all))
		}
		shard := st.shardOf(*all[0].Dynamodb.SequenceNumber)
		latest, err := st.Iterator(shard, "LATEST", "")
		if err != nil {
			t.Fatal(err)
		}
		write(t, st, Of("pk", "a", "v", 4))
		for _, c := range []struct {
			kind types.ShardIteratorType
			seq  string
			want string
		}{
			{"TRIM_HORIZON", "", "01234"},
			{"AT_SEQUENCE_NUMBER", *all[2].Dynamodb.SequenceNumber, "234"},
			{"AFTER_SEQUENCE_NUMBER", *all[2].Dynamodb.SequenceNumber, "34"},
			{"LATEST", "", "4"},
		} {
			iterator := latest
			if c.kind != "LATEST" {
				if iterator, err = st.Iterator(shard, c.kind, c.seq); err != nil {
					t.Fatal(err)
				}
			}
			records, next := st.Read(iterator, len(c.want))
			got := ""
			for _, r := range records {
				got += version(r.Dynamodb.NewImage)
			}
			if got != c.want || next == nil {
				t.Errorf("%s: %s, next %v", c.kind, got, next)
			}
		}
	})
}

// shardOf is the shard that has a record.
func (st *Stream) shardOf(sequence string) *string {
	st.t.Helper()
	for _, shard := range st.Shards() {
		iterator, err := st.Iterator(shard.ShardId, "TRIM_HORIZON", "")
		if err != nil {
			st.t.Fatal(err)
		}
		records, _ := st.Read(iterator, 0)
		if slices.ContainsFunc(records, func(r types.Record) bool { return *r.Dynamodb.SequenceNumber == sequence }) {
			return shard.ShardId
		}
	}
	st.t.Fatalf("no shard has %s", sequence)
	return nil
}

func TestPageOfRecordsKeepsItsLimit(t *testing.T) {
	t.Parallel()
	OverTime(t, func(t *testing.T) {
		st := NewStream(t, Schema{Key: "pk"}, "NEW_IMAGE")
		for v := range 4 {
			write(t, st, sized(350<<10, "pk", "a", "v", v))
		}
		shard := st.shardOf(*st.All(3)[0].Dynamodb.SequenceNumber)
		for limit, want := range map[int32][]int{2: {2, 2}, 1000: {2, 2}, 1: {1, 1, 1, 1}} {
			iterator, err := st.Iterator(shard, "TRIM_HORIZON", "")
			if err != nil {
				t.Fatal(err)
			}
			var got []int
			for range want {
				out, err := st.C.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: iterator, Limit: &limit})
				if err != nil {
					t.Fatal(err)
				}
				got, iterator = append(got, len(out.Records)), out.NextShardIterator
			}
			if !slices.Equal(got, want) {
				t.Errorf("limit %d: %v", limit, got)
			}
		}
	})
}

func TestStreamIsDescribedWhole(t *testing.T) {
	t.Parallel()
	st := NewStream(t, Schema{Key: "pk sk"}, "KEYS_ONLY")
	listed, err := st.C.ListStreams(t.Context(), &dynamodbstreams.ListStreamsInput{TableName: &st.Table})
	if err != nil || len(listed.Streams) != 1 || *listed.Streams[0].StreamArn != st.ARN || *listed.Streams[0].TableName != st.Table {
		t.Fatalf("listed %+v, %v", listed, err)
	}
	whole := st.Shards()
	var paged []string
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: &st.ARN, Limit: aws.Int32(1)}
	for {
		out, err := st.C.DescribeStream(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		d := out.StreamDescription
		if d.StreamStatus != "ENABLED" || d.StreamViewType != "KEYS_ONLY" || *d.TableName != st.Table || len(d.KeySchema) != 2 || *d.StreamLabel != *listed.Streams[0].StreamLabel || d.CreationRequestDateTime.IsZero() || len(d.Shards) > 1 {
			t.Errorf("%+v", d)
		}
		for _, s := range d.Shards {
			paged = append(paged, *s.ShardId)
		}
		if in.ExclusiveStartShardId = d.LastEvaluatedShardId; in.ExclusiveStartShardId == nil {
			break
		}
	}
	var ids []string
	for _, s := range whole {
		ids = append(ids, *s.ShardId)
		if s.SequenceNumberRange.StartingSequenceNumber == nil || s.SequenceNumberRange.EndingSequenceNumber != nil {
			t.Errorf("open shard %+v", s.SequenceNumberRange)
		}
	}
	if len(ids) == 0 || !slices.Equal(ids, paged) {
		t.Errorf("shards %v, in pages %v", ids, paged)
	}
}

func TestWrongRequestOfAStreamIsRefused(t *testing.T) {
	t.Parallel()
	st := NewStream(t, Schema{Key: "pk"}, "KEYS_ONLY")
	shard := st.Shards()[0].ShardId
	iterate := func(arn, shard string, kind types.ShardIteratorType, seq *string) error {
		_, err := st.C.GetShardIterator(t.Context(), &dynamodbstreams.GetShardIteratorInput{StreamArn: &arn, ShardId: &shard, ShardIteratorType: kind, SequenceNumber: seq})
		return err
	}
	_, foreign := st.C.DescribeStream(t.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: aws.String(st.ARN + "0")})
	_, many := st.C.DescribeStream(t.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: &st.ARN, Limit: aws.Int32(0)})
	_, garbled := st.C.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: aws.String("iterator")})
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"no such stream":         {foreign, "ResourceNotFoundException"},
		"iterator of no stream":  {iterate(st.ARN+"0", *shard, "LATEST", nil), "ResourceNotFoundException"},
		"no such shard":          {iterate(st.ARN, "shardId-00000000000000000000-00000000", "LATEST", nil), "ResourceNotFoundException"},
		"no such kind":           {iterate(st.ARN, *shard, "NEWEST", nil), "ValidationException"},
		"no sequence number":     {iterate(st.ARN, *shard, "AT_SEQUENCE_NUMBER", nil), "ValidationException"},
		"sequence number":        {iterate(st.ARN, *shard, "AT_SEQUENCE_NUMBER", aws.String("x")), "ValidationException"},
		"limit of shards":        {many, "ValidationException"},
		"iterator of no service": {garbled, "ValidationException"},
	} {
		if got := code(c.err); got != c.want {
			t.Errorf("%s: %v", name, c.err)
		}
	}
}
