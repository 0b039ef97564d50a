package routesqs_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/landfall-dev/landfall/internal/invoke"
	"github.com/landfall-dev/landfall/internal/routefn"
	"github.com/landfall-dev/landfall/internal/routesqs"
	"github.com/landfall-dev/landfall/internal/routing"
)

var (
	_ routesqs.Invoker = (*invoke.Invoker)(nil)
	_ routefn.Invoker  = (*invoke.Invoker)(nil)
)

// function answers a call.
type function func(name string, payload []byte) (answer []byte, functionError string, err error)

func (f function) Invoke(_ context.Context, name string, payload []byte) ([]byte, string, error) {
	return f(name, payload)
}

// TestAnswersOfAFunction (cases Q16 and Q20).
func TestAnswersOfAFunction(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer, functionError string
		err                   error
		want                  routing.Answer
	}{
		"nothing":              {"", "", nil, routing.Answer{Kind: routing.Taken}},
		"null":                 {"null", "", nil, routing.Answer{Kind: routing.Taken}},
		"a text":               {`"done"`, "", nil, routing.Answer{Kind: routing.Taken}},
		"no failures":          {`{"batchItemFailures": []}`, "", nil, routing.Answer{Kind: routing.Taken}},
		"no failures, by null": {`{"batchItemFailures": null}`, "", nil, routing.Answer{Kind: routing.Taken}},
		"the message failed":   {`{"batchItemFailures": [{"itemIdentifier": "m1"}]}`, "", nil, routing.Answer{Kind: routing.Failed, Text: "it reported the message as failed"}},
		"something failed":     {`{"batchItemFailures": "m1"}`, "", nil, routing.Answer{Kind: routing.Failed, Text: "it reported the message as failed"}},
		"function error":       {`{"errorMessage": "secret"}`, "Unhandled", nil, routing.Answer{Kind: routing.Failed, Text: "function error Unhandled"}},
		"foreign text in it":   {"", "it said: secret", nil, routing.Answer{Kind: routing.Failed, Text: "function error UnknownError"}},
		"not started":          {"", "", &net.OpError{Op: "dial", Err: errors.New("secret")}, routing.Answer{Kind: routing.NotSent, Text: "NotConnected"}},
		"cut":                  {"", "", errors.New("secret"), routing.Answer{Text: "UnknownError"}},
		"too slow":             {"", "", context.DeadlineExceeded, routing.Answer{Text: "NoAnswer"}},
	} {
		b := &bench{T: t}
		f := &routesqs.Forwarder{Functions: function(func(string, []byte) ([]byte, string, error) {
			return []byte(c.answer), c.functionError, c.err
		})}
		if a := b.forward(t.Context(), f, "lambda:f", message(routesqs.Source{})); a[0] != c.want {
			t.Errorf("%s: %+v, want %+v", name, a[0], c.want)
		}
	}
}

// TestFunctionGetsTheMessageThatAQueueWouldGet: the event is one of SQS.
func TestFunctionGetsTheMessageThatAQueueWouldGet(t *testing.T) {
	inBubble(t, func(b *bench) {
		in := message(routesqs.Source{Body: "hello\n", Attributes: map[string]types.MessageAttributeValue{
			"key": {DataType: aws.String("Binary"), BinaryValue: everyByte()}, "tenant": text("String", "acme"),
		}})
		f := b.forwarder()
		const arn = "arn:aws:lambda:us-east-1:000000000000:function:f"
		f.Functions = function(func(name string, payload []byte) ([]byte, string, error) {
			var event events.SQSEvent
			if err := json.Unmarshal(payload, &event); err != nil || len(event.Records) != 1 || name != arn {
				b.Fatalf("%s gets %s, %v", name, payload, err)
			}
			r := event.Records[0]
			if r.MessageId != "m1" || r.Body != "hello\n" || r.EventSource != "aws:sqs" || r.EventSourceARN != ingressARN || r.ReceiptHandle != "" ||
				r.Attributes["ApproximateReceiveCount"] != "3" || r.Attributes["SentTimestamp"] != "1700000000000" {
				b.Errorf("record %+v", r)
			}
			if len(r.MessageAttributes) != 3 || string(r.MessageAttributes["key"].BinaryValue) != string(everyByte()) || *r.MessageAttributes["tenant"].StringValue != "acme" {
				b.Errorf("attributes %+v", r.MessageAttributes)
			}
			if _, err := routing.ParseEnvelope(*r.MessageAttributes["landfall"].StringValue); err != nil {
				b.Error(err)
			}
			return nil, "", nil
		})
		forwards := []routing.Forward{
			{Message: message(routesqs.Source{}), Consumer: routing.Consumer{Target: "sqs:south"}},
			{Message: in, Consumer: routing.Consumer{Target: "lambda:" + arn}, Envelope: routing.Envelope{
				ID: routing.ID{Group: "couriers", Message: "m1"}, Attempt: 1, Token: "t", Deadline: in.SentAt, Handle: "h"}},
			{Message: message(routesqs.Source{}), Consumer: routing.Consumer{Target: "sqs:north"}},
		}
		for i, a := range f.Forward(b.Context(), forwards) {
			if a.Kind != routing.Taken {
				b.Errorf("%d: %+v", i, a)
			}
		}
		if len(b.all("south")) != 1 || len(b.all("north")) != 1 {
			b.Error("the messages for queues beside it are not there")
		}
	})
}
