package desk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/outboxdb"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/routingdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

// OutboxTable, ReceiptsTable and ControlTable are the names of the tables.
func (d *Desk) OutboxTable() string   { return d.Prefix + "-outbox" }
func (d *Desk) ReceiptsTable() string { return d.Prefix + "-receipts" }
func (d *Desk) ControlTable() string  { return d.Prefix + "-control" }

// names are those of tables and queues, by the variables that tell them to functions and to the command line.
func (d *Desk) names() map[string]string {
	return map[string]string{
		schema.OutboxTableEnv: d.OutboxTable(), schema.ReceiptsTableEnv: d.ReceiptsTable(),
		schema.ControlTableEnv: d.ControlTable(), schema.QueuePrefixEnv: d.Prefix,
	}
}

// createTables makes the tables that are not there, with the time to live that the deployed ones have.
func (d *Desk) createTables(ctx context.Context) error {
	client := d.DynamoDB("desk")
	for _, table := range []*dynamodb.CreateTableInput{
		outboxdb.Table(d.OutboxTable()), routingdb.ReceiptsTable(d.ReceiptsTable()), routingdb.ControlTable(d.ControlTable()),
	} {
		_, err := client.CreateTable(ctx, table)
		var exists *types.ResourceInUseException
		if err != nil && !errors.As(err, &exists) {
			return fmt.Errorf("create table %s: %w", *table.TableName, err)
		}
		if err != nil {
			continue
		}
		_, err = client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{TableName: table.TableName,
			TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String(schema.ExpiresAt), Enabled: aws.Bool(true)}})
		if err != nil {
			return fmt.Errorf("set the time to live of table %s: %w", *table.TableName, err)
		}
	}
	return nil
}

// queues are the names of the queues that the desk makes: those of Landfall's own, and those that the configuration
// gives by name.
func (d *Desk) queues() (names []string) {
	for _, group := range d.config.GroupNames() {
		names = append(names, schema.DeadLetterQueue(d.Prefix, group)) // before the ingress, which leads there
		names = append(names, schema.IngressQueue(d.Prefix, group))
		for _, c := range d.config.Groups[group].Consumers {
			names = append(names, c.SQS)
		}
	}
	for _, destination := range d.config.Destinations {
		if to, ok := destination.Target.(*config.SQS); ok {
			names = append(names, to.Queue)
		}
	}
	return append(names, schema.StreamFailures(d.Prefix))
}

// createQueues makes the queues that are not there; queues that the configuration names by ARN belong to others and are left alone.
func (d *Desk) createQueues(ctx context.Context) error {
	client := d.SQS("desk")
	for _, name := range d.queues() {
		if name == "" || strings.Contains(name, ":") {
			continue
		}
		if _, err := d.url(ctx, client, name); err == nil {
			continue
		}
		in := &sqs.CreateQueueInput{QueueName: &name, Attributes: map[string]string{}}
		if strings.HasSuffix(name, ".fifo") {
			in.Attributes[string(sqstypes.QueueAttributeNameFifoQueue)] = "true"
		}
		if group, ingress := strings.CutPrefix(name, schema.IngressQueue(d.Prefix, "")); ingress {
			if err := d.leadToDeadLetters(ctx, client, group, in.Attributes); err != nil {
				return err
			}
		}
		if _, err := client.CreateQueue(ctx, in); err != nil {
			return fmt.Errorf("create queue %s: %w", name, err)
		}
		d.made = append(d.made, name)
	}
	return nil
}

// leadToDeadLetters sets the attributes of an ingress queue: what the function that has a message does not give back in
// time comes back by itself, and what comes back too often goes to the dead letters.
func (d *Desk) leadToDeadLetters(ctx context.Context, client *sqs.Client, group string, attributes map[string]string) error {
	url, err := d.url(ctx, client, schema.DeadLetterQueue(d.Prefix, group))
	if err != nil {
		return err
	}
	arn, err := client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &url, AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameQueueArn},
	})
	if err != nil {
		return fmt.Errorf("find the dead letters of group %s: %w", group, err)
	}
	policy, err := json.Marshal(map[string]string{
		"deadLetterTargetArn": arn.Attributes[string(sqstypes.QueueAttributeNameQueueArn)],
		"maxReceiveCount":     strconv.Itoa(routing.DefaultMaxReceives),
	})
	if err != nil {
		return err
	}
	visibility := d.config.Timeouts()["route"]
	attributes[string(sqstypes.QueueAttributeNameRedrivePolicy)] = string(policy)
	attributes[string(sqstypes.QueueAttributeNameVisibilityTimeout)] = strconv.Itoa(int(visibility / time.Second))
	return nil
}

// MakeQueue makes one more queue; Remove removes it.
func (d *Desk) MakeQueue(ctx context.Context, name string) error {
	if _, err := d.SQS("desk").CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &name}); err != nil {
		return fmt.Errorf("create queue %s: %w", name, err)
	}
	d.made = append(d.made, name)
	return nil
}

// QueueURL is the URL of a queue of the desk.
func (d *Desk) QueueURL(ctx context.Context, name string) (string, error) {
	return d.url(ctx, d.SQS("desk"), name)
}

func (d *Desk) url(ctx context.Context, client *sqs.Client, name string) (string, error) {
	out, err := client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &name})
	if err != nil {
		return "", fmt.Errorf("find queue %s: %w", name, err)
	}
	return aws.ToString(out.QueueUrl), nil
}

// Remove removes the tables and queues that the desk made: for an AWS that goes on without it.
func (d *Desk) Remove(ctx context.Context) (err error) {
	tables, queues := d.DynamoDB("desk"), d.SQS("desk")
	for _, table := range []string{d.OutboxTable(), d.ReceiptsTable(), d.ControlTable()} {
		_, failed := tables.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &table})
		err = errors.Join(err, failed)
	}
	for _, name := range d.made {
		url, failed := d.url(ctx, queues, name)
		if failed == nil {
			_, failed = queues.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: &url})
		}
		err = errors.Join(err, failed)
	}
	return err
}
