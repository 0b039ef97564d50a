package routesqs

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/landfall-dev/landfall/internal/awscall"
	"github.com/landfall-dev/landfall/internal/routing"
)

// Invoker calls a Lambda function synchronously. It calls at most once.
type Invoker interface {
	// Invoke returns what the function answered; functionError is not "" if it failed. An error is one of the
	// call's, of which [awscall.Refused] tells whether the function demonstrably was not started.
	Invoke(ctx context.Context, function string, payload []byte) (answer []byte, functionError string, err error)
}

// call forwards one message to a function as an event of SQS with one record, so that the handler for a queue works here,
// too. The record has no receipt handle, because there is nothing to delete. A function that reports the record among its
// batch item failures has failed.
func (f *Forwarder) call(ctx context.Context, function string, forward routing.Forward) routing.Answer {
	payload, err := json.Marshal(sqsEvent(forward))
	if err != nil {
		return routing.Answer{Kind: routing.NotTaken, Text: "the event cannot be encoded"}
	}
	answer, functionError, err := f.Functions.Invoke(ctx, function, payload)
	switch {
	case err != nil && awscall.Refused(err):
		return routing.Answer{Kind: undelivered(err), Text: awscall.Code(err)}
	case err != nil:
		return routing.Answer{Text: awscall.Code(err)}
	case functionError != "":
		return routing.Answer{Kind: routing.Failed, Text: "function error " + awscall.Word(functionError)}
	}
	if reportsFailure(answer) {
		return routing.Answer{Kind: routing.Failed, Text: "it reported the message as failed"}
	}
	return routing.Answer{Kind: routing.Taken}
}

// reportsFailure reports whether an answer has batch item failures, whatever they say: there was one item.
func reportsFailure(answer []byte) bool {
	var response struct {
		BatchItemFailures any `json:"batchItemFailures"`
	}
	if json.Unmarshal(answer, &response) != nil { // an answer that is not an object reports no items
		return false
	}
	failures, list := response.BatchItemFailures.([]any)
	return response.BatchItemFailures != nil && !(list && len(failures) == 0)
}

func sqsEvent(forward routing.Forward) events.SQSEvent {
	from := source(forward.Message)
	record := events.SQSMessage{
		MessageId: from.MessageID, Body: from.Body, EventSource: eventSource, EventSourceARN: from.QueueARN,
		Attributes:        map[string]string{"ApproximateReceiveCount": strconv.Itoa(forward.Message.Receives)},
		MessageAttributes: map[string]events.SQSMessageAttribute{},
	}
	if !forward.Message.SentAt.IsZero() {
		record.Attributes["SentTimestamp"] = millis(forward.Message.SentAt)
	}
	for name, a := range from.with(forward.Envelope.Text()).MessageAttributes {
		record.MessageAttributes[name] = events.SQSMessageAttribute{
			DataType: aws.ToString(a.DataType), StringValue: a.StringValue, BinaryValue: a.BinaryValue,
		}
	}
	return events.SQSEvent{Records: []events.SQSMessage{record}}
}

// eventSource is the event source of SQS.
const eventSource = "aws:sqs"
