package landfallcdk

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// finding is a rule of cdk-nag (https://github.com/cdklabs/cdk-nag) that is broken on purpose.
type finding struct{ rule, appliesTo, reason string }

// accept writes the findings into the resource's metadata. Whoever checks an app with this construct sees the reasons.
func accept(resource constructs.IConstruct, findings ...finding) {
	var suppressions []any
	for _, f := range findings {
		suppression := map[string]any{"id": f.rule, "reason": f.reason}
		if f.appliesTo != "" {
			suppression["appliesTo"] = []any{f.appliesTo}
		}
		suppressions = append(suppressions, suppression)
	}
	resource.(awscdk.CfnResource).AddMetadata(jsii.String("cdk_nag"), map[string]any{"rules_to_suppress": suppressions})
}
