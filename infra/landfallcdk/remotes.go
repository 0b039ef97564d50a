package landfallcdk

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/jsii-runtime-go"

	"github.com/landfall-dev/landfall/internal/config"
)

// remotes are what a function needs of AWS to reach the remotes of the configuration, by name or ARN, in order.
type remotes struct {
	secrets []string
	lambdas []string
}

// sending is what whoever sends needs. Retired destinations are never sent to.
func sending(cfg *config.Config) remotes {
	secrets := map[string]bool{}
	for _, d := range cfg.Destinations {
		if d.HTTP != nil && d.Secret != nil && !d.Retired {
			secrets[d.Secret.Name] = true
		}
	}
	return remotes{secrets: slices.Sorted(maps.Keys(secrets))}
}

// asking is what lookups need.
func asking(cfg *config.Config) remotes {
	secrets, lambdas := map[string]bool{}, map[string]bool{}
	for _, d := range cfg.Destinations {
		switch {
		case d.Lookup == nil:
		case d.Lookup.Lambda != "":
			lambdas[d.Lookup.Lambda] = true
		case d.Lookup.Secret != nil:
			secrets[d.Lookup.Secret.Name] = true
		}
	}
	return remotes{slices.Sorted(maps.Keys(secrets)), slices.Sorted(maps.Keys(lambdas))}
}

// reach allows for exactly these. A secret's ARN ends in a hyphen and six characters that nobody knows beforehand
// (https://docs.aws.amazon.com/secretsmanager/latest/userguide/auth-and-access_iam-policies.html).
func (b *builder) reach(r remotes) (statements []awsiam.PolicyStatement) {
	for _, of := range []struct {
		sid, action, service, resource, suffix string
		names                                  []string
	}{
		{"Secrets", "secretsmanager:GetSecretValue", "secretsmanager", "secret", "-??????", r.secrets},
		{"Functions", "lambda:InvokeFunction", "lambda", "function", "", r.lambdas},
	} {
		var arns []*string
		for _, name := range of.names {
			arn := jsii.String(name)
			if !strings.HasPrefix(name, "arn:") {
				arn = b.stack.FormatArn(&awscdk.ArnComponents{
					Service: jsii.String(of.service), Resource: jsii.String(of.resource), ResourceName: jsii.String(name + of.suffix),
					ArnFormat: awscdk.ArnFormat_COLON_RESOURCE_NAME,
				})
			}
			arns = append(arns, arn)
		}
		if len(arns) > 0 {
			statements = append(statements, awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
				Sid: jsii.String(of.sid), Actions: jsii.Strings(of.action), Resources: &arns,
			}))
		}
	}
	return statements
}
