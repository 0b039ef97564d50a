package devstack

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

func everyByte() []byte {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

// The documentation's example, and attributes as the service was seen to send them.
func TestQueueEventIsLambdas(t *testing.T) {
	t.Parallel()
	every := everyByte()
	q := &queueSource{arn: "arn:aws:sqs:us-east-2:123456789012:my-queue", region: "us-east-2"}
	message := types.Message{
		MessageId: aws.String("059f36b4-87a3-44ab-83d2-661975830a7d"), ReceiptHandle: aws.String("AQEBwJnKyrHigUMZj6rYigCgxlaS3SLy0a..."),
		Body: aws.String("<Test> & message."), MD5OfBody: aws.String("e4e68fb7bd0e697a0ae8f1bb342846b3"),
		Attributes: map[string]string{"ApproximateFirstReceiveTimestamp": "1545082649185", "ApproximateReceiveCount": "1",
			"SenderId": "AIDAIENQZJOLO23YVJ4VO", "SentTimestamp": "1545082649183"},
	}
	const start = `{"Records":[{"messageId":"059f36b4-87a3-44ab-83d2-661975830a7d","receiptHandle":"AQEBwJnKyrHigUMZj6rYigCgxlaS3SLy0a...",` +
		`"body":"<Test> & message.","attributes":{"ApproximateFirstReceiveTimestamp":"1545082649185","ApproximateReceiveCount":"1",` +
		`"SenderId":"AIDAIENQZJOLO23YVJ4VO","SentTimestamp":"1545082649183"},"messageAttributes":{`
	const end = `,"md5OfBody":"e4e68fb7bd0e697a0ae8f1bb342846b3","eventSource":"aws:sqs",` +
		`"eventSourceARN":"arn:aws:sqs:us-east-2:123456789012:my-queue","awsRegion":"us-east-2"}]}`
	for name, c := range map[string]struct {
		attributes map[string]types.MessageAttributeValue
		sum        *string
		want       string
	}{
		"without attributes": {want: `},"md5OfMessageAttributes":null`},
		"with attributes": {
			attributes: map[string]types.MessageAttributeValue{
				"Author":  {DataType: aws.String("String"), StringValue: aws.String("John Grisham")},
				"Every":   {DataType: aws.String("Binary.png"), BinaryValue: every},
				"WeeksOn": {DataType: aws.String("Number"), StringValue: aws.String("6")},
			},
			sum: aws.String("d25a6aea97eb8f585bfa92d314504a92"),
			want: `"Author":{"stringValue":"John Grisham","binaryValue":null,"stringListValues":[],"binaryListValues":[],"dataType":"String"},` +
				`"Every":{"stringValue":null,"binaryValue":"` + base64.StdEncoding.EncodeToString(every) + `","stringListValues":[],"binaryListValues":[],"dataType":"Binary.png"},` +
				`"WeeksOn":{"stringValue":"6","binaryValue":null,"stringListValues":[],"binaryListValues":[],"dataType":"Number"}` +
				`},"md5OfMessageAttributes":"d25a6aea97eb8f585bfa92d314504a92"`,
		},
	} {
		message.MessageAttributes, message.MD5OfMessageAttributes = c.attributes, c.sum
		b := q.pack([]types.Message{message}, time.Time{})[0]
		if got := string(b.event()); got != start+c.want+end {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, start+c.want+end)
		}
		strict := json.NewDecoder(bytes.NewReader(b.event()))
		strict.DisallowUnknownFields()
		var e events.SQSEvent
		if err := strict.Decode(&e); err != nil {
			t.Errorf("%s: the runtime library cannot read it: %v", name, err)
		}
		if r := e.Records[0]; b.records[0].id != r.MessageId || b.records[0].handle != r.ReceiptHandle {
			t.Errorf("%s: record %q", name, b.records[0])
		}
		if c.attributes != nil && !bytes.Equal(e.Records[0].MessageAttributes["Every"].BinaryValue, every) {
			t.Errorf("%s: bytes are lost", name)
		}
	}
}

