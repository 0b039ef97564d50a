package landfallcdk

import (
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/jsii-runtime-go"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/schema"
)

// consumers makes a policy for each group and, without GroupPoliciesOnly, one for each of its consumers: to accept, to decline, and to receive.
func (b *builder) consumers() error {
	for _, group := range b.config.GroupNames() {
		var own []*string
		bytes := 0
		for _, name := range b.owned(group) {
			bytes += max(len(name)+80, usualARN)
			own = append(own, b.made.ConsumerQueues[name].QueueArn())
		}
		if bytes > maxStatement {
			return fmt.Errorf("group %s has %d owned queues, but a policy has room for %d: give the queues by ARN, or spread the consumers over several groups",
				group, len(own), maxStatement/usualARN)
		}
		b.made.ConsumerPolicies[group] = b.consumerPolicy("ConsumerPolicy-"+group, "Landfall: accept messages of group "+group, group, b.receipts(group), own)
		if b.props.GroupPoliciesOnly {
			continue
		}
		b.made.SingleConsumerPolicies[group] = map[string]awsiam.ManagedPolicy{}
		consumers := b.config.Groups[group].Consumers
		for _, id := range slices.Sorted(maps.Keys(consumers)) {
			b.made.SingleConsumerPolicies[group][id] = b.consumerPolicy("SingleConsumerPolicy-"+group+"."+id,
				"Landfall: accept messages of group "+group+" as consumer "+id, group, b.acceptance(group), b.queueOf(consumers[id]))
		}
	}
	return nil
}

// consumerPolicy allows what a statement about receipts does, to end messages of the group's ingress queue, and to
// receive from queues.
func (b *builder) consumerPolicy(id, description, group string, receipts awsiam.PolicyStatement, queues []*string) awsiam.ManagedPolicy {
	statements := []awsiam.PolicyStatement{
		receipts,
		allow("Ingress", []*string{b.queues[group].ingress.QueueArn()}, "sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:GetQueueUrl"),
	}
	if len(queues) > 0 {
		statements = append(statements, allow("Queues", queues, "sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:ReceiveMessage"))
	}
	statements = append(statements, b.useKey("dynamodb", "sqs")...)
	return awsiam.NewManagedPolicy(b.scope, jsii.String(id), &awsiam.ManagedPolicyProps{Description: jsii.String(description), Statements: &statements})
}

// receipts allows to update any attribute of the group's receipts.
func (b *builder) receipts(group string) awsiam.PolicyStatement {
	return b.leading("Receipts", b.made.ReceiptsTable.TableArn(), "dynamodb:UpdateItem", []string{group + schema.Separator + "*"})
}

// acceptance allows to update a receipt as accepting and declining do: with no other attributes. There is no condition on
// dynamodb:ReturnValues: accepting needs the receipt that a refusal returns, and AWS does not say whether it counts
// (docs/adr/0029-one-policy-for-each-consumer.md).
func (b *builder) acceptance(group string) awsiam.PolicyStatement {
	statement := b.receipts(group)
	statement.AddCondition(jsii.String("ForAllValues:StringEquals"), map[string]any{"dynamodb:Attributes": schema.ConsumerAttributes})
	return statement
}

// queueOf is a consumer's own queue, whether the stack makes it or not; none for a function.
func (b *builder) queueOf(c config.Consumer) []*string {
	switch made := b.made.ConsumerQueues[c.SQS]; {
	case made != nil:
		return []*string{made.QueueArn()}
	case c.SQS != "":
		return []*string{b.named("sqs", []string{c.SQS})[0].arn}
	}
	return nil
}
