package devstack

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

const (
	// maxReceive is how many messages a request receives or deletes at most, longestPoll how long
	// one waits for messages
	// (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ReceiveMessage.html).
	maxReceive  = 10
	longestPoll = 20 * time.Second

	// deleteLimit bounds the time for deleting what was handled: the stack waits for it when it stops.
	deleteLimit = 10 * time.Second
)

// queueSource is an SQS queue as a source.
type queueSource struct {
	client     *sqs.Client
	url        string
	arn        string
	name       string
	region     string
	visibility time.Duration
	size       int           // of a batch, in messages
	window     time.Duration // to fill one
	say        func(format string, args ...any)
}

// openQueue asks the service what it must know of the mapping's queue.
func openQueue(ctx context.Context, m QueueMapping) (*queueSource, error) {
	out, err := m.Client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &m.Queue,
		AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll}})
	if err != nil {
		return nil, err
	}
	arn := out.Attributes["QueueArn"] // arn:aws:sqs:<region>:<account>:<name>
	parts := strings.Split(arn, ":")
	if len(parts) != 6 {
		return nil, fmt.Errorf("the service answered the queue ARN %q, which is not an ARN", arn)
	}
	visibility, err := strconv.Atoi(out.Attributes["VisibilityTimeout"])
	if err != nil {
		return nil, fmt.Errorf("the queue's VisibilityTimeout: %w", err)
	}
	if out.Attributes["FifoQueue"] == "true" && (m.BatchSize > DefaultBatch || m.BatchingWindow > 0) {
		return nil, fmt.Errorf("a FIFO queue takes a batch size of at most %d and no batching window", DefaultBatch)
	}
	return &queueSource{client: m.Client, url: m.Queue, arn: arn, region: parts[3], name: parts[5],
		visibility: time.Duration(visibility) * time.Second, size: m.BatchSize, window: m.BatchingWindow}, nil
}

// poll receives messages once or, if there is a window, until the batch is full or the window is over.
func (q *queueSource) poll(ctx context.Context) ([]batch, error) {
	messages, err := q.receive(ctx, q.size, longestPoll)
	if err != nil || len(messages) == 0 {
		return nil, err
	}
	began := time.Now()
	for len(messages) < q.size {
		left := q.window - time.Since(began)
		if left <= 0 {
			break
		}
		more, err := q.receive(ctx, q.size-len(messages), min(left, longestPoll))
		if err != nil {
			break // what there is need not wait; the next poll sees whether it goes on
		}
		messages = append(messages, more...)
	}
	return q.pack(messages, began.Add(q.visibility)), nil
}

// receive receives up to n messages, and waits for the first of them: up to the next whole second.
func (q *queueSource) receive(ctx context.Context, n int, wait time.Duration) ([]types.Message, error) {
	out, err := q.client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl:                    &q.url,
		MaxNumberOfMessages:         int32(min(n, maxReceive)),
		WaitTimeSeconds:             int32((wait + time.Second - 1) / time.Second),
		MessageAttributeNames:       []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	})
	if err != nil {
		return nil, err
	}
	return out.Messages, nil
}

// settle deletes the messages that were handled. One that cannot be deleted comes again, as it may
// with SQS at any time.
func (q *queueSource) settle(ctx context.Context, b batch, failed map[string]bool) {
	ctx, cancel := context.WithTimeout(ctx, deleteLimit)
	defer cancel()
	var entries []types.DeleteMessageBatchRequestEntry
	for i, r := range b.records {
		if !failed[r.id] {
			entries = append(entries, types.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: aws.String(r.handle)})
		}
	}
	for chunk := range slices.Chunk(entries, maxReceive) {
		out, err := q.client.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: &q.url, Entries: chunk})
		if err != nil {
			q.say("deleting %d handled messages failed, they may be delivered again: %v", len(chunk), err)
			continue
		}
		for _, f := range out.Failed {
			q.say("deleting a handled message failed, it may be delivered again: %s", aws.ToString(f.Code))
		}
	}
}
