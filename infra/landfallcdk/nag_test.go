package landfallcdk_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/aws-cdk-go/awscdk/v2/cxapi"
	"github.com/aws/jsii-runtime-go"
	"github.com/cdklabs/cdk-nag-go/cdknag/v2"

	"github.com/landfall-dev/landfall/infra/landfallcdk"
)

func TestNoRuleOfAwsSolutionsIsBrokenWithoutAReason(t *testing.T) {
	for _, stage := range []landfallcdk.Stage{landfallcdk.Dev, landfallcdk.Prod} {
		t.Run(string(stage), func(t *testing.T) {
			stack := newStack(t)
			p := props(t, twoDestinations)
			p.Stage = stage
			landfall(t, stack, p)
			awscdk.Aspects_Of(stack).Add(cdknag.NewAwsSolutionsChecks(&cdknag.NagPackProps{Verbose: jsii.Bool(true)}), nil)
			found := assertions.Annotations_FromStack(stack)
			anything := assertions.Match_StringLikeRegexp(jsii.String("."))
			for _, all := range []*[]*cxapi.SynthesisMessage{
				found.FindError(jsii.String("*"), anything), found.FindWarning(jsii.String("*"), anything),
			} {
				for _, m := range *all {
					t.Errorf("%s: %s", *m.Id, strings.TrimSpace(fmt.Sprint(m.Entry.Data)))
				}
			}
		})
	}
}
