package consumer_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamodbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/landfall-dev/landfall/consumer"
	"github.com/landfall-dev/landfall/internal/schema"
	"github.com/landfall-dev/landfall/landfalltest"
)

// workplace is a group with one consumer, and the consumer's log.
type workplace struct {
	*testing.T
	*landfalltest.Group
	*consumer.Consumer
	log     strings.Builder
	network network
}

func newWorkplace(t *testing.T) *workplace {
	t.Helper()
	group, err := landfalltest.NewGroup("couriers")
	if err != nil {
		t.Fatal(err)
	}
	w := &workplace{T: t, Group: group}
	w.Consumer = consumer.New(group.Receipts, group.Queues, w.config())
	return w
}

func (w *workplace) config() consumer.Config {
	cfg := w.Config()
	cfg.Log = slog.New(slog.NewTextHandler(&w.log, nil))
	return cfg
}

func (w *workplace) send(body string) (id string) {
	w.Helper()
	id, err := w.Send(w.Context(), body)
	if err != nil {
		w.Fatal(err)
	}
	return id
}

// copy receives a copy from the consumer's queue.
func (w *workplace) copy() types.Message {
	w.Helper()
	out, err := w.Queues.ReceiveMessage(w.Context(), &sqs.ReceiveMessageInput{QueueUrl: &w.Queue, MessageAttributeNames: []string{"All"}, VisibilityTimeout: 60})
	if err != nil || len(out.Messages) != 1 {
		w.Fatalf("%v, %v: want a message", out, err)
	}
	return out.Messages[0]
}

func (w *workplace) moveOn(id string) {
	w.Helper()
	if err := w.MoveOn(w.Context(), id); err != nil {
		w.Fatal(err)
	}
}

// counts returns how many messages of a queue are visible and how many are in flight, as "visible+in flight".
func (w *workplace) counts(queue string) string {
	w.Helper()
	out, err := w.Queues.GetQueueAttributes(w.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &queue, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll}})
	if err != nil {
		w.Fatal(err)
	}
	return out.Attributes["ApproximateNumberOfMessages"] + "+" + out.Attributes["ApproximateNumberOfMessagesNotVisible"]
}

func (w *workplace) state(id string) string {
	w.Helper()
	state, err := w.State(w.Context(), id)
	if err != nil {
		w.Fatal(err)
	}
	return state
}

func (w *workplace) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func receiptKey(id string) map[string]dynamodbtypes.AttributeValue {
	return map[string]dynamodbtypes.AttributeValue{schema.PK: &dynamodbtypes.AttributeValueMemberS{Value: "couriers#" + id}}
}

// change changes an attribute of a message's receipt.
func (w *workplace) change(id, attribute string, v dynamodbtypes.AttributeValue) {
	w.Helper()
	_, err := w.Receipts.UpdateItem(w.Context(), &dynamodb.UpdateItemInput{
		TableName: aws.String(schema.ReceiptsTable), Key: receiptKey(id), UpdateExpression: aws.String("SET #a = :v"),
		ExpressionAttributeNames: map[string]string{"#a": attribute}, ExpressionAttributeValues: map[string]dynamodbtypes.AttributeValue{":v": v},
	})
	w.must(err)
}

// put sends a message straight to the consumer's queue.
func (w *workplace) put(body string, attributes map[string]types.MessageAttributeValue) {
	w.Helper()
	_, err := w.Queues.SendMessage(w.Context(), &sqs.SendMessageInput{QueueUrl: &w.Queue, MessageBody: &body, MessageAttributes: attributes})
	w.must(err)
}

// consume runs Consume for the given time.
func (w *workplace) consume(d time.Duration, cfg consumer.Config, work consumer.Work) {
	w.Helper()
	ctx, stop := context.WithTimeout(w.Context(), d)
	defer stop()
	if err := consumer.New(w.Receipts, w.queues(), cfg).Consume(ctx, w.Queue, work); err != nil {
		w.Errorf("consume: %v", err)
	}
}

// queues is a client of the group's queues over the test's network.
func (w *workplace) queues() *sqs.Client {
	options := w.Queues.Options()
	w.network.client, options.HTTPClient = options.HTTPClient, &w.network
	return sqs.New(options)
}

// network counts requests to queues and fails those of one operation.
type network struct {
	client aws.HTTPClient
	fails  string

	mu    sync.Mutex
	count map[string]int
}

func (n *network) Do(r *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	n.mu.Lock()
	if n.count == nil {
		n.count = map[string]int{}
	}
	n.count[operation]++
	fails := n.fails == operation
	n.mu.Unlock()
	if fails {
		return nil, errors.New("no route to host")
	}
	return n.client.Do(r)
}

func (n *network) fail(operation string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fails = operation
}

// calls counts the calls of a Work by the message's body.
type calls struct {
	mu    sync.Mutex
	count map[string]int
}

func (c *calls) note(msg types.Message) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count == nil {
		c.count = map[string]int{}
	}
	c.count[*msg.Body]++
	return c.count[*msg.Body]
}

func (w *workplace) rests(queues ...string) {
	w.Helper()
	for _, queue := range queues {
		if got := w.counts(queue); got != "0+0" {
			w.Errorf("%s holds %s messages, want none", queue, got)
		}
	}
}
