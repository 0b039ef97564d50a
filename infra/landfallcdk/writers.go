package landfallcdk

import (
	"fmt"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/jsii-runtime-go"

	"github.com/landfall-dev/landfall/internal/schema"
)

const (
	// maxKeys bounds the bytes of leading keys in one policy, as JSON. A managed policy may have 6,144 bytes
	// (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html). The rest is for the table's ARN, a
	// key's ARN and the policy's frame.
	maxKeys = 4096
	// maxPolicies is how many a role can hold unless its quota is raised (same page).
	maxPolicies = 10
)

// writers makes the policies that allow applications to put rows for destinations that are not retired: for all of them,
// and with DestinationWriterPolicies for each.
func (b *builder) writers() error {
	chunks := b.leadingKeys()
	if len(chunks) > maxPolicies {
		return fmt.Errorf("the names of %d destinations need %d writer policies, but a role can hold %d: shorten the names, or spread the destinations over several stacks",
			len(b.config.Destinations), len(chunks), maxPolicies)
	}
	for i, keys := range chunks {
		id, description := "WriterPolicy", "Landfall: put rows"
		if i > 0 {
			id = fmt.Sprintf("%s%d", id, i+1)
		}
		statements := append([]awsiam.PolicyStatement{b.leading("PutRows", b.tableARN(), "dynamodb:PutItem", keys)}, b.useKey("dynamodb")...)
		b.made.WriterPolicies = append(b.made.WriterPolicies, awsiam.NewManagedPolicy(b.scope, jsii.String(id), &awsiam.ManagedPolicyProps{
			Description: jsii.String(description), Statements: &statements,
		}))
	}
	if !b.props.DestinationWriterPolicies {
		return nil
	}
	for _, name := range b.config.Names() {
		if b.config.Destinations[name].Retired {
			continue
		}
		statements := append([]awsiam.PolicyStatement{
			b.leading("PutRows", b.tableARN(), "dynamodb:PutItem", []string{name + schema.Separator + "*"}),
		}, b.useKey("dynamodb")...)
		b.made.DestinationWriterPolicies[name] = awsiam.NewManagedPolicy(b.scope, jsii.String("WriterPolicy-"+name), &awsiam.ManagedPolicyProps{
			Description: jsii.String("Landfall: put rows for " + name), Statements: &statements,
		})
	}
	return nil
}

// leading allows one action on keys that begin with one of keys. The second condition excludes requests without a key,
// which would meet the first.
func (b *builder) leading(sid string, table *string, action string, keys []string) awsiam.PolicyStatement {
	return awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Sid: jsii.String(sid), Actions: jsii.Strings(action), Resources: &[]*string{table},
		Conditions: &map[string]any{
			"ForAllValues:StringLike": map[string]any{"dynamodb:LeadingKeys": keys},
			"Null":                    map[string]any{"dynamodb:LeadingKeys": "false"},
		},
	})
}

func (b *builder) leadingKeys() (chunks [][]string) {
	room := 0
	for _, name := range b.config.Names() {
		if b.config.Destinations[name].Retired {
			continue
		}
		key := name + schema.Separator + "*"
		if room -= len(key) + len(`"",`); room < 0 {
			chunks, room = append(chunks, nil), maxKeys-len(key)-len(`"",`)
		}
		chunks[len(chunks)-1] = append(chunks[len(chunks)-1], key)
	}
	return chunks
}
