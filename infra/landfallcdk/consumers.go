package landfallcdk

import (
	"fmt"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/jsii-runtime-go"

	"github.com/landfall-dev/landfall/internal/schema"
)

// consumers makes a policy for each group: to accept, to decline, and to receive from owned queues.
func (b *builder) consumers() error {
	for _, group := range b.config.GroupNames() {
		statements := []awsiam.PolicyStatement{
			b.leading("Receipts", b.made.ReceiptsTable.TableArn(), "dynamodb:UpdateItem", []string{group + schema.Separator + "*"}),
			allow("Ingress", []*string{b.queues[group].ingress.QueueArn()}, "sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:GetQueueUrl"),
		}
		bytes := 0
		var own []*string
		for _, name := range b.owned(group) {
			bytes += max(len(name)+80, usualARN)
			own = append(own, b.made.ConsumerQueues[name].QueueArn())
		}
		if bytes > maxStatement {
			return fmt.Errorf("group %s has %d owned queues, but a policy has room for %d: give the queues by ARN, or spread the consumers over several groups",
				group, len(own), maxStatement/usualARN)
		}
		if len(own) > 0 {
			statements = append(statements, allow("Queues", own, "sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:ReceiveMessage"))
		}
		statements = append(statements, b.useKey("dynamodb", "sqs")...)
		b.made.ConsumerPolicies[group] = awsiam.NewManagedPolicy(b.scope, jsii.String("ConsumerPolicy-"+group), &awsiam.ManagedPolicyProps{
			Description: jsii.String("Landfall: accept messages of group " + group), Statements: &statements,
		})
	}
	return nil
}
