package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/landfall-dev/landfall/internal/lab/localaws"
)

// Attributes are attributes of a queue.
type Attributes = map[string]string

// Queue is a queue under test. Its methods fail the test when the endpoint does not do what they are for.
type Queue struct {
	t   testing.TB
	c   *sqs.Client
	URL string
	ARN string
}

// QueueClient talks to the endpoint under test.
func QueueClient() *sqs.Client {
	endpoint := os.Getenv("LANDFALL_ENDPOINT")
	if endpoint == "" {
		return sqs.NewFromConfig(localaws.New(localaws.Options{}).Config("conformance"))
	}
	return sqs.NewFromConfig(aws.Config{Region: localaws.Region, BaseEndpoint: &endpoint,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")})
}

// OverTime runs a test in which time passes: virtual time, if the endpoint is our own.
func OverTime(t *testing.T, test func(*testing.T)) {
	if os.Getenv("LANDFALL_ENDPOINT") == "" {
		synctest.Test(t, test)
	} else {
		test(t)
	}
}

// NewQueue makes a queue that is deleted after the test; a FIFO queue, if the attributes say so.
func NewQueue(t testing.TB, c *sqs.Client, attributes Attributes) *Queue {
	t.Helper()
	name := fmt.Sprintf("landfall-%d-%d", time.Now().UnixNano(), tables.Add(1))
	if attributes["FifoQueue"] == "true" {
		name += ".fifo"
	}
	out, err := c.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	if err != nil {
		t.Fatalf("create queue: %v", err)
	}
	q := &Queue{t: t, c: c, URL: aws.ToString(out.QueueUrl)}
	q.ARN = q.Attribute(types.QueueAttributeNameQueueArn)
	t.Cleanup(func() {
		var gone *types.QueueDoesNotExist
		if _, err := c.DeleteQueue(context.Background(), &sqs.DeleteQueueInput{QueueUrl: &q.URL}); err != nil && !errors.As(err, &gone) {
			t.Errorf("delete queue: %v", err)
		}
	})
	return q
}

// Attribute is one attribute of the queue.
func (q *Queue) Attribute(name types.QueueAttributeName) string {
	q.t.Helper()
	out, err := q.c.GetQueueAttributes(q.t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &q.URL, AttributeNames: []types.QueueAttributeName{name}})
	if err != nil {
		q.t.Fatalf("get attribute: %v", err)
	}
	return out.Attributes[string(name)]
}

// Counts are how many messages are visible, in flight and delayed.
func (q *Queue) Counts() string {
	q.t.Helper()
	return fmt.Sprint(q.Attribute("ApproximateNumberOfMessages"), " ", q.Attribute("ApproximateNumberOfMessagesNotVisible"), " ", q.Attribute("ApproximateNumberOfMessagesDelayed"))
}

// Send sends messages of these bodies.
func (q *Queue) Send(bodies ...string) {
	q.t.Helper()
	for _, b := range bodies {
		if _, err := q.c.SendMessage(q.t.Context(), &sqs.SendMessageInput{QueueUrl: &q.URL, MessageBody: &b}); err != nil {
			q.t.Fatalf("send: %v", err)
		}
	}
}

// SendTo sends messages of these bodies to a message group; each is its own deduplication id.
func (q *Queue) SendTo(group string, bodies ...string) {
	q.t.Helper()
	for _, b := range bodies {
		if _, err := q.c.SendMessage(q.t.Context(), &sqs.SendMessageInput{QueueUrl: &q.URL, MessageBody: &b, MessageGroupId: &group, MessageDeduplicationId: &b}); err != nil {
			q.t.Fatalf("send: %v", err)
		}
	}
}

// Receive receives up to n messages, and waits for them up to a number of seconds.
func (q *Queue) Receive(n, wait int32) []types.Message {
	q.t.Helper()
	return q.ReceiveFor(n, wait, 0)
}

// ReceiveFor is Receive with a visibility timeout in seconds; 0 is that of the queue, the client knows no other 0.
func (q *Queue) ReceiveFor(n, wait, timeout int32) []types.Message {
	q.t.Helper()
	out, err := q.c.ReceiveMessage(q.t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &q.URL, MaxNumberOfMessages: n, WaitTimeSeconds: wait, VisibilityTimeout: timeout,
		MessageAttributeNames: []string{"All"}, MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"}})
	if err != nil {
		q.t.Fatalf("receive: %v", err)
	}
	return out.Messages
}

// Take receives one message, which must be there.
func (q *Queue) Take() types.Message {
	q.t.Helper()
	got := q.Receive(1, 5)
	if len(got) != 1 {
		q.t.Fatal("there is no message to receive")
	}
	return got[0]
}

// Bodies are the bodies of messages.
func Bodies(messages []types.Message) []string {
	bodies := []string{}
	for _, m := range messages {
		bodies = append(bodies, aws.ToString(m.Body))
	}
	return bodies
}

// Delete deletes the message of a receipt handle.
func (q *Queue) Delete(handle *string) error {
	_, err := q.c.DeleteMessage(q.t.Context(), &sqs.DeleteMessageInput{QueueUrl: &q.URL, ReceiptHandle: handle})
	return err
}

// Change changes the visibility timeout of the message of a receipt handle, in seconds.
func (q *Queue) Change(handle *string, timeout int32) error {
	_, err := q.c.ChangeMessageVisibility(q.t.Context(), &sqs.ChangeMessageVisibilityInput{QueueUrl: &q.URL, ReceiptHandle: handle, VisibilityTimeout: timeout})
	return err
}
