package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/landfall-dev/landfall/functions/internal/setup"
	"github.com/landfall-dev/landfall/internal/config/yamlconfig"
	"github.com/landfall-dev/landfall/internal/lab/localaws"
	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
	"github.com/landfall-dev/landfall/internal/lab/localaws/ledger"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/routingdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

const (
	group   = "couriers"
	ingress = "landfall-ingress-couriers"
	dead    = "landfall-dead-couriers"
)

// bench is the function in process, with an AWS of its own: an ingress queue, its mapping, and consumers.
type bench struct {
	*testing.T
	*handler
	account  *localaws.Account
	sqs      *sqs.Client // of the mapping
	receipts *routingdb.Receipts
	log      *lines
	granted  map[string]bool // attempts
	// fault happens to requests of the function.
	fault func(faults.Request) faults.Fault
}

// inBubble runs a test in virtual time. Each request takes 10 ms.
func inBubble(t *testing.T, yaml string, test func(b *bench)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &bench{T: t, log: &lines{}, granted: map[string]bool{}}
		b.account = localaws.New(localaws.Options{Faults: func(r faults.Request) (f faults.Fault) {
			if b.fault != nil && r.Caller == "route" {
				f = b.fault(r)
			}
			f.Before += 10 * time.Millisecond
			return f
		}})
		b.sqs = sqs.NewFromConfig(b.account.Config("mapping"))
		tables := dynamodb.NewFromConfig(b.account.Config("route"))
		b.receipts = routingdb.NewReceipts(dynamodb.NewFromConfig(b.account.Config("consumer")), schema.ReceiptsTable)
		for _, table := range []*dynamodb.CreateTableInput{routingdb.ReceiptsTable(schema.ReceiptsTable), routingdb.ControlTable(schema.ControlTable)} {
			if _, err := tables.CreateTable(t.Context(), table); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{ingress, dead, "north", "south"} {
			in := &sqs.CreateQueueInput{QueueName: &name, Attributes: map[string]string{"VisibilityTimeout": "360"}}
			if _, err := b.sqs.CreateQueue(t.Context(), in); err != nil {
				t.Fatal(err)
			}
		}
		cfg, err := yamlconfig.Parse("landfall.yaml", []byte(yaml))
		if err != nil {
			t.Fatal(err)
		}
		logger := slog.New(slog.NewJSONHandler(b.log, nil))
		routing, err := setup.NewRouting(cfg, setup.Clients{DynamoDB: tables, SQS: sqs.NewFromConfig(b.account.Config("route"))}, logger)
		if err != nil {
			t.Fatal(err)
		}
		b.handler = &handler{routing}
		test(b)
	})
}

func (b *bench) url(queue string) *string {
	url := "http://localaws.invalid/000000000000/" + queue
	return &url
}

// send puts messages into the ingress queue, without counting, and returns their ids.
func (b *bench) send(bodies ...string) (ids []string) {
	b.Helper()
	for _, body := range bodies {
		out, err := b.sqs.SendMessage(b.Context(), &sqs.SendMessageInput{QueueUrl: b.url(ingress), MessageBody: &body})
		if err != nil {
			b.Fatal(err)
		}
		ids = append(ids, *out.MessageId)
	}
	return ids
}

// receive takes up to ten messages.
func (b *bench) receive(queue string) []types.Message {
	b.Helper()
	out, err := b.sqs.ReceiveMessage(b.Context(), &sqs.ReceiveMessageInput{
		QueueUrl: b.url(queue), MaxNumberOfMessages: 10,
		MessageAttributeNames: []string{"All"}, MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"},
	})
	if err != nil {
		b.Fatal(err)
	}
	return out.Messages
}

// invoke is one round of the mapping: it receives, invokes, and deletes what is not reported. It returns how many it
// received and what was reported.
func (b *bench) invoke() (n int, kept map[string]bool) {
	b.Helper()
	messages := b.receive(ingress)
	if len(messages) == 0 {
		return 0, nil
	}
	event := events.SQSEvent{}
	for _, m := range messages {
		record := events.SQSMessage{
			MessageId: *m.MessageId, ReceiptHandle: *m.ReceiptHandle, Body: *m.Body, Attributes: m.Attributes,
			EventSource: "aws:sqs", EventSourceARN: "arn:aws:sqs:us-east-1:000000000000:" + ingress,
			MessageAttributes: map[string]events.SQSMessageAttribute{},
		}
		for name, a := range m.MessageAttributes {
			record.MessageAttributes[name] = events.SQSMessageAttribute{DataType: *a.DataType, StringValue: a.StringValue, BinaryValue: a.BinaryValue}
		}
		event.Records = append(event.Records, record)
	}
	raw, err := json.Marshal(event)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
	defer cancel()
	answer, err := b.handle(ctx, raw)
	if err != nil {
		b.Fatal(err)
	}
	kept = map[string]bool{}
	for _, failure := range answer.BatchItemFailures {
		kept[failure.ItemIdentifier] = true
	}
	var done []types.DeleteMessageBatchRequestEntry
	for _, m := range messages {
		if !kept[*m.MessageId] {
			done = append(done, types.DeleteMessageBatchRequestEntry{Id: m.MessageId, ReceiptHandle: m.ReceiptHandle})
		}
	}
	if len(done) > 0 {
		if _, err := b.sqs.DeleteMessageBatch(b.Context(), &sqs.DeleteMessageBatchInput{QueueUrl: b.url(ingress), Entries: done}); err != nil {
			b.Fatal(err)
		}
	}
	return len(messages), kept
}

// run invokes for so long.
func (b *bench) run(d time.Duration) {
	b.Helper()
	for until := time.Now().Add(d); time.Now().Before(until); {
		if n, _ := b.invoke(); n == 0 {
			<-time.After(time.Second)
		}
	}
}

// envelopes are those of the messages in a consumer's queue.
func (b *bench) envelopes(queue string) (all []routing.Envelope) {
	b.Helper()
	for _, m := range b.receive(queue) {
		envelope, err := routing.ParseEnvelope(aws.ToString(m.MessageAttributes[routing.EnvelopeAttribute].StringValue))
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, envelope)
	}
	return all
}

func attributesOf(name, value string) map[string]types.MessageAttributeValue {
	return map[string]types.MessageAttributeValue{name: {DataType: aws.String("String"), StringValue: &value}}
}

func (b *bench) receipt(message string) routing.Receipt {
	b.Helper()
	receipt, err := b.receipts.Get(b.Context(), routing.ID{Group: group, Message: message})
	if err != nil {
		b.Fatal(err)
	}
	return receipt
}

// depth is how many messages a queue has, hidden ones included.
func (b *bench) depth(queue string) int {
	b.Helper()
	out, err := b.sqs.GetQueueAttributes(b.Context(), &sqs.GetQueueAttributesInput{QueueUrl: b.url(queue), AttributeNames: []types.QueueAttributeName{"All"}})
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for _, name := range []string{"ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"} {
		var some int
		if err := json.Unmarshal([]byte(out.Attributes[name]), &some); err != nil {
			b.Fatal(err)
		}
		n += some
	}
	return n
}

// requests counts those of a service.
func (b *bench) requests(service string, match func(ledger.Key) bool) ledger.Sum {
	return b.account.Ledger().Sum(func(k ledger.Key) bool { return k.Service == service && match(k) })
}

// lines is a log.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

const couriers = `
groups:
  couriers:
    accept: explicit
    accept_timeout: 30s
    route: first_with_capacity
    consumers: {north: {sqs: north}, south: {sqs: south}}
`
