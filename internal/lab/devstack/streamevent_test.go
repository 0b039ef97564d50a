package devstack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
)

// The event byte for byte, but for ids that are drawn: names, order and forms as AWS sends them.
func TestStreamEventIsLambdas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, nil, "NEW_AND_OLD_IMAGES")
		b.putItem(map[string]types.AttributeValue{
			"pk": text("p"), "sk": text("<a>"), "n": &types.AttributeValueMemberN{Value: "-1.50"}, "b": &types.AttributeValueMemberB{Value: []byte("foobar")},
			"t": &types.AttributeValueMemberBOOL{Value: true}, "z": &types.AttributeValueMemberNULL{Value: true},
			"l":  &types.AttributeValueMemberL{Value: []types.AttributeValue{text("x"), &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"y": text("")}}}},
			"ss": &types.AttributeValueMemberSS{Value: []string{"1"}}, "ns": &types.AttributeValueMemberNS{Value: []string{"1"}}, "bs": &types.AttributeValueMemberBS{Value: [][]byte{{0}}},
		})
		b.start(StreamMapping{}, succeeds)
		synctest.Wait()
		raw := string(b.lastRaw)
		var e events.DynamoDBEvent
		strict := json.NewDecoder(strings.NewReader(raw))
		strict.DisallowUnknownFields()
		if err := strict.Decode(&e); err != nil {
			t.Fatal(err)
		}
		r := e.Records[0]
		want := fmt.Sprintf(`{"Records":[{"eventID":%q,"eventName":"INSERT","eventVersion":"1.1","eventSource":"aws:dynamodb","awsRegion":"us-east-1",`+
			`"dynamodb":{"ApproximateCreationDateTime":946684800,"Keys":{"pk":{"S":"p"},"sk":{"S":"<a>"}},`+
			`"NewImage":{"b":{"B":"Zm9vYmFy"},"bs":{"BS":["AA=="]},"l":{"L":[{"S":"x"},{"M":{"y":{"S":""}}}]},"n":{"N":"-1.5"},"ns":{"NS":["1"]},"pk":{"S":"p"},"sk":{"S":"<a>"},"ss":{"SS":["1"]},"t":{"BOOL":true},"z":{"NULL":true}},`+
			`"SequenceNumber":%q,"SizeBytes":%d,"StreamViewType":"NEW_AND_OLD_IMAGES"},"eventSourceARN":%q}]}`,
			r.EventID, r.Change.SequenceNumber, r.Change.SizeBytes, r.EventSourceArn)
		if diff := cmp.Diff(want, raw); diff != "" {
			t.Error(diff)
		}
		if !strings.HasPrefix(r.EventSourceArn, "arn:aws:dynamodb:us-east-1:000000000000:table/outbox/stream/2000-01-01T00:00:00.000") || len(r.EventID) != 32 {
			t.Errorf("event %s of %s", r.EventID, r.EventSourceArn)
		}
	})
}

// The sample that the function is tested with has no name that a record does not have.
func TestSampleOfAStreamIsWhatIsSent(t *testing.T) {
	t.Parallel()
	sample, err := os.ReadFile("../../../events/stream.json")
	if err != nil {
		t.Fatal(err)
	}
	var e struct{ Records []streamEventRecord }
	strict := json.NewDecoder(bytes.NewReader(sample))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&e); err != nil || len(e.Records) == 0 {
		t.Errorf("%d records, %v", len(e.Records), err)
	}
}

func TestExpiredItemNamesTheServiceAsItsDeleter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, nil, "OLD_IMAGE")
		_, err := b.db.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{TableName: aws.String("outbox"),
			TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("until"), Enabled: aws.Bool(true)}})
		if err != nil {
			t.Fatal(err)
		}
		b.putItem(map[string]types.AttributeValue{"pk": text("p"), "sk": text("a"), "until": &types.AttributeValueMemberN{Value: fmt.Sprint(time.Now().Unix() - 1)}})
		if n := b.account.ReapExpired(); n != 1 {
			t.Fatalf("%d items expired", n)
		}
		b.start(StreamMapping{BatchSize: 1}, succeeds)
		synctest.Wait()
		if raw := string(b.lastRaw); !strings.Contains(raw, `"eventName":"REMOVE"`) || !strings.Contains(raw, `},"userIdentity":{"type":"Service","principalId":"dynamodb.amazonaws.com"},"eventSourceARN":`) {
			t.Errorf("event %s", raw)
		}
	})
}

func TestEventFitsARequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, nil, "NEW_IMAGE")
		for i := range 20 {
			b.putItem(map[string]types.AttributeValue{"pk": text("p"), "sk": text(fmt.Sprint(i)), "v": text(strings.Repeat("v", 390<<10))})
		}
		records := 0
		b.start(StreamMapping{BatchingWindow: time.Second}, succeeds)
		time.Sleep(10 * time.Second) // virtual
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, call := range b.calls {
			records += len(strings.Fields(call)) - 1
		}
		if len(b.calls) != 2 || records != 20 || len(strings.Fields(b.calls[0])) != 1+15 {
			t.Errorf("%d records in %q", records, b.calls)
		}
	})
}
