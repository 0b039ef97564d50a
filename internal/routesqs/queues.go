package routesqs

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

	"github.com/landfall-dev/landfall/internal/routing"
)

// QueuesClient is what Queues calls; *sqs.Client is last.
type QueuesClient interface {
	GetQueueUrl(context.Context, *sqs.GetQueueUrlInput, ...func(*sqs.Options)) (*sqs.GetQueueUrlOutput, error)
	GetQueueAttributes(context.Context, *sqs.GetQueueAttributesInput, ...func(*sqs.Options)) (*sqs.GetQueueAttributesOutput, error)
}

// Freshness is how long a load that was read is used.
const Freshness = time.Second

// Queues reads the loads of queues, each at most once in Freshness, and remembers the queues' URLs. One Queues should
// live as long as the process. It is safe for concurrent use.
type Queues struct {
	client QueuesClient

	mu    sync.Mutex
	loads map[string]*lastLoad // by the name that was asked for
	urls  map[string]string    // by name or ARN
}

// lastLoad is what a queue answered last.
type lastLoad struct {
	turn chan struct{} // taken while the queue is asked, so that one request serves all callers; guards what follows
	at   time.Time     // of the last request
	load routing.Load
	err  error
}

// NewQueues returns the queues of an account.
func NewQueues(client QueuesClient) *Queues {
	return &Queues{client: client, loads: map[string]*lastLoad{}, urls: map[string]string{}}
}

// Load reads the load of a queue, by its name, ARN or URL. With an error it returns the load that was read last,
// unless ctx ended while another caller was asking.
func (q *Queues) Load(ctx context.Context, name string) (routing.Load, error) {
	q.mu.Lock()
	last := q.loads[name]
	if last == nil {
		last = &lastLoad{turn: make(chan struct{}, 1)}
		q.loads[name] = last
	}
	q.mu.Unlock()
	select {
	case last.turn <- struct{}{}:
		defer func() { <-last.turn }()
	case <-ctx.Done():
		return routing.Load{}, fmt.Errorf("read attributes of queue %s: %w", name, ctx.Err())
	}
	if age := time.Since(last.at); age < 0 || age >= Freshness {
		var load routing.Load
		if load, last.err = q.ask(ctx, name); last.err == nil {
			last.load = load
		}
		// A queue that does not answer is not asked again at once, either. Round drops the monotonic clock, which stands
		// still while Lambda freezes the process.
		last.at = time.Now().Round(0)
	}
	return last.load, last.err
}

func (q *Queues) ask(ctx context.Context, name string) (routing.Load, error) {
	url, err := q.URL(ctx, name)
	if err != nil {
		return routing.Load{}, err
	}
	const inFlight, waiting = types.QueueAttributeNameApproximateNumberOfMessagesNotVisible, types.QueueAttributeNameApproximateNumberOfMessages
	out, err := q.client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &url, AttributeNames: []types.QueueAttributeName{inFlight, waiting},
	})
	if err != nil {
		return routing.Load{}, fmt.Errorf("read attributes of queue %s: %w", name, err)
	}
	var load routing.Load
	for attribute, to := range map[types.QueueAttributeName]*int64{inFlight: &load.InFlight, waiting: &load.Waiting} {
		n, err := strconv.ParseInt(out.Attributes[string(attribute)], 10, 64)
		if err != nil || n < 0 {
			return routing.Load{}, fmt.Errorf("read attributes of queue %s: %s is not a count", name, attribute)
		}
		*to = n
	}
	return load, nil
}

// URL finds a queue by its name in the account, its ARN (arn:<partition>:sqs:<region>:<account>:<name>) or its URL.
// It remembers URLs: they never change.
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
