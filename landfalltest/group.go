package landfalltest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/landfall-dev/landfall/consumer"
	"github.com/landfall-dev/landfall/internal/lab/localaws"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/routingdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

// Group is a routing group with one consumer, for the tests of a consumer. Receipts and queues behave as the real ones. The
// test plays the router: it forwards messages to the consumer's queue, and moves them on.
type Group struct {
	// Receipts and Queues are what [consumer.New] takes.
	Receipts *dynamodb.Client
	Queues   *sqs.Client
	// Queue is the URL of the consumer's queue, Ingress that of the queue that messages come from.
	Queue, Ingress string

	name     string
	receipts *routingdb.Receipts
	sending  sync.Mutex
}

// NewGroup makes a group of that name, whose consumer is called "consumer".
func NewGroup(name string) (*Group, error) {
	ctx, aws := context.Background(), localaws.New(localaws.Options{}).Config("landfalltest")
	g := &Group{Receipts: dynamodb.NewFromConfig(aws), Queues: sqs.NewFromConfig(aws), name: name}
	g.receipts = routingdb.NewReceipts(g.Receipts, schema.ReceiptsTable)
	if _, err := g.Receipts.CreateTable(ctx, routingdb.ReceiptsTable(schema.ReceiptsTable)); err != nil {
		return nil, fmt.Errorf("landfalltest: %w", err)
	}
	for queue, url := range map[string]*string{"consumer": &g.Queue, schema.IngressQueue(schema.QueuePrefix, name): &g.Ingress} {
		out, err := g.Queues.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &queue})
		if err != nil {
			return nil, fmt.Errorf("landfalltest: %w", err)
		}
		*url = *out.QueueUrl
	}
	return g, nil
}

// Config is the consumer's configuration, whatever the environment says.
func (g *Group) Config() consumer.Config {
	return consumer.Config{QueuePrefix: schema.QueuePrefix, ReceiptsTable: schema.ReceiptsTable}
}

// Send has a message come into the group and forwards it to the consumer. It returns the message's id.
func (g *Group) Send(ctx context.Context, body string) (id string, err error) {
	g.sending.Lock()
	defer g.sending.Unlock()
	sent, err := g.Queues.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &g.Ingress, MessageBody: &body})
	if err != nil {
		return "", fmt.Errorf("landfalltest: %w", err)
	}
	in, err := g.take(ctx, *sent.MessageId)
	if err != nil {
		return "", fmt.Errorf("landfalltest: %w", err)
	}
	now := time.Now()
	receipt, err := g.receipts.Write(ctx, routing.Move{
		ID: routing.ID{Group: g.name, Message: *in.MessageId}, Kind: routing.Assign, Token: rand.Text(), At: now,
		Consumer: "consumer", Deadline: now.Add(routing.DefaultAcceptTimeout),
	})
	if err != nil {
		return "", fmt.Errorf("landfalltest: %w", err)
	}
	e := routing.Envelope{ID: receipt.ID, Attempt: receipt.Attempt, Token: receipt.Token, Deadline: receipt.Deadline, Handle: *in.ReceiptHandle}
	_, err = g.Queues.SendMessage(ctx, &sqs.SendMessageInput{
		QueueUrl: &g.Queue, MessageBody: in.Body, MessageAttributes: map[string]types.MessageAttributeValue{
			routing.EnvelopeAttribute: {DataType: aws.String("String"), StringValue: aws.String(e.Text())},
		},
	})
	if err != nil {
		return "", fmt.Errorf("landfalltest: %w", err)
	}
	return receipt.Message, nil
}

// take hides one message of the ingress queue. Others that are visible there, declined ones, stay so.
func (g *Group) take(ctx context.Context, id string) (taken types.Message, err error) {
	var others []types.Message
	for taken.MessageId == nil {
		got, err := g.Queues.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &g.Ingress, MaxNumberOfMessages: 10, VisibilityTimeout: 43200})
		if err != nil {
			return taken, err
		}
		if len(got.Messages) == 0 {
			return taken, errors.New("another receiver has the message of the ingress queue")
		}
		for _, m := range got.Messages {
			if *m.MessageId == id {
				taken = m
			} else {
				others = append(others, m)
			}
		}
	}
	for _, m := range others {
		_, err := g.Queues.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{QueueUrl: &g.Ingress, ReceiptHandle: m.ReceiptHandle})
		if err != nil {
			return taken, err
		}
	}
	return taken, nil
}

// MoveOn gives a message to another consumer, as the router does when the time to accept is over: the copy in
// the consumer's queue is stale from now on. It is an error if the message is accepted.
func (g *Group) MoveOn(ctx context.Context, id string) error {
	receipt, err := g.receipts.Get(ctx, routing.ID{Group: g.name, Message: id})
	if err == nil {
		now := time.Now()
		_, err = g.receipts.Write(ctx, routing.Move{
			ID: receipt.ID, Kind: routing.Reassign, From: receipt, Token: rand.Text(), At: now, Consumer: "another",
			Deadline: now.Add(routing.DefaultAcceptTimeout), End: routing.EndLapsed, Seen: now,
		})
	}
	if err != nil {
		return fmt.Errorf("landfalltest: move on: %w", err)
	}
	return nil
}

// State is where a message stands: "pending", "declined", "accepted", or "" if no message has that id.
func (g *Group) State(ctx context.Context, id string) (string, error) {
	receipt, err := g.receipts.Get(ctx, routing.ID{Group: g.name, Message: id})
	if err != nil {
		return "", fmt.Errorf("landfalltest: %w", err)
	}
	return string(receipt.State), nil
}
