package consumer

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/landfall-dev/landfall/internal/awscall"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/routingdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

// Consumer accepts, declines and works the messages that the router forwards. It may be used by any number
// of goroutines.
type Consumer struct {
	receipts *routingdb.Receipts
	queues   QueuesClient
	cfg      Config

	mu      sync.Mutex
	ingress map[string]string // URLs by group
}

// New returns a consumer. The zero cfg is ready for use.
func New(receipts ReceiptsClient, queues QueuesClient, cfg Config) *Consumer {
	cfg = cfg.withDefaults()
	return &Consumer{
		receipts: routingdb.NewReceipts(updating{receipts}, cfg.ReceiptsTable), queues: queues, cfg: cfg, ingress: map[string]string{},
	}
}

// updating is what accepting and declining call of a table.
type updating struct{ ReceiptsClient }

var errNotAConsumers = errors.New("that is the router's to do")

func (updating) GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return nil, errNotAConsumers
}

func (updating) PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return nil, errNotAConsumers
}

// Accept makes the message this consumer's own. Do it before the work; then work, then delete the copy from
// the consumer's own queue. It may be repeated, by a consumer that crashed and gets its copy again, too.
//
//	nil            accepted: no other consumer gets the message
//	ErrStale       the message has moved on: delete the copy and do not work
//	ErrNoEnvelope  nothing to accept: the router did not forward it, or the attributes were not received
//	anything else  ErrEnvelope, ErrNoReceipt, or what DynamoDB or the network say: do not work, leave the
//	               copy to its visibility timeout
//
// msg must have been received with its message attributes: ask for "All", or for "landfall".
func (c *Consumer) Accept(ctx context.Context, msg types.Message) error {
	e, err := c.accept(ctx, msg)
	if err != nil {
		return err
	}
	if url, found := c.ingressOf(ctx, e); found {
		c.delete(ctx, url, []string{e.Handle})
	}
	return nil
}

// Decline says that this consumer does not accept the message, so that it moves on at once. Then delete the
// copy. Errors are those of [Consumer.Accept], and [ErrAccepted].
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
			c.notTold(ctx, e, err)
		}
	}
	return nil
}

// accept is Accept but for the ingress queue.
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

// ingressOf is the URL of the ingress queue that a message came from.
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
		c.notTold(ctx, e, err)
		return "", false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ingress[e.Group] = *out.QueueUrl
	return *out.QueueUrl, true
}

// notTold logs that the ingress queue does not know yet. What counts is the receipt, which is written: the router
// acts on it at the attempt's deadline.
func (c *Consumer) notTold(ctx context.Context, e routing.Envelope, err error) {
	c.cfg.Log.WarnContext(ctx, "the ingress queue was not told; the router will see to it", "message", e.ID.String(), "error", awscall.Code(err))
}

// MessageID is what names the message, the same for every copy of it: to recognise what was worked before.
func MessageID(msg types.Message) string {
	if e, err := envelope(msg); err == nil {
		return e.Message
	}
	if msg.MessageId == nil {
		return ""
	}
	return *msg.MessageId
}

// What groups and messages are called.
var (
	groupName = regexp.MustCompile("^" + schema.NamePattern + "$")
	messageID = regexp.MustCompile(`^[!-~]{1,128}$`)
)

// envelope reads a message's envelope. Errors say nothing of what it holds.
func envelope(msg types.Message) (routing.Envelope, error) {
	attribute, found := msg.MessageAttributes[routing.EnvelopeAttribute]
	if !found {
		return routing.Envelope{}, fmt.Errorf("consumer: %w", ErrNoEnvelope)
	}
	if attribute.StringValue == nil {
		return routing.Envelope{}, fmt.Errorf("consumer: %w: it is no text", ErrEnvelope)
	}
	e, err := routing.ParseEnvelope(*attribute.StringValue)
	switch {
	case err != nil:
		return routing.Envelope{}, fmt.Errorf("consumer: %w: %w", ErrEnvelope, err)
	case !groupName.MatchString(e.Group) || !messageID.MatchString(e.Message):
		return routing.Envelope{}, fmt.Errorf("consumer: %w: group or message_id is not as the router writes them", ErrEnvelope)
	}
	return e, nil
}

// refusal says an error of the receipts in this package's words.
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
