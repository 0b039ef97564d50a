package landfallcdk_test

import (
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/jsii-runtime-go"
	"github.com/cdklabs/cdk-nag-go/cdknag/v2"

	"github.com/landfall-dev/landfall/infra/landfallcdk"
)

func TestEachBrokenRuleOfAwsSolutionsHasAReason(t *testing.T) {
	for _, stage := range []landfallcdk.Stage{landfallcdk.Dev, landfallcdk.Prod} {
		t.Run(string(stage), func(t *testing.T) {
			defer func() {
				if findings := recover(); findings != nil { // that is how these assertions fail
					t.Error(findings)
				}
			}()
			stack := newStack(t)
			p := props(t, everything)
			p.Stage, p.OwnedQueues, p.ConsumerTargets = stage, true, []string{"sqs:courier-*", "lambda:courier-*"}
			landfall(t, stack, p)
			awscdk.Aspects_Of(stack).Add(cdknag.NewAwsSolutionsChecks(nil), nil)
			found := assertions.Annotations_FromStack(stack)
			anything := assertions.Match_StringLikeRegexp(jsii.String("."))
			found.HasNoError(jsii.String("*"), anything)
			found.HasNoWarning(jsii.String("*"), anything)
		})
	}
}
