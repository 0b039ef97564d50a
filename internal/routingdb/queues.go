package routingdb

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// QueuesClient is what Queues calls; *sqs.Client is one.
type QueuesClient interface {
	GetQueueUrl(context.Context, *sqs.GetQueueUrlInput, ...func(*sqs.Options)) (*sqs.GetQueueUrlOutput, error)
	GetQueueAttributes(context.Context, *sqs.GetQueueAttributesInput, ...func(*sqs.Options)) (*sqs.GetQueueAttributesOutput, error)
}

// Load is how busy who reads a queue is, as far as the queue can tell: its counts are approximate and lag behind.
type Load struct {
	// InFlight is how many messages were received and not deleted, Waiting how many can be received.
	InFlight, Waiting int64
}

// Given is how many messages a consumer has that it has not finished. What waits counts, too: nobody else gets it, and a
// consumer that reads nothing would never be full.
func (l Load) Given() int64 { return l.InFlight + l.Waiting }

// Freshness is for how long a load is good.
const Freshness = time.Second

// Queues reads loads, each queue's at most once in Freshness, and remembers the queues' URLs. It should live from
// invocation to invocation. It is safe for concurrent use.
type Queues struct {
	client QueuesClient

	mu    sync.Mutex
	known map[string]*queue
	urls  map[string]string // by name or ARN
}

type queue struct {
	turn chan struct{} // taken while the queue is asked, so that one asks for all; guards what follows
	at   time.Time     // when it was asked last
	load Load
	err  error
}

// NewQueues returns the queues of an account.
func NewQueues(client QueuesClient) *Queues {
	return &Queues{client: client, known: map[string]*queue{}, urls: map[string]string{}}
}

// Load is the load of a queue, by its name, ARN or URL. With an error comes what was known last, unless
// ctx ended while another asked.
func (q *Queues) Load(ctx context.Context, name string) (Load, error) {
	q.mu.Lock()
	one := q.known[name]
	if one == nil {
		one = &queue{turn: make(chan struct{}, 1)}
		q.known[name] = one
	}
	q.mu.Unlock()
	select {
	case one.turn <- struct{}{}:
		defer func() { <-one.turn }()
	case <-ctx.Done():
		return Load{}, fmt.Errorf("read attributes of queue %s: %w", name, ctx.Err())
	}
	if age := time.Since(one.at); age < 0 || age >= Freshness {
		var load Load
		if load, one.err = q.ask(ctx, name); one.err == nil {
			one.load = load
		}
		// A queue that does not answer is not asked again at once, either. The wall clock goes on while the process is frozen.
		one.at = time.Now().Round(0)
	}
	return one.load, one.err
}

func (q *Queues) ask(ctx context.Context, name string) (Load, error) {
	url, err := q.URL(ctx, name)
	if err != nil {
		return Load{}, err
	}
	const inFlight, waiting = types.QueueAttributeNameApproximateNumberOfMessagesNotVisible, types.QueueAttributeNameApproximateNumberOfMessages
	out, err := q.client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &url, AttributeNames: []types.QueueAttributeName{inFlight, waiting},
	})
	if err != nil {
		return Load{}, fmt.Errorf("read attributes of queue %s: %w", name, err)
	}
	var load Load
	for attribute, to := range map[types.QueueAttributeName]*int64{inFlight: &load.InFlight, waiting: &load.Waiting} {
		n, err := strconv.ParseInt(out.Attributes[string(attribute)], 10, 64)
		if err != nil || n < 0 {
			return Load{}, fmt.Errorf("read attributes of queue %s: %s is no count", name, attribute)
		}
		*to = n
	}
	return load, nil
}

// URL finds a queue by its name in the account, its ARN (arn:<partition>:sqs:<region>:<account>:<name>) or its URL.
// What was found is remembered: it never changes.
func (q *Queues) URL(ctx context.Context, name string) (string, error) {
	if strings.Contains(name, "://") {
		return name, nil
	}
	q.mu.Lock()
	url := q.urls[name]
	q.mu.Unlock()
	if url != "" {
		return url, nil
	}
	in := &sqs.GetQueueUrlInput{QueueName: &name}
	if parts := strings.Split(name, ":"); len(parts) == 6 && parts[0] == "arn" {
		in.QueueOwnerAWSAccountId, in.QueueName = &parts[4], &parts[5]
	}
	out, err := q.client.GetQueueUrl(ctx, in)
	if err != nil {
		return "", fmt.Errorf("find queue %s: %w", name, err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.urls[name] = aws.ToString(out.QueueUrl)
	return q.urls[name], nil
}
