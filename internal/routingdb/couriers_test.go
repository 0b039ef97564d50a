package routingdb_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/landfall-dev/landfall/internal/lab/localaws/ledger"
	"github.com/landfall-dev/landfall/internal/routesqs"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/routingdb"
)

// couriers is a bench with a group "couriers" whose configured consumers are behind queues of their names.
type couriers struct {
	*bench
	sqs    *sqs.Client
	groups *routingdb.Groups
	log    lines
}

func newCouriers(t *testing.T, consumers ...string) *couriers {
	t.Helper()
	w := &couriers{bench: newBench(t)}
	w.sqs = sqs.NewFromConfig(w.account.Config("landfall"))
	spec := routingdb.Spec{Function: first{"file"}}
	for _, id := range consumers {
		w.queue(id)
		spec.Consumers = append(spec.Consumers, routing.Consumer{
			ID: id, Target: "sqs:" + id, ConsumerState: routing.ConsumerState{MaxInFlight: 10},
		})
	}
	w.groups = &routingdb.Groups{
		Specs: map[string]routingdb.Spec{"couriers": spec}, Control: w.control, Queues: routesqs.NewQueues(w.sqs),
		Function: func(r routingdb.Route) (routing.Function, error) {
			if r.Kind != "first" {
				return nil, errors.New("there is no such kind")
			}
			return first{r.Argument}, nil
		},
		Log: slog.New(slog.NewTextHandler(&w.log, nil)),
	}
	return w
}

// queue makes a queue and returns its URL.
func (w *couriers) queue(name string) string {
	w.Helper()
	out, err := w.sqs.CreateQueue(w.Context(), &sqs.CreateQueueInput{QueueName: &name})
	if err != nil {
		w.Fatal(err)
	}
	return *out.QueueUrl
}

// fill sends messages to a queue and receives some of them.
func (w *couriers) fill(name string, waiting, inFlight int) {
	w.Helper()
	url := w.queue(name)
	body := "x"
	for range waiting + inFlight {
		if _, err := w.sqs.SendMessage(w.Context(), &sqs.SendMessageInput{QueueUrl: &url, MessageBody: &body}); err != nil {
			w.Fatal(err)
		}
	}
	for range inFlight {
		if _, err := w.sqs.ReceiveMessage(w.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 1}); err != nil {
			w.Fatal(err)
		}
	}
}

func (w *couriers) join(c routing.Consumer) {
	w.Helper()
	c.MaxInFlight = 10
	if err := w.control.Join(w.Context(), "couriers", c, "test"); err != nil {
		w.Fatal(err)
	}
}

func (w *couriers) drain(id string, draining bool) {
	w.Helper()
	if err := w.control.Drain(w.Context(), "couriers", id, draining, "test"); err != nil {
		w.Fatal(err)
	}
}

func (w *couriers) snapshot() routing.Snapshot {
	w.Helper()
	s, err := w.groups.Snapshot(w.Context(), "couriers")
	if err != nil {
		w.Fatal(err)
	}
	return s
}

func (w *couriers) consumer(id string) routing.Consumer {
	w.Helper()
	c, found := w.snapshot().Consumer(id)
	if !found {
		w.Fatalf("%s is not in the group", id)
	}
	return c
}

func (w *couriers) requests(operation string) int {
	return w.account.Ledger().Sum(func(k ledger.Key) bool { return k.Operation == operation }).Requests
}

// first picks the first candidate.
type first struct{ hash string }

func (f first) Hash() string { return f.hash }

func (first) Select(_ context.Context, q routing.Question) (string, error) {
	return q.Candidates[0].ID, nil
}

// lines is a log.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// all is what was logged, and how many lines that is.
func (l *lines) all() (string, int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String(), strings.Count(l.text.String(), "\n")
}
