package devstack

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/landfall-dev/landfall/internal/lab/localaws"
	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
)

// plant is an event source mapping whose function is a Go func, on a queue in a bubble. The queue's
// visibility timeout is a minute.
type plant struct {
	t      *testing.T
	client *sqs.Client
	url    string
	began  time.Time
	log    journal

	mu    sync.Mutex
	calls []string // "1s a b": when the function was invoked, and with what
}

// answer is what an invocation comes to.
type answer struct {
	result Result
	err    error
}

// newPlant makes the queue, FIFO if the attributes say so.
func newPlant(t *testing.T, plan faults.Plan, attributes map[string]string) *plant {
	t.Helper()
	account := localaws.New(localaws.Options{Faults: plan})
	p := &plant{t: t, client: sqs.NewFromConfig(account.Config("mapping")), began: time.Now()}
	all := map[string]string{"VisibilityTimeout": "60"}
	name := "jobs"
	for k, v := range attributes {
		all[k] = v
	}
	if all["FifoQueue"] == "true" {
		name += ".fifo"
	}
	out, err := p.client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: all})
	if err != nil {
		t.Fatal(err)
	}
	p.url = aws.ToString(out.QueueUrl)
	return p
}

func (p *plant) send(bodies ...string) {
	p.t.Helper()
	for _, b := range bodies {
		if _, err := p.client.SendMessage(p.t.Context(), &sqs.SendMessageInput{QueueUrl: &p.url, MessageBody: &b}); err != nil {
			p.t.Fatal(err)
		}
	}
}

// start runs the mapping until the test's end; end ends it sooner, and waits for it.
func (p *plant) start(m QueueMapping, function func(ctx context.Context, e events.SQSEvent) answer) (end func()) {
	p.t.Helper()
	m.Client, m.Queue = p.client, p.url
	m = m.withDefaults()
	source, err := openQueue(p.t.Context(), m)
	if err != nil {
		p.t.Fatal(err)
	}
	source.say = func(format string, args ...any) { fmt.Fprintf(&p.log, format+"\n", args...) }
	pump := pump{source: source, concurrency: m.MaximumConcurrency, report: m.ReportBatchItemFailures, say: source.say,
		invoke: func(ctx context.Context, event []byte) (Result, error) {
			var e events.SQSEvent
			if err := json.Unmarshal(event, &e); err != nil {
				p.t.Error(err)
			}
			p.note(e)
			a := function(ctx, e)
			return a.result, a.err
		}}
	ctx, cancel := context.WithCancel(p.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		pump.run(ctx)
	}()
	end = func() {
		cancel()
		<-done
	}
	p.t.Cleanup(end)
	return end
}

func (p *plant) note(e events.SQSEvent) {
	bodies := []string{fmt.Sprint(time.Since(p.began).Round(time.Second))}
	for _, r := range e.Records {
		bodies = append(bodies, r.Body)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, strings.Join(bodies, " "))
}

// invoked fails the test unless the function was invoked at these times with these bodies, in the order
// of the times.
func (p *plant) invoked(want ...string) {
	p.t.Helper()
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	slices.Sort(p.calls)
	slices.Sort(want)
	if !slices.Equal(p.calls, want) {
		p.t.Errorf("invoked %q, not %q; log: %q", p.calls, want, p.log.lines())
	}
}

// count is how often the function was invoked.
func (p *plant) count() int {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.calls)
}

// text is what was logged.
func (p *plant) text() string {
	synctest.Wait()
	return strings.Join(p.log.lines(), "\n")
}

// left is how many messages the queue has, in flight or not.
func (p *plant) left() string {
	p.t.Helper()
	synctest.Wait()
	out, err := p.client.GetQueueAttributes(p.t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &p.url, AttributeNames: []types.QueueAttributeName{"All"}})
	if err != nil {
		p.t.Fatal(err)
	}
	return out.Attributes["ApproximateNumberOfMessages"] + " " + out.Attributes["ApproximateNumberOfMessagesNotVisible"]
}

// sendBatch sends messages of these bodies at once.
func (p *plant) sendBatch(bodies ...string) {
	p.t.Helper()
	var entries []types.SendMessageBatchRequestEntry
	for i, b := range bodies {
		entries = append(entries, types.SendMessageBatchRequestEntry{Id: aws.String(fmt.Sprint(i)), MessageBody: aws.String(b)})
	}
	if _, err := p.client.SendMessageBatch(p.t.Context(), &sqs.SendMessageBatchInput{QueueUrl: &p.url, Entries: entries}); err != nil {
		p.t.Fatal(err)
	}
}

func handled(context.Context, events.SQSEvent) answer {
	return answer{result: Result{Payload: []byte("null")}}
}

// report answers that the messages with these bodies have failed.
func report(bodies ...string) func(context.Context, events.SQSEvent) answer {
	return func(_ context.Context, e events.SQSEvent) answer {
		var r events.SQSEventResponse
		for _, m := range e.Records {
			if slices.Contains(bodies, m.Body) {
				r.BatchItemFailures = append(r.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
			}
		}
		payload, err := json.Marshal(r)
		return answer{result: Result{Payload: payload}, err: err}
	}
}

// always gives the same answer.
func always(a answer) func(context.Context, events.SQSEvent) answer {
	return func(context.Context, events.SQSEvent) answer { return a }
}
