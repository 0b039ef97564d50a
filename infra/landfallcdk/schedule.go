package landfallcdk

import (
	"fmt"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"
)

// targetsPerRule is EventBridge's quota (https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-quota.html).
const targetsPerRule = 5

// schedule starts a function every minute, once for each part. A single part gets EventBridge's own event. Several
// parts get their number as event.
func (b *builder) schedule(f function, made awslambda.Function) {
	for first := 0; first < f.parts; first += targetsPerRule {
		var targets []*awsevents.CfnRule_TargetProperty
		for part := first; part < min(first+targetsPerRule, f.parts); part++ {
			targets = append(targets, target(made, part, f.parts))
		}
		id := fmt.Sprintf("%sSchedule%d", f.id, first/targetsPerRule)
		rule := awsevents.NewCfnRule(b.scope, jsii.String(id), &awsevents.CfnRuleProps{
			Description:        jsii.String(f.description),
			ScheduleExpression: jsii.String("rate(1 minute)"),
			State:              jsii.String("ENABLED"),
			Targets:            targets,
		})
		made.AddPermission(jsii.String(id+"Permission"), &awslambda.Permission{
			Principal: awsiam.NewServicePrincipal(jsii.String("events.amazonaws.com"), nil),
			SourceArn: rule.AttrArn(),
		})
	}
}

// target retries little, because the next event comes a minute later.
func target(made awslambda.Function, part, of int) *awsevents.CfnRule_TargetProperty {
	t := &awsevents.CfnRule_TargetProperty{
		Arn: made.FunctionArn(),
		Id:  jsii.String(fmt.Sprintf("part-%d", part)),
		RetryPolicy: &awsevents.CfnRule_RetryPolicyProperty{
			MaximumEventAgeInSeconds: jsii.Number(60), MaximumRetryAttempts: jsii.Number(2),
		},
	}
	if of > 1 {
		t.Input = jsii.String(fmt.Sprintf(`{"part":%d,"of":%d}`, part, of))
	}
	return t
}
