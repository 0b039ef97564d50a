package routesqs_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/landfall-dev/landfall/internal/lab/localaws"
	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
	"github.com/landfall-dev/landfall/internal/lab/localaws/ledger"
	"github.com/landfall-dev/landfall/internal/routesqs"
	"github.com/landfall-dev/landfall/internal/routing"
)

const ingressARN = "arn:aws:sqs:us-east-1:000000000000:ingress"

// bench is an SQS with an ingress queue, two consumers' and one for dead letters.
type bench struct {
	*testing.T
	*sqs.Client
	account *localaws.Account
	queues  *routesqs.Queues
	// fault happens to every batch.
	fault atomic.Pointer[faults.Fault]
}

// inBubble runs a test on a bench, in virtual time.
func inBubble(t *testing.T, test func(b *bench)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &bench{T: t}
		b.account = localaws.New(localaws.Options{Faults: func(r faults.Request) faults.Fault {
			if fault := b.fault.Load(); fault != nil && strings.HasSuffix(r.Operation, "Batch") {
				return *fault
			}
			return faults.Fault{}
		}})
		b.Client = sqs.NewFromConfig(b.account.Config("test"))
		b.queues = routesqs.NewQueues(b.Client)
		for _, name := range []string{"ingress", "north", "south", "dead"} {
			if _, err := b.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name}); err != nil {
				t.Fatal(err)
			}
		}
		test(b)
	})
}

func (b *bench) url(queue string) *string {
	b.Helper()
	url, err := b.queues.URL(b.Context(), queue)
	if err != nil {
		b.Fatal(err)
	}
	return &url
}

// receive takes what there is, up to ten messages.
func (b *bench) receive(queue string) []types.Message {
	b.Helper()
	out, err := b.ReceiveMessage(b.Context(), &sqs.ReceiveMessageInput{
		QueueUrl: b.url(queue), MaxNumberOfMessages: 10, VisibilityTimeout: 3600,
		MessageAttributeNames: []string{"All"}, MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"},
	})
	if err != nil {
		b.Fatal(err)
	}
	return out.Messages
}

// all takes everything.
func (b *bench) all(queue string) (messages []types.Message) {
	b.Helper()
	for {
		some := b.receive(queue)
		if len(some) == 0 {
			return messages
		}
		messages = append(messages, some...)
	}
}

// incoming puts n messages into the ingress queue and takes them out.
func (b *bench) incoming(n int) (all []routing.Incoming) {
	b.Helper()
	for range n {
		if _, err := b.SendMessage(b.Context(), &sqs.SendMessageInput{QueueUrl: b.url("ingress"), MessageBody: aws.String("x")}); err != nil {
			b.Fatal(err)
		}
	}
	for _, m := range b.all("ingress") {
		s := routesqs.Source{MessageID: *m.MessageId, QueueARN: ingressARN, Body: *m.Body}
		all = append(all, s.Incoming("couriers", *m.ReceiptHandle, time.Now(), 1))
	}
	return all
}

// message is one that did not come from a queue.
func message(s routesqs.Source) routing.Incoming {
	if s.Body == "" {
		s.Body = "x"
	}
	if s.MessageID == "" {
		s.MessageID = "m1"
	}
	s.QueueARN = ingressARN
	return s.Incoming("couriers", "handle-of-secrets", time.UnixMilli(1_700_000_000_000), 3)
}

func (b *bench) forwarder() *routesqs.Forwarder {
	return &routesqs.Forwarder{Client: b.Client, URL: b.queues.URL}
}

// forward hands messages to a consumer behind a target.
func (b *bench) forward(ctx context.Context, f *routesqs.Forwarder, target string, messages ...routing.Incoming) []routing.Answer {
	var forwards []routing.Forward
	for _, in := range messages {
		forwards = append(forwards, routing.Forward{
			Message: in, Consumer: routing.Consumer{ID: "north", Target: target},
			Envelope: routing.Envelope{ID: routing.ID{Group: in.Group, Message: in.ID}, Attempt: 1, Token: "token-of-secrets", Deadline: time.Now(), Handle: in.Handle},
		})
	}
	return f.Forward(ctx, forwards)
}

func (b *bench) requests(operation string) int {
	return b.account.Ledger().Sum(func(k ledger.Key) bool { return k.Operation == operation }).Requests
}
