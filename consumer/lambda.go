package consumer

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// LambdaHandler is a handler for lambda.Start.
type LambdaHandler func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)

// Lambda is [Consumer.Consume] for a function behind the consumer's queue. The event source mapping must have
// ReportBatchItemFailures: the handler reports exactly the messages of the batch that must come back.
//
// The same handler serves a function that is a group's consumer itself, without a queue. No copy comes back to such a
// function, so that it accepts a message after the work. If the work fails, the message moves on at once. If the work
// takes longer than the group's accept_timeout, the message moves on although it was worked.
func (c *Consumer) Lambda(work Work) LambdaHandler {
	return func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
		response := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
		if err := c.cfg.validate(); err != nil {
			return response, err
		}
		if len(event.Records) == 0 {
			return response, errors.New("consumer: the event has no records; connect this function to a queue")
		}
		done := c.finishAll(ctx, event.Records, work)
		for i, record := range event.Records {
			switch {
			case done[i]:
			case record.MessageId == "": // it cannot be reported by itself, so that the whole batch must fail
				return response, fmt.Errorf("consumer: record %d of the event failed and has no messageId", i)
			default:
				response.BatchItemFailures = append(response.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: record.MessageId})
			}
		}
		return response, nil
	}
}

func (c *Consumer) finishAll(ctx context.Context, records []events.SQSMessage, work Work) (done []bool) {
	done = make([]bool, len(records))
	accepted := c.newDeletions(ctx, 0)
	places := make(chan struct{}, c.cfg.Concurrency)
	var all sync.WaitGroup
	for i, record := range records {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			finish := c.finish
			if record.ReceiptHandle == "" {
				finish = c.finishInvoked
			}
			done[i] = finish(ctx, accepted, message(record), work)
		})
	}
	all.Wait()
	accepted.close()
	return done
}

// message turns a record of an event into a message as SQS returns it.
func message(record events.SQSMessage) types.Message {
	msg := types.Message{
		MessageId: &record.MessageId, ReceiptHandle: &record.ReceiptHandle, Body: &record.Body, Attributes: record.Attributes,
		MD5OfBody: &record.Md5OfBody, MD5OfMessageAttributes: &record.Md5OfMessageAttributes,
		MessageAttributes: make(map[string]types.MessageAttributeValue, len(record.MessageAttributes)),
	}
	for name, a := range record.MessageAttributes {
		msg.MessageAttributes[name] = types.MessageAttributeValue{DataType: &a.DataType, StringValue: a.StringValue, BinaryValue: a.BinaryValue}
	}
	return msg
}
