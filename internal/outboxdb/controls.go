package outboxdb

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/dynamo"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/schema"
)

// Bounds of what is written and read.
const (
	// MaxControlledConcurrency is the most that a configuration allows, too.
	MaxControlledConcurrency = 1000
	// MaxReason and maxBy are in bytes; a longer author is cut.
	MaxReason = 1024
	maxBy     = 256
)

// ControlsClient is what Controls calls; *dynamodb.Client is one.
type ControlsClient interface {
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
}

// Controls are the control items of destinations, in a table whose key is that of package schema. It is safe for
// concurrent use.
type Controls struct {
	client ControlsClient
	table  string
}

// NewControls returns the controls in a table.
func NewControls(client ControlsClient, table string) *Controls { return &Controls{client, table} }

// Read reads all controls, strongly consistent: one read unit for each 4 KB. They are ordered by destination, one that
// no configuration knows among them.
func (c *Controls) Read(ctx context.Context) (all []outbox.Control, err error) {
	for start := dynamo.Item(nil); ; {
		out, err := c.client.Query(ctx, &dynamodb.QueryInput{
			TableName: &c.table, ConsistentRead: aws.Bool(true), ExclusiveStartKey: start,
			KeyConditionExpression:    aws.String("#pk = :pk"),
			ExpressionAttributeNames:  map[string]string{"#pk": schema.PK},
			ExpressionAttributeValues: dynamo.Item{":pk": dynamo.Text(schema.DestinationScope)},
		})
		if err != nil {
			return nil, fmt.Errorf("read the controls of destinations: %w", err)
		}
		for _, stored := range out.Items {
			all = append(all, decodeControl(stored))
		}
		if start = out.LastEvaluatedKey; len(start) == 0 {
			return all, nil
		}
	}
}

func decodeControl(stored dynamo.Item) outbox.Control {
	r, lenient := dynamo.Reader{Item: stored}, dynamo.Reader{Item: stored} // the author decides nothing
	c := outbox.Control{
		Destination: r.Text(schema.SK), Reason: lenient.Text(schema.Reason), By: lenient.Text(schema.ChangedBy), At: lenient.Millis(schema.ChangedAt),
	}
	c.Paused = r.Flag(schema.Paused)
	if n, ok := r.Whole(schema.MaxConcurrency, 1, MaxControlledConcurrency); ok {
		c.MaxConcurrency = int(n)
	}
	c.Unreadable = r.Err("the control")
	return c
}

// Pause stops sending to a destination, Resume goes on.
func (c *Controls) Pause(ctx context.Context, destination, reason, by string) error {
	return c.change(ctx, "pause", destination, reason, by, schema.Paused, &types.AttributeValueMemberBOOL{Value: true})
}

// Resume takes Pause back. A limit stays.
func (c *Controls) Resume(ctx context.Context, destination, reason, by string) error {
	return c.change(ctx, "resume", destination, reason, by, schema.Paused, nil)
}

// Limit lowers how many sends a run has in flight, to 1 to [MaxControlledConcurrency].
func (c *Controls) Limit(ctx context.Context, destination string, n int, reason, by string) error {
	if n < 1 || n > MaxControlledConcurrency {
		return fmt.Errorf("limit %s to %d sends: want 1 to %d", destination, n, MaxControlledConcurrency)
	}
	return c.change(ctx, "limit", destination, reason, by, schema.MaxConcurrency, dynamo.Number(n))
}

// Unlimit takes Limit back. A pause stays.
func (c *Controls) Unlimit(ctx context.Context, destination, reason, by string) error {
	return c.change(ctx, "unlimit", destination, reason, by, schema.MaxConcurrency, nil)
}

// change sets one attribute, or removes it if there is no value. It may be repeated.
func (c *Controls) change(ctx context.Context, what, destination, reason, by, attribute string, v types.AttributeValue) error {
	if err := outbox.ValidateDestination(destination); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if len(reason) > MaxReason || !utf8.ValidString(reason) {
		return fmt.Errorf("%s %s: the reason is not UTF-8 of at most %d bytes", what, destination, MaxReason)
	}
	var w dynamo.Write
	w.SetOrRemove(attribute, v)
	w.Set(schema.Reason, dynamo.Text(reason))
	w.Set(schema.ChangedBy, dynamo.Text(dynamo.Clip(by, maxBy)))
	w.Set(schema.ChangedAt, dynamo.Millis(time.Now()))
	control := dynamo.Item{schema.PK: dynamo.Text(schema.DestinationScope), schema.SK: dynamo.Text(destination)}
	if _, err := c.client.UpdateItem(ctx, w.Update(&c.table, control, types.ReturnValueNone), dynamo.RepeatConflicts); err != nil {
		return fmt.Errorf("%s destination %s: %w", what, destination, err)
	}
	return nil
}
