package consumer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamodbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/landfall-dev/landfall/internal/awscall"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/routingdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

// Consumer accepts, declines and works the messages that the router forwards. It is safe for concurrent use.
type Consumer struct {
	receipts *routingdb.Receipts
	queues   QueuesClient
	cfg      Config

	mu      sync.Mutex
	ingress map[string]string // URLs of ingress queues by group
}

// New returns a consumer. The zero cfg works.
func New(receipts ReceiptsClient, queues QueuesClient, cfg Config) *Consumer {
	cfg = cfg.withDefaults()
	return &Consumer{
		receipts: routingdb.NewReceipts(updatesOnly{receipts}, cfg.ReceiptsTable), queues: queues, cfg: cfg, ingress: map[string]string{},
	}
}

// updatesOnly is a receipts table of which a consumer only calls UpdateItem: the others are the router's.
type updatesOnly struct{ client ReceiptsClient }

var errRouterOnly = errors.New("consumer: only the router reads and puts receipts")

// UpdateItem does not ask for the receipt after the update: the policy of a single consumer forbids it.
func (u updatesOnly) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, options ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	in.ReturnValues = dynamodbtypes.ReturnValueNone
	return u.client.UpdateItem(ctx, in, options...)
}

func (updatesOnly) GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return nil, errRouterOnly
}

func (updatesOnly) PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return nil, errRouterOnly
}

// Accept makes the message this consumer's own. Accept before the work; then work, then delete the copy from the
// consumer's own queue. Accept may be repeated, for example by a consumer that crashed and receives its copy again.
//
//	nil            accepted: no other consumer gets the message
//	ErrStale       the message has moved on: delete the copy and do not work
//	ErrNoEnvelope  nothing to accept: the router did not forward it, or the attributes were not received
//	anything else  ErrEnvelope, ErrNoReceipt, or an error of DynamoDB or the network: do not work, leave the
//	               copy to its visibility timeout
//
// Receive msg with its message attributes: ask for "All", or for "landfall".
func (c *Consumer) Accept(ctx context.Context, msg types.Message) error {
	e, err := c.accept(ctx, msg)
	if err != nil {
		return err
	}
	if url, found := c.ingressOf(ctx, e); found {
		deleteBatch(ctx, c.queues, c.cfg.Log, url, []string{e.Handle})
	}
	return nil
}

// Decline makes the message move on to another consumer at once. Delete the copy afterwards. The errors are those of
// [Consumer.Accept], and [ErrAccepted].
func (c *Consumer) Decline(ctx context.Context, msg types.Message) error {
	e, err := envelope(msg)
	if err != nil {
		return err
	}
	_, err = c.receipts.Write(ctx, routing.DeclineMove(e.ID, e.Attempt, e.Token, time.Now()))
	if err != nil {
		return refusal(e, err)
	}
	if url, found := c.ingressOf(ctx, e); found {
		_, err := c.queues.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{QueueUrl: &url, ReceiptHandle: &e.Handle})
		if err != nil {
			c.logIngress(ctx, e, err)
		}
	}
	return nil
}

// accept accepts without a request to the ingress queue.
func (c *Consumer) accept(ctx context.Context, msg types.Message) (routing.Envelope, error) {
	e, err := envelope(msg)
	if err != nil {
		return e, err
	}
	if _, err := c.receipts.Write(ctx, routing.AcceptMove(e.ID, e.Attempt, e.Token, time.Now())); err != nil {
		return e, refusal(e, err)
	}
	return e, nil
}

// ingressOf returns the URL of the ingress queue that a message came from.
func (c *Consumer) ingressOf(ctx context.Context, e routing.Envelope) (url string, found bool) {
	c.mu.Lock()
	url, found = c.ingress[e.Group]
	c.mu.Unlock()
	if found {
		return url, true
	}
	name := schema.IngressQueue(c.cfg.QueuePrefix, e.Group)
	out, err := c.queues.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &name})
	if err != nil {
		c.logIngress(ctx, e, err)
		return "", false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ingress[e.Group] = *out.QueueUrl
	return *out.QueueUrl, true
}

// logIngress logs that a request to the ingress queue failed. The receipt is written, and only the receipt counts: the
// router acts on it at the attempt's deadline.
func (c *Consumer) logIngress(ctx context.Context, e routing.Envelope, err error) {
	c.cfg.Log.WarnContext(ctx, "the ingress queue could not be changed; the router does it later", "message", e.ID.String(), "error", awscall.Code(err))
}

// MessageID names the message. It is the same for every copy, so that a consumer can recognise a message that it has
// worked. Without a readable envelope it is the id of SQS.
func MessageID(msg types.Message) string {
	if e, err := envelope(msg); err == nil {
		return e.Message
	}
	if msg.MessageId == nil {
		return ""
	}
	return *msg.MessageId
}

// envelope reads a message's envelope. Errors quote nothing of its content.
func envelope(msg types.Message) (routing.Envelope, error) {
	attribute, found := msg.MessageAttributes[routing.EnvelopeAttribute]
	if !found {
		return routing.Envelope{}, fmt.Errorf("consumer: %w", ErrNoEnvelope)
	}
	if attribute.StringValue == nil {
		return routing.Envelope{}, fmt.Errorf("consumer: %w: it is not a string", ErrEnvelope)
	}
	e, err := routing.ParseEnvelope(*attribute.StringValue)
	if err != nil {
		return routing.Envelope{}, fmt.Errorf("consumer: %w: %w", ErrEnvelope, err)
	}
	return e, nil
}

// refusal turns an error of the receipts into one of this package's.
func refusal(e routing.Envelope, err error) error {
	var refused *routing.RefusedError
	if !errors.As(err, &refused) {
		return fmt.Errorf("consumer: %w", err)
	}
	why := ErrStale
	switch r := refused.Receipt; {
	case r.State == "":
		why = ErrNoReceipt
	case r.Token == e.Token && (r.State == routing.Accepted || r.State == routing.Pending):
		why = ErrAccepted
	}
	return fmt.Errorf("consumer: message %s, attempt %d: %w: %w", e.ID, e.Attempt, why, refused)
}
