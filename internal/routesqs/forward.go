package routesqs

import (
	"context"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/schema"
)

// Forwarder implements [routing.Forwarder] for messages whose Source is a [Source] and consumers whose Target is
// "sqs:" or "lambda:" and a name or ARN. It is safe for concurrent use.
type Forwarder struct {
	Client SendClient
	// URL finds a queue by its name or ARN.
	URL func(ctx context.Context, name string) (string, error)
	// Functions calls consumers that are functions.
	Functions Invoker
	// IsIngress tells by its name or ARN whether a queue is one that messages come from: nothing is forwarded there,
	// or it would go round in circles. Defaults to none.
	IsIngress func(queue string) bool
}

var _ routing.Forwarder = (*Forwarder)(nil)

// Forward implements [routing.Forwarder]: one request for the messages of a queue, ten at most, and one call for each
// of a function.
func (f *Forwarder) Forward(ctx context.Context, forwards []routing.Forward) []routing.Answer {
	answers := make([]routing.Answer, len(forwards))
	queued := batch{client: f.Client, url: f.URL, options: []func(*sqs.Options){once}}
	var places []int // in answers, of the queued ones
	var calls sync.WaitGroup
	for i, forward := range forwards {
		kind, name, _ := strings.Cut(forward.Consumer.Target, ":")
		switch {
		case kind == schema.TargetLambda && f.Functions != nil:
			calls.Go(func() { answers[i] = f.call(ctx, name, forward) })
		case kind == schema.TargetSQS && f.IsIngress != nil && f.IsIngress(name):
			answers[i] = routing.Answer{Kind: routing.NotTaken, Text: "its target is an ingress queue"}
		case kind == schema.TargetSQS && !strings.HasSuffix(name, ".fifo"):
			queued.entries = append(queued.entries, source(forward.Message).with(forward.Envelope.Text()))
			queued.queues = append(queued.queues, name)
			places = append(places, i)
		default:
			answers[i] = routing.Answer{Kind: routing.NotTaken, Text: "its target is neither a standard queue nor a function"}
		}
	}
	for i, answer := range queued.send(ctx) {
		answers[places[i]] = answer
	}
	calls.Wait()
	return answers
}
