package devstack

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/landfall-dev/landfall/internal/lab/localaws"
	"github.com/landfall-dev/landfall/internal/lab/loopback"
)

// listen serves an SQS with one queue, jobs, on a socket. Messages are invisible for 10 s: a function must start in that
// time, on a machine that is busy otherwise, too.
func listen(t *testing.T) (client *sqs.Client, url string) {
	t.Helper()
	account := localaws.New(localaws.Options{})
	server, err := loopback.Listen("127.0.0.1:0", account)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	config := account.Config("mapping")
	config.HTTPClient, config.BaseEndpoint = nil, &server.URL
	client = sqs.NewFromConfig(config)
	return client, newQueue(t, client, "jobs", map[string]string{"VisibilityTimeout": "10"})
}

func newQueue(t *testing.T, client *sqs.Client, name string, attributes map[string]string) (url string) {
	t.Helper()
	out, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	if err != nil {
		t.Fatal(err)
	}
	return aws.ToString(out.QueueUrl)
}

// A built function gets a queue's messages over sockets: one that it handles, one that it reports as
// failed, and one that kills it.
func TestMessagesReachABuiltFunction(t *testing.T) {
	t.Parallel()
	client, url := listen(t)
	g := newGate(t)
	g.letThrough()
	b := setup(t, Function{})
	for _, do := range []string{"", "fail", "exit"} {
		body, err := json.Marshal(event{Do: do, URL: g.URL})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String(string(body))}); err != nil {
			t.Fatal(err)
		}
	}
	err := b.MapQueue(context.Background(), QueueMapping{Function: "fn", Client: client, Queue: url, BatchSize: 1, ReportBatchItemFailures: true})
	if err != nil {
		t.Fatal(err)
	}
	g.await(t, 4) // each as it is handled, and once more for the one that kills
	b.Stop(context.Background())
	out, err := client.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []types.QueueAttributeName{"All"}})
	if err != nil {
		t.Fatal(err)
	}
	if out.Attributes["ApproximateNumberOfMessages"] != "0" || out.Attributes["ApproximateNumberOfMessagesNotVisible"] != "0" {
		t.Errorf("messages are left: %v; log: %q", out.Attributes, b.log.lines())
	}
	if want := "[fn] queue jobs: batch of 1 kept: the function failed, Runtime.ExitError"; !strings.Contains(strings.Join(b.log.lines(), "\n"), want) {
		t.Errorf("log says %q", b.log.lines())
	}
	select {
	case <-g.arrived:
		t.Error("a message that was handled came again")
	default:
	}
}

func TestWrongMappingsAreRefused(t *testing.T) {
	t.Parallel()
	client := sqs.NewFromConfig(localaws.New(localaws.Options{}).Config("mapping"))
	b := setup(t, Function{})
	good := QueueMapping{Function: "fn", Client: client, Queue: newQueue(t, client, "jobs", nil)}
	fifo := newQueue(t, client, "jobs.fifo", map[string]string{"FifoQueue": "true"})
	for name, c := range map[string]struct {
		change func(*QueueMapping)
		want   string // empty: it is right
	}{
		"all defaults": {func(m *QueueMapping) {}, ""},
		"largest": {func(m *QueueMapping) {
			m.BatchSize, m.BatchingWindow, m.MaximumConcurrency = 10_000, 5*time.Minute, 1000
		}, ""},
		"unknown function":        {func(m *QueueMapping) { m.Function = "other" }, ErrUnknownFunction.Error()},
		"Client is missing":       {func(m *QueueMapping) { m.Client = nil }, "client is missing"},
		"no queue":                {func(m *QueueMapping) { m.Queue = "" }, "queue is missing: give the queue's URL"},
		"queue that is not there": {func(m *QueueMapping) { m.Queue += "2" }, "NonExistentQueue"},
		"negative batch":          {func(m *QueueMapping) { m.BatchSize = -1 }, "batch size -1"},
		"batch too large":         {func(m *QueueMapping) { m.BatchSize, m.BatchingWindow = 10_001, time.Second }, "batch size 10001"},
		"large, no window":        {func(m *QueueMapping) { m.BatchSize = 11 }, "batch size 11 needs a batching window"},
		"negative window":         {func(m *QueueMapping) { m.BatchingWindow = -time.Second }, "batching window -1s"},
		"window too long":         {func(m *QueueMapping) { m.BatchingWindow = 301 * time.Second }, "batching window 5m1s"},
		"part of a second":        {func(m *QueueMapping) { m.BatchingWindow = 1500 * time.Millisecond }, "batching window 1.5s"},
		"concurrency of one":      {func(m *QueueMapping) { m.MaximumConcurrency = 1 }, "maximum concurrency 1 "},
		"concurrency too high":    {func(m *QueueMapping) { m.MaximumConcurrency = 1001 }, "maximum concurrency 1001"},
		"FIFO":                    {func(m *QueueMapping) { m.Queue = fifo }, ""},
		"FIFO, large":             {func(m *QueueMapping) { m.Queue, m.BatchSize, m.BatchingWindow = fifo, 11, time.Second }, "a FIFO queue"},
		"FIFO, window":            {func(m *QueueMapping) { m.Queue, m.BatchingWindow = fifo, time.Second }, "a FIFO queue"},
	} {
		m := good
		c.change(&m)
		err := b.MapQueue(context.Background(), m)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	b.Stop(context.Background())
	if err := b.MapQueue(context.Background(), good); !errors.Is(err, ErrStopped) {
		t.Errorf("stopped: got %v", err)
	}
}
