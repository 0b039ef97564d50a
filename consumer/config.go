package consumer

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/landfall-dev/landfall/internal/schema"
)

// ReceiptsClient is the table in which a [Consumer] accepts and declines; *dynamodb.Client is one. It needs the
// permission dynamodb:UpdateItem on the receipts table.
type ReceiptsClient interface {
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
}

// QueuesClient is what a [Consumer] calls of SQS; *sqs.Client is one. On the ingress queues of its groups it needs the
// permissions sqs:GetQueueUrl, sqs:DeleteMessage and sqs:ChangeMessageVisibility. [Consumer.Consume] needs the latter two
// and sqs:ReceiveMessage on the consumer's own queue.
type QueuesClient interface {
	ChangeMessageVisibility(context.Context, *sqs.ChangeMessageVisibilityInput, ...func(*sqs.Options)) (*sqs.ChangeMessageVisibilityOutput, error)
	DeleteMessageBatch(context.Context, *sqs.DeleteMessageBatchInput, ...func(*sqs.Options)) (*sqs.DeleteMessageBatchOutput, error)
	GetQueueUrl(context.Context, *sqs.GetQueueUrlInput, ...func(*sqs.Options)) (*sqs.GetQueueUrlOutput, error)
	ReceiveMessage(context.Context, *sqs.ReceiveMessageInput, ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error)
}

// Config configures a [Consumer]. Every field has a default.
type Config struct {
	// Busy is asked before a message is accepted. If it returns true, the message is declined and moves on to another
	// consumer at once. A message that this consumer has accepted before is worked all the same. Consume and Lambda
	// use it. Defaults to never busy.
	Busy func(context.Context, types.Message) bool
	// Concurrency is how many messages Consume works at once, and Lambda of one batch. Defaults to 10.
	Concurrency int
	// Grace is how long Consume lets work finish after its context has ended; then the context of the work ends, too.
	// Defaults to 25 s, because ECS and Kubernetes kill after 30 s.
	Grace time.Duration
	// Log receives problems that no call returns, and the errors of the work. It receives neither bodies nor tokens.
	// Defaults to slog.Default().
	Log *slog.Logger
	// QueuePrefix begins the names of the deployment's queues. Defaults to the value of LANDFALL_QUEUE_PREFIX, else
	// "landfall".
	QueuePrefix string
	// ReceiptsTable defaults to the value of LANDFALL_RECEIPTS_TABLE, else "landfall-receipts".
	ReceiptsTable string
	// Visibility is how long Consume hides a message from other workers. It is renewed while the work goes on. A
	// message whose work failed, or whose process died, comes back after this time. 3 s to 12 h, in whole seconds.
	// Defaults to 30 s.
	Visibility time.Duration
}

func (c Config) withDefaults() Config {
	if c.Busy == nil {
		c.Busy = func(context.Context, types.Message) bool { return false }
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	c.Concurrency = cmp.Or(c.Concurrency, 10)
	c.Grace = cmp.Or(c.Grace, 25*time.Second)
	c.QueuePrefix = cmp.Or(c.QueuePrefix, os.Getenv(schema.QueuePrefixEnv), schema.QueuePrefix)
	c.ReceiptsTable = cmp.Or(c.ReceiptsTable, os.Getenv(schema.ReceiptsTableEnv), schema.ReceiptsTable)
	c.Visibility = cmp.Or(c.Visibility, 30*time.Second)
	return c
}

func (c Config) validate() error {
	switch {
	case c.Concurrency < 1:
		return fmt.Errorf("consumer: Concurrency is %d, want 1 or more", c.Concurrency)
	case c.Grace < 0:
		return fmt.Errorf("consumer: Grace is %v, want 0 or more", c.Grace)
	case c.Visibility < 3*time.Second || c.Visibility > 12*time.Hour:
		return fmt.Errorf("consumer: Visibility is %v, want 3s to 12h", c.Visibility)
	}
	return nil
}
