package consumer_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/landfall-dev/landfall/consumer"
	"github.com/landfall-dev/landfall/landfalltest"
)

func ExampleConsumer_Consume() {
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
	group, err := landfalltest.NewGroup("couriers") // in production, the router forwards
	if err != nil {
		log.Fatal(err)
	}
	if _, err := group.Send(ctx, "parcel 42"); err != nil {
		log.Fatal(err)
	}
	c := consumer.New(group.Receipts, group.Queues, group.Config())
	err = c.Consume(ctx, group.Queue, func(_ context.Context, msg types.Message) error {
		fmt.Println("delivered:", *msg.Body)
		stop() // in production, stop when the process is asked to end
		return nil
	})
	fmt.Println("ended:", err)
	// Output:
	// delivered: parcel 42
	// ended: <nil>
}

// A program that has a loop already adds one call to it.
func ExampleConsumer_Accept() {
	ctx := context.Background()
	group, err := landfalltest.NewGroup("couriers")
	if err != nil {
		log.Fatal(err)
	}
	for _, body := range []string{"parcel 42", "parcel 43"} {
		id, err := group.Send(ctx, body)
		if err != nil {
			log.Fatal(err)
		}
		if body == "parcel 43" { // it was given to another consumer in the meantime
			if err := group.MoveOn(ctx, id); err != nil {
				log.Fatal(err)
			}
		}
	}
	c := consumer.New(group.Receipts, group.Queues, group.Config())
	received, err := group.Queues.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: &group.Queue, MaxNumberOfMessages: 10, MessageAttributeNames: []string{"All"},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, msg := range received.Messages {
		switch err := c.Accept(ctx, msg); {
		case err == nil || errors.Is(err, consumer.ErrNoEnvelope):
			fmt.Println("deliver", *msg.Body)
		case errors.Is(err, consumer.ErrStale):
			fmt.Println("drop", *msg.Body)
		default:
			continue // it comes back
		}
		_, err := group.Queues.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &group.Queue, ReceiptHandle: msg.ReceiptHandle})
		if err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// deliver parcel 42
	// drop parcel 43
}

func ExampleConsumer_Lambda() {
	group, err := landfalltest.NewGroup("couriers")
	if err != nil {
		log.Fatal(err)
	}
	c := consumer.New(group.Receipts, group.Queues, group.Config())
	handler := c.Lambda(func(_ context.Context, msg types.Message) error {
		if *msg.Body == "parcel 43" {
			return errors.New("the recipient is away")
		}
		fmt.Println("delivered:", *msg.Body)
		return nil
	})
	// In production: lambda.Start(handler)
	response, err := handler(context.Background(), events.SQSEvent{Records: []events.SQSMessage{
		{MessageId: "1", ReceiptHandle: "a", Body: "parcel 42"}, {MessageId: "2", ReceiptHandle: "b", Body: "parcel 43"},
	}})
	fmt.Println("to come back:", response.BatchItemFailures, err)
	// Output:
	// delivered: parcel 42
	// to come back: [{2}] <nil>
}