func TestAttributesReachTheFunction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		every := everyByte()
		p := newPlant(t, nil, nil)
		_, err := p.client.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &p.url, MessageBody: aws.String("a"),
			MessageAttributes: map[string]types.MessageAttributeValue{
				"every": {DataType: aws.String("Binary"), BinaryValue: every}, "one": {DataType: aws.String("Number"), StringValue: aws.String("1")},
			}})
		if err != nil {
			t.Fatal(err)
		}
		p.start(QueueMapping{}, func(ctx context.Context, e events.SQSEvent) answer {
			r := e.Records[0]
			if a := r.MessageAttributes; !bytes.Equal(a["every"].BinaryValue, every) || *a["one"].StringValue != "1" || len(r.Md5OfMessageAttributes) != 32 {
				t.Errorf("got %+v", r)
			}
			if r.Attributes["ApproximateReceiveCount"] != "1" || r.Attributes["SenderId"] == "" || r.Attributes["SentTimestamp"] == "" || r.Attributes["ApproximateFirstReceiveTimestamp"] == "" {
				t.Errorf("got %+v", r)
			}
			return handled(ctx, e)
		})
		time.Sleep(time.Minute) // virtual
		p.invoked("0s a")
	})
}

// A group waits for its oldest message; the attributes of a FIFO queue are there.
func TestOrderOfAGroupIsNotLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, nil, map[string]string{"FifoQueue": "true"})
		for _, body := range []string{"a1", "b1", "a2", "b2"} {
			_, err := p.client.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &p.url, MessageBody: &body, MessageGroupId: aws.String(body[:1]), MessageDeduplicationId: &body})
			if err != nil {
				t.Fatal(err)
			}
		}
		p.start(QueueMapping{BatchSize: 1, ReportBatchItemFailures: true}, func(ctx context.Context, e events.SQSEvent) answer {
			attributes := e.Records[0].Attributes
			if body := e.Records[0].Body; attributes["MessageGroupId"] != body[:1] || attributes["MessageDeduplicationId"] != body || len(attributes["SequenceNumber"]) != 20 {
				t.Errorf("attributes of %s are %q", body, attributes)
			}
			if attributes["ApproximateReceiveCount"] == "1" {
				return report("a1")(ctx, e)
			}
			return handled(ctx, e)
		})
		time.Sleep(5 * time.Minute) // virtual
		p.invoked("0s a1", "0s b1", "0s b2", "1m0s a1", "1m0s a2")
		if left := p.left(); left != "0 0" {
			t.Errorf("%s messages are left", left)
		}
	})
}

// Six messages of 1 MiB: five go into 6 MiB, and none is left out.
func TestEventsAreNotLargerThanARequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, nil, nil)
		for i := range 6 {
			p.send(strings.Repeat(fmt.Sprint(i), 1<<20))
		}
		var got []string
		p.start(QueueMapping{}, func(ctx context.Context, e events.SQSEvent) answer {
			var digits []byte
			for _, r := range e.Records {
				digits = append(digits, r.Body[0])
			}
			got = append(got, string(digits))
			return handled(ctx, e)
		})
		time.Sleep(5 * time.Minute) // virtual
		if left := p.left(); !slices.Equal(got, []string{"01234", "5"}) || left != "0 0" {
			t.Errorf("got %q, %s left", got, left)
		}
	})
}

func TestFullEventIsNotLargerThanARequest(t *testing.T) {
	t.Parallel()
	q := &queueSource{}
	message := func(n int) types.Message { return types.Message{Body: aws.String(strings.Repeat("x", n))} }
	empty := len(q.pack([]types.Message{message(0)}, time.Time{})[0].event())
	two := len(q.pack([]types.Message{message(0), message(0)}, time.Time{})[0].event())
	for room, want := range map[int]int{MaxRequest - two: 1, MaxRequest - two + 1: 2} {
		batches := q.pack([]types.Message{message(room), message(0)}, time.Time{})
		if len(batches) != want {
			t.Errorf("%d batches with %d bytes of room", len(batches), room)
		}
		for _, b := range batches {
			if len(b.event()) > MaxRequest || len(b.event()) < empty || !json.Valid(b.event()) {
				t.Errorf("event of %d bytes", len(b.event()))
			}
		}
	}
}
