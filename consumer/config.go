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

// ReceiptsClient is where a [Consumer] accepts and declines; *dynamodb.Client is one. It needs the
// permission dynamodb:UpdateItem on the receipts table.
type ReceiptsClient interface {
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
}

// QueuesClient is what a [Consumer] calls of SQS; *sqs.Client is one. On the ingress queues of its groups it
// needs the permissions sqs:GetQueueUrl, sqs:DeleteMessage and sqs:ChangeMessageVisibility; on its own queue, for
// [Consumer.Consume], the latter two and sqs:ReceiveMessage.
type QueuesClient interface {
	ChangeMessageVisibility(context.Context, *sqs.ChangeMessageVisibilityInput, ...func(*sqs.Options)) (*sqs.ChangeMessageVisibilityOutput, error)
	DeleteMessageBatch(context.Context, *sqs.DeleteMessageBatchInput, ...func(*sqs.Options)) (*sqs.DeleteMessageBatchOutput, error)
	GetQueueUrl(context.Context, *sqs.GetQueueUrlInput, ...func(*sqs.Options)) (*sqs.GetQueueUrlOutput, error)
	ReceiveMessage(context.Context, *sqs.ReceiveMessageInput, ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error)
}

// Config is what a [Consumer] needs to know. Every field has a default.
type Config struct {
	// Busy is asked before a message is accepted. If it says so, the message is declined and moves on to another
	// consumer at once. What cannot be declined, because it is this consumer's own already, is worked all the same.
	// Used by Consume and Lambda. Defaults to never busy.
	Busy func(context.Context, types.Message) bool
	// Concurrency is how many messages are worked at once by Consume, and of a batch by Lambda. Defaults to 10.
	Concurrency int
	// Grace is for how long Consume lets work go on that was begun before its context ended; then the context of the
	// work ends, too. Defaults to 25 s: ECS and Kubernetes kill after 30.
	Grace time.Duration
	// Log hears of trouble that is no error of a call, what work returned among it. It is told neither bodies nor
	// tokens. Defaults to slog.Default().
	Log *slog.Logger
	// QueuePrefix is what the names of the deployment's queues begin with. Defaults to the value of
	// LANDFALL_QUEUE_PREFIX, else "landfall".
	QueuePrefix string
	// ReceiptsTable defaults to the value of LANDFALL_RECEIPTS_TABLE, else "landfall-receipts".
	ReceiptsTable string
	// Visibility is for how long Consume hides a message from other workers; it is renewed while work goes on. So
	// long does a message wait that was being worked by a process that died, or whose work failed. 3 s to 12 h, cut
	// to seconds. Defaults to 30 s.
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
