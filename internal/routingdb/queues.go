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

// Freshness is for how long a load is good.
const Freshness = time.Second

// Queues reads loads, each queue's at most once in Freshness, and remembers the queues' URLs. It should live from
// invocation to invocation. It is safe for concurrent use.
type Queues struct {
	client QueuesClient

	mu    sync.Mutex
	known map[string]*queue
}

type queue struct {
	turn chan struct{} // taken while the queue is asked, so that one asks for all; guards what follows
	url  string
	at   time.Time // when it was asked last
	load Load
	err  error
}

// NewQueues returns the queues of an account.
func NewQueues(client QueuesClient) *Queues {
	return &Queues{client: client, known: map[string]*queue{}}
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
	if one.at.IsZero() || time.Since(one.at) >= Freshness {
		var load Load
		if load, one.err = q.ask(ctx, one, name); one.err == nil {
			one.load = load
		}
		one.at = time.Now() // a queue that does not answer is not asked again at once, either
	}
	return one.load, one.err
}

func (q *Queues) ask(ctx context.Context, one *queue, name string) (Load, error) {
	if one.url == "" {
		url, err := q.url(ctx, name)
		if err != nil {
			return Load{}, fmt.Errorf("find queue %s: %w", name, err)
		}
		one.url = url
	}
	const inFlight, waiting = types.QueueAttributeNameApproximateNumberOfMessagesNotVisible, types.QueueAttributeNameApproximateNumberOfMessages
	out, err := q.client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &one.url, AttributeNames: []types.QueueAttributeName{inFlight, waiting},
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

// url finds a queue: arn:<partition>:sqs:<region>:<account>:<name>, a URL, or a name in the account.
func (q *Queues) url(ctx context.Context, name string) (string, error) {
	if strings.Contains(name, "://") {
		return name, nil
	}
	in := &sqs.GetQueueUrlInput{QueueName: &name}
	if parts := strings.Split(name, ":"); len(parts) == 6 && parts[0] == "arn" {
		in.QueueOwnerAWSAccountId, in.QueueName = &parts[4], &parts[5]
	}
	out, err := q.client.GetQueueUrl(ctx, in)
	if err != nil {
		return "", err
	}
	return aws.ToString(out.QueueUrl), nil
}
