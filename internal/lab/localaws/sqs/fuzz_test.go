package sqs_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
	"github.com/landfall-dev/landfall/internal/lab/localaws/sqs"
	"github.com/landfall-dev/landfall/internal/lab/localaws/wire"
)

// requests are one request of each kind, in a world with a queue q and its dead-letter queue d.
var requests = map[string]string{
	"CancelMessageMoveTask":        `{"TaskHandle":"eyJ0YXNrSWQiOiJ4Iiwic291cmNlQXJuIjoieSJ9"}`,
	"ChangeMessageVisibility":      `{"QueueUrl":"q","ReceiptHandle":"HANDLE","VisibilityTimeout":0}`,
	"ChangeMessageVisibilityBatch": `{"QueueUrl":"q","Entries":[{"Id":"a","ReceiptHandle":"HANDLE","VisibilityTimeout":30},{"Id":"b","ReceiptHandle":"x","VisibilityTimeout":-1}]}`,
	"CreateQueue":                  `{"QueueName":"f.fifo","Attributes":{"FifoQueue":"true","RedrivePolicy":""},"tags":{"a":"b"}}`,
	"DeleteMessage":                `{"QueueUrl":"q","ReceiptHandle":"HANDLE"}`,
	"DeleteMessageBatch":           `{"QueueUrl":"q","Entries":[{"Id":"a","ReceiptHandle":"HANDLE"}]}`,
	"DeleteQueue":                  `{"QueueUrl":"http://localhost/000000000000/d"}`,
	"GetQueueAttributes":           `{"QueueUrl":"q","AttributeNames":["All"]}`,
	"GetQueueUrl":                  `{"QueueName":"q"}`,
	"ListDeadLetterSourceQueues":   `{"QueueUrl":"d","MaxResults":1}`,
	"ListMessageMoveTasks":         `{"SourceArn":"arn:aws:sqs:us-east-1:000000000000:d","MaxResults":10}`,
	"ListQueueTags":                `{"QueueUrl":"q"}`,
	"ListQueues":                   `{"QueueNamePrefix":"","MaxResults":1,"NextToken":"ZA=="}`,
	"PurgeQueue":                   `{"QueueUrl":"q"}`,
	"ReceiveMessage":               `{"QueueUrl":"q","MaxNumberOfMessages":10,"VisibilityTimeout":0,"WaitTimeSeconds":1,"AttributeNames":["All"],"MessageAttributeNames":["All"]}`,
	"SendMessage":                  `{"QueueUrl":"q","MessageBody":"b","DelaySeconds":1,"MessageAttributes":{"a":{"DataType":"Binary","BinaryValue":"AA==","StringListValues":[],"BinaryListValues":null}},"MessageSystemAttributes":{"AWSTraceHeader":{"DataType":"String","StringValue":"t"}}}`,
	"SendMessageBatch":             `{"QueueUrl":"q","Entries":[{"Id":"a","MessageBody":"b","MessageGroupId":"g","MessageDeduplicationId":"d"}]}`,
	"SetQueueAttributes":           `{"QueueUrl":"q","Attributes":{"RedrivePolicy":"{\"deadLetterTargetArn\":\"arn:aws:sqs:us-east-1:000000000000:d\",\"maxReceiveCount\":\"1\"}","Policy":"{}"}}`,
	"StartMessageMoveTask":         `{"SourceArn":"arn:aws:sqs:us-east-1:000000000000:d","MaxNumberOfMessagesPerSecond":1}`,
	"TagQueue":                     `{"QueueUrl":"q","Tags":{"a":"b"}}`,
	"UntagQueue":                   `{"QueueUrl":"q","TagKeys":["a"]}`,
}

// ask runs a request, to the end if it waits.
func ask(s *sqs.Service, now time.Time, operation, body string) wire.Outcome {
	op, err := s.Decode(&wire.Request{Operation: operation, Body: []byte(body)})
	if err != nil {
		return wire.Outcome{Err: err}
	}
	out := op.Run(now, faults.Fault{})
	for out.Wait != nil {
		if out.Wait.Until.Before(now) {
			panic("it waits for the past")
		}
		now = out.Wait.Until
		out = out.Wait.Look(now)
	}
	return out
}

// little is a world with a little of everything, and a receipt handle in it.
func little(tb testing.TB, now time.Time) (*sqs.Service, string) {
	s := sqs.New(sqs.Options{Region: "us-east-1"})
	var out wire.Outcome
	for _, r := range [][2]string{
		{"CreateQueue", `{"QueueName":"d"}`},
		{"CreateQueue", `{"QueueName":"q","Attributes":{"RedrivePolicy":"{\"deadLetterTargetArn\":\"arn:aws:sqs:us-east-1:000000000000:d\",\"maxReceiveCount\":1}"}}`},
		{"SendMessage", `{"QueueUrl":"d","MessageBody":"dead"}`},
		{"SendMessage", `{"QueueUrl":"q","MessageBody":"visible"}`},
		{"SendMessage", `{"QueueUrl":"q","MessageBody":"in flight"}`},
		{"ReceiveMessage", `{"QueueUrl":"q"}`},
	} {
		if out = ask(s, now, r[0], r[1]); out.Err != nil {
			tb.Fatal(out.Err)
		}
	}
	text, err := json.Marshal(out.Answer)
	var answer struct {
		Messages []struct{ ReceiptHandle string }
	}
	if err != nil || json.Unmarshal(text, &answer) != nil {
		tb.Fatal(err)
	}
	return s, answer.Messages[0].ReceiptHandle
}

func TestEveryKindOfRequestIsAnswered(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	for operation, body := range requests {
		s, handle := little(t, now)
		out := ask(s, now, operation, strings.ReplaceAll(body, "HANDLE", handle))
		if refused := operation == "CancelMessageMoveTask"; (out.Err != nil) != refused || out.Billed < 1 {
			t.Errorf("%s: %v, billed %d", operation, out.Err, out.Billed)
		}
	}
}

func FuzzRequest(f *testing.F) {
	kinds := make([]string, 0, len(requests))
	for operation := range requests {
		kinds = append(kinds, operation)
	}
	slices.Sort(kinds)
	for i, operation := range kinds {
		f.Add(uint8(i), requests[operation])
		f.Add(uint8(i), "")
		f.Add(uint8(i), `{"QueueUrl":"q","Entries":[null],"Attributes":null,"MessageBody":"\ud800"}`)
	}
	f.Fuzz(func(t *testing.T, kind uint8, body string) {
		now := time.Unix(1_000_000, 0)
		s, handle := little(t, now)
		operation := kinds[int(kind)%len(kinds)]
		out := ask(s, now, operation, strings.ReplaceAll(body, "HANDLE", handle))
		var refused *wire.Error
		if out.Err != nil && (!errors.As(out.Err, &refused) || refused.Status >= 500) {
			t.Fatalf("%s %q: not the service's own error: %v", operation, body, out.Err)
		}
		if answer := wire.Encode("", out.Answer, out.Err); answer.Status >= 500 {
			t.Fatalf("%s %q: no answer: %s", operation, body, answer.Body)
		}
		later := ask(s, now.Add(time.Hour), "ReceiveMessage", `{"QueueUrl":"q","MaxNumberOfMessages":10}`)
		if later.Err != nil && operation != "DeleteQueue" {
			t.Fatalf("%s %q: the queue does not answer any more: %v", operation, body, later.Err)
		}
	})
}
