package landfallcdk

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"github.com/landfall-dev/landfall/internal/schema"
)

// output tells the command line, and people, what the stack made. Outputs belong to the stack itself, so that
// their names are the same wherever the construct stands.
func (b *builder) output() {
	b.tell(schema.OutboxTableOutput, "The outbox table", b.Landfall.OutboxTable.TableName())
	b.tell(schema.DashboardOutput, "The CloudWatch dashboard", b.Dashboard.DashboardName())
	for _, f := range functions(b.config) {
		b.tell(schema.FunctionOutput+f.id, "The "+f.name+" function", b.Functions[f.name].FunctionName())
	}
	var arns []*string
	for _, p := range b.WriterPolicies {
		arns = append(arns, p.ManagedPolicyArn())
	}
	if len(arns) > 0 {
		b.tell(schema.WriterPoliciesOutput, "Policies for those who put rows", awscdk.Fn_Join(jsii.String(","), &arns))
	}
}

func (b *builder) tell(name, description string, value *string) {
	awscdk.NewCfnOutput(b.stack, jsii.String(name), &awscdk.CfnOutputProps{Description: jsii.String(description), Value: value})
}
