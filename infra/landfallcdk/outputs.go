package landfallcdk

import (
	"maps"
	"slices"

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
	var writers, destinations, groups, consumers []*string
	for _, p := range b.made.WriterPolicies {
		writers = append(writers, p.ManagedPolicyArn())
	}
	for _, name := range slices.Sorted(maps.Keys(b.made.DestinationWriterPolicies)) {
		destinations = append(destinations, jsii.String(name+"="+*b.made.DestinationWriterPolicies[name].ManagedPolicyArn()))
	}
	for _, name := range b.config.GroupNames() {
		groups = append(groups, jsii.String(name+"="+*b.made.ConsumerPolicies[name].ManagedPolicyArn()))
		single := b.made.SingleConsumerPolicies[name]
		for _, id := range slices.Sorted(maps.Keys(single)) {
			consumers = append(consumers, jsii.String(name+"/"+id+"="+*single[id].ManagedPolicyArn()))
		}
	}
	b.tellAll(schema.WriterPoliciesOutput, "Policies for those who put rows", writers)
	b.tellAll(schema.DestinationWriterPoliciesOutput, "Policies for those who put rows, by destination", destinations)
	b.tellAll(schema.ConsumerPoliciesOutput, "Policies for consumers, by group", groups)
	b.tellAll(schema.SingleConsumerPoliciesOutput, "Policies for consumers, by group and consumer", consumers)
}

// tellAll makes one output of several values, and none of no values.
func (b *builder) tellAll(name, description string, values []*string) {
	if len(values) > 0 {
		b.tell(name, description, awscdk.Fn_Join(jsii.String(","), &values))
	}
}

func (b *builder) tell(name, description string, value *string) {
	awscdk.NewCfnOutput(b.stack, jsii.String(name), &awscdk.CfnOutputProps{Description: jsii.String(description), Value: value})
}
