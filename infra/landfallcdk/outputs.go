package landfallcdk

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"github.com/landfall-dev/landfall/internal/schema"
)

// output makes the outputs, which the command line reads. They belong to the stack itself, so that their names do not
// depend on the construct's place.
func (b *builder) output() {
	b.tell(schema.OutboxTableOutput, "The outbox table", b.made.OutboxTable.TableName())
	b.tell(schema.ReceiptsTableOutput, "The table of receipts", b.made.ReceiptsTable.TableName())
	b.tell(schema.ControlTableOutput, "The table that controls groups and destinations", b.made.ControlTable.TableName())
	b.tell(schema.QueuePrefixOutput, "What the names of the queues begin with", jsii.String(b.prefix()))
	b.tell(schema.ConfigOutput, "SHA-256 of the resolved configuration", jsii.String(b.hash))
	b.tell(schema.DashboardOutput, "The CloudWatch dashboard", b.made.Dashboard.DashboardName())
	for _, f := range b.functions {
		b.tell(schema.FunctionOutput+f.id, "The "+f.name+" function", b.made.Functions[f.name].FunctionName())
	}
	var arns []*string
	for _, p := range b.made.WriterPolicies {
		arns = append(arns, p.ManagedPolicyArn())
	}
	if len(arns) > 0 {
		b.tell(schema.WriterPoliciesOutput, "Policies for those who put rows", awscdk.Fn_Join(jsii.String(","), &arns))
	}
	var groups []*string
	for _, name := range b.config.GroupNames() {
		groups = append(groups, jsii.String(name+"="+*b.made.ConsumerPolicies[name].ManagedPolicyArn()))
	}
	if len(groups) > 0 {
		b.tell(schema.ConsumerPoliciesOutput, "Policies for consumers, by group", awscdk.Fn_Join(jsii.String(","), &groups))
	}
}

func (b *builder) tell(name, description string, value *string) {
	awscdk.NewCfnOutput(b.stack, jsii.String(name), &awscdk.CfnOutputProps{Description: jsii.String(description), Value: value})
}
