//go:build foreign

package foreign

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/landfall-dev/landfall/internal/config/yamlconfig"
	"github.com/landfall-dev/landfall/internal/lab/devstack"
	"github.com/landfall-dev/landfall/internal/lab/localaws"
	"github.com/landfall-dev/landfall/internal/lab/loopback"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/routingdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

const (
	ingress = "landfall-ingress-couriers"
	routed  = `
groups:
  couriers:
    accept: explicit
    accept_timeout: 3s
    route: first_with_capacity
    consumers: {north: {sqs: courier-north}, south: {sqs: courier-south}}
`
)

// office is the built router behind its ingress queue, and the queues of two consumers.
type office struct {
	t        *testing.T
	endpoint string
	queues   *sqs.Client
	receipts *routingdb.Receipts
}

func newOffice(t *testing.T) *office {
	account := localaws.New(localaws.Options{})
	server, err := loopback.Listen("127.0.0.1:0", account)
	must(t, err)
	t.Cleanup(func() { must(t, server.Close()) })
	sdk := account.Config("test")
	sdk.HTTPClient, sdk.BaseEndpoint = nil, &server.URL
	tables := dynamodb.NewFromConfig(sdk)
	o := &office{t: t, endpoint: server.URL, queues: sqs.NewFromConfig(sdk), receipts: routingdb.NewReceipts(tables, schema.ReceiptsTable)}
	for _, create := range []*dynamodb.CreateTableInput{routingdb.ReceiptsTable(schema.ReceiptsTable), routingdb.ControlTable(schema.ControlTable)} {
		_, err := tables.CreateTable(t.Context(), create)
		must(t, err)
	}
	for _, name := range []string{ingress, "landfall-dead-couriers", "courier-north", "courier-south"} {
		_, err := o.queues.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name})
		must(t, err)
	}
	cfg, err := yamlconfig.Parse("landfall.yaml", []byte(routed))
	must(t, err)
	resolved, err := cfg.Resolved()
	must(t, err)
	file := filepath.Join(t.TempDir(), schema.ConfigFile)
	must(t, os.WriteFile(file, resolved, 0o600))
	binary, err := devstack.Build(t.Context(), ".", "route")
	must(t, err)
	stack, err := devstack.Start(devstack.Config{Functions: []devstack.Function{{
		Name: "route", Path: binary, Timeout: time.Minute, Env: map[string]string{schema.ConfigEnv: file, "AWS_ENDPOINT_URL": server.URL},
	}}})
	must(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		stack.Stop(ctx)
	})
	must(t, stack.MapQueue(t.Context(), devstack.QueueMapping{
		Function: "route", Client: o.queues, Queue: o.url(ingress), ReportBatchItemFailures: true,
	}))
	return o
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (o *office) url(queue string) string {
	o.t.Helper()
	out, err := o.queues.GetQueueUrl(o.t.Context(), &sqs.GetQueueUrlInput{QueueName: &queue})
	must(o.t, err)
	return *out.QueueUrl
}

func (o *office) send(queue, body string, attributes map[string]types.MessageAttributeValue) string {
	o.t.Helper()
	out, err := o.queues.SendMessage(o.t.Context(), &sqs.SendMessageInput{QueueUrl: aws.String(o.url(queue)), MessageBody: &body, MessageAttributes: attributes})
	must(o.t, err)
	return *out.MessageId
}

// take receives one message and deletes it.
func (o *office) take(queue string) types.Message {
	o.t.Helper()
	url := o.url(queue)
	out, err := o.queues.ReceiveMessage(o.t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url, WaitTimeSeconds: 20, MessageAttributeNames: []string{"All"}})
	must(o.t, err)
	if len(out.Messages) != 1 {
		o.t.Fatalf("%s has no message", queue)
	}
	_, err = o.queues.DeleteMessage(o.t.Context(), &sqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: out.Messages[0].ReceiptHandle})
	must(o.t, err)
	return out.Messages[0]
}

func (o *office) counts(queue string) string {
	o.t.Helper()
	out, err := o.queues.GetQueueAttributes(o.t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: aws.String(o.url(queue)), AttributeNames: []types.QueueAttributeName{"All"}})
	must(o.t, err)
	return out.Attributes["ApproximateNumberOfMessages"] + "+" + out.Attributes["ApproximateNumberOfMessagesNotVisible"]
}

