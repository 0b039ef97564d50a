package landfall

import (
	"cmp"
	"context"
	"log/slog"
	"os"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/landfall-dev/landfall/internal/schema"
)

// QueuesClient is what a [Consumer] calls of SQS; *sqs.Client is one. On the ingress queues of its groups it
// needs the permissions sqs:GetQueueUrl, sqs:DeleteMessage and sqs:ChangeMessageVisibility.
type QueuesClient interface {
	ChangeMessageVisibility(context.Context, *sqs.ChangeMessageVisibilityInput, ...func(*sqs.Options)) (*sqs.ChangeMessageVisibilityOutput, error)
	DeleteMessage(context.Context, *sqs.DeleteMessageInput, ...func(*sqs.Options)) (*sqs.DeleteMessageOutput, error)
	GetQueueUrl(context.Context, *sqs.GetQueueUrlInput, ...func(*sqs.Options)) (*sqs.GetQueueUrlOutput, error)
}

// ConsumerConfig is what a [Consumer] needs to know. Every field has a default.
type ConsumerConfig struct {
	// Log hears of trouble that is no error of a call. It is told neither bodies nor tokens. Defaults to
	// slog.Default().
	Log *slog.Logger
	// QueuePrefix is what the names of the deployment's queues begin with. Defaults to the value of
	// LANDFALL_QUEUE_PREFIX, else "landfall".
	QueuePrefix string
	// ReceiptsTable defaults to the value of LANDFALL_RECEIPTS_TABLE, else "landfall-receipts".
	ReceiptsTable string
}

func (c ConsumerConfig) withDefaults() ConsumerConfig {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	c.QueuePrefix = cmp.Or(c.QueuePrefix, os.Getenv(schema.QueuePrefixEnv), schema.QueuePrefix)
	c.ReceiptsTable = cmp.Or(c.ReceiptsTable, os.Getenv(schema.ReceiptsTableEnv), schema.ReceiptsTable)
	return c
}