// consumer starts the program of the page on a queue. next returns its lines one by one, and "" when it has ended.
func (o *office) consumer(queue string) (next func() string) {
	page, err := os.ReadFile("../../docs/routing.md")
	must(o.t, err)
	program := regexp.MustCompile("(?s)```python\n(.*?)```").FindSubmatch(page)
	if program == nil {
		o.t.Fatal("the page has no program")
	}
	if lines := bytes.Count(program[1], []byte("\n")); lines >= 60 {
		o.t.Errorf("the program has %d lines, want fewer than 60", lines)
	}
	file := filepath.Join(o.t.TempDir(), "consumer.py")
	must(o.t, os.WriteFile(file, program[1], 0o600))
	ctx, stop := context.WithCancel(o.t.Context())
	cmd := exec.CommandContext(ctx, "python3", file)
	cmd.Env = append(environment(o.endpoint), "QUEUE_URL="+o.url(queue))
	cmd.Stderr = o.t.Output()
	out, err := cmd.StdoutPipe()
	must(o.t, err)
	must(o.t, cmd.Start())
	o.t.Cleanup(func() {
		stop()
		_ = cmd.Wait() // it was killed
	})
	lines := bufio.NewScanner(out)
	return func() string {
		lines.Scan()
		return strings.TrimPrefix(lines.Text(), "worked ")
	}
}

// TestPythonConsumerWorksOnlyItsOwnMessages runs the program of docs/routing.md as south. North is picked first and has
// died. A worker of south accepted the message and died, too. Copies of north's message that reach south are stale.
// Copies of south's own message are repetitions.
func TestPythonConsumerWorksOnlyItsOwnMessages(t *testing.T) {
	o := newOffice(t)
	id := o.send(ingress, "first", nil)
	lapsed := o.take("courier-north") // and north does nothing
	copied := o.take("courier-south")
	e, err := routing.ParseEnvelope(*copied.MessageAttributes[routing.EnvelopeAttribute].StringValue)
	must(t, err)
	_, err = o.receipts.Write(t.Context(), routing.AcceptMove(e.ID, e.Attempt, e.Token, time.Now())) // by a worker that then died
	must(t, err)
	o.send("courier-south", "stale: north's", lapsed.MessageAttributes)
	o.send("courier-south", *copied.Body, copied.MessageAttributes)
	o.send("courier-south", "again: south's", copied.MessageAttributes)
	o.send("courier-south", "unreadable", map[string]types.MessageAttributeValue{"landfall": {DataType: aws.String("String"), StringValue: aws.String("{}")}})
	o.send("courier-south", "of another deployment", foreignEnvelope(t))
	o.send("courier-south", "last: sent to it directly", nil)
	next := o.consumer("courier-south")
	var worked []string
	for line := next(); line != ""; line = next() {
		if worked = append(worked, line); strings.HasPrefix(line, "last") {
			break
		}
	}
	receipt, err := o.receipts.Get(t.Context(), routing.ID{Group: "couriers", Message: id})
	if err != nil || receipt.State != routing.Accepted || receipt.Consumer != "south" || receipt.Attempt != 2 {
		t.Errorf("receipt: %s by %s, attempt %d, %v", receipt.State, receipt.Consumer, receipt.Attempt, err)
	}
	got := strings.Join(worked, ", ")
	if got != "first, last: sent to it directly" && got != "again: south's, last: sent to it directly" {
		t.Errorf("worked %q", got)
	}
	counts := ""
	for tries := 0; counts != "0+2" && tries < 100; tries++ { // until the last message is deleted
		<-time.After(50 * time.Millisecond)
		counts = o.counts("courier-south")
	}
	if counts != "0+2" {
		t.Errorf("the consumer's queue holds %s, want the two messages that it cannot judge", counts)
	}
	if counts := o.counts(ingress); counts != "0+0" {
		t.Errorf("the ingress queue holds %s", counts)
	}
}

// foreignEnvelope has no receipt.
func foreignEnvelope(t *testing.T) map[string]types.MessageAttributeValue {
	text, err := json.Marshal(map[string]any{"group": "couriers", "message_id": "m", "attempt": 1, "token": "t", "deadline": 1, "ingress_handle": "h"})
	must(t, err)
	return map[string]types.MessageAttributeValue{"landfall": {DataType: aws.String("String"), StringValue: aws.String(string(text))}}
}
