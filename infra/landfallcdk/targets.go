package landfallcdk

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

// thing is what a grant is about.
type thing struct {
	arn *string
	// bytes of the ARN at its longest; 0: no more than usual.
	bytes int
	// pattern, not "", is how cdk-nag shows an ARN with a * in it.
	pattern string
}

// services that the configuration names things of. A secret's ARN ends in a hyphen and six characters that nobody knows
// beforehand (https://docs.aws.amazon.com/secretsmanager/latest/userguide/auth-and-access_iam-policies.html).
var services = map[string]struct{ resource, suffix string }{
	"sqs": {}, "lambda": {resource: "function:"}, "secretsmanager": {resource: "secret:", suffix: "-??????"},
}

// named are things of a service by name, in the stage's own account and region, or by ARN.
func (b *builder) named(service string, names []string) (all []thing) {
	for _, name := range names {
		t := thing{arn: jsii.String(name), bytes: len(name) + 80} // what stands before the name in an ARN
		shown := name
		if !strings.HasPrefix(name, "arn:") {
			s := services[service]
			t.arn = b.stack.FormatArn(&awscdk.ArnComponents{
				Service: jsii.String(service), Resource: jsii.String(s.resource + name + s.suffix), ArnFormat: awscdk.ArnFormat_NO_RESOURCE_NAME,
			})
			shown = fmt.Sprintf("arn:<AWS::Partition>:%s:<AWS::Region>:<AWS::AccountId>:%s%s", service, s.resource, name)
		}
		if strings.Contains(name, "*") {
			t.pattern = shown
		}
		all = append(all, t)
	}
	return all
}

// wildcards are the resources with a * that a function's role has, and why.
func wildcards(f function) []finding {
	all := []finding{{
		rule: "AwsSolutions-IAM5", appliesTo: "Resource::*",
		reason: "X-Ray's writes, and the network interfaces of a function in a VPC, know no narrower resource.",
	}}
	for _, g := range f.grants {
		for _, t := range g.on {
			if t.pattern != "" {
				all = append(all, finding{
					rule: "AwsSolutions-IAM5", appliesTo: "Resource::" + t.pattern,
					reason: "Consumers that join at run time, as whoever deploys allows them to (ConsumerTargets).",
				})
			}
		}
	}
	return all
}

// join is where consumers that join at run time may have their messages sent.
type join struct{ kind, name string }

// joinName has the kind, the name or ARN, the service of the ARN, what stands before the name, and the name.
var joinName = regexp.MustCompile(`^(sqs|lambda):((?:arn:[a-z-]+:(sqs|lambda):[a-z0-9-]+:[0-9]{12}:)?(function:)?([A-Za-z0-9_*-]+)(:[A-Za-z0-9_$*-]+)?)$`)

// parseJoins reads Props.ConsumerTargets.
func parseJoins(texts []string) (all []join, err error) {
	for _, text := range texts {
		m := joinName.FindStringSubmatch(text)
		if m == nil || m[3] != "" && m[3] != m[1] || (m[4] != "") != (m[3] == "lambda") || m[6] != "" && m[1] != "lambda" {
			return nil, fmt.Errorf("consumer target %q: want sqs: or lambda: and a name or an ARN, in whose name * stands for anything", text)
		}
		if strings.Trim(m[5], "*-_") == "" {
			return nil, fmt.Errorf("consumer target %q would let messages be sent to anything: begin the names of consumers alike, and write sqs:that-beginning-*", text)
		}
		all = append(all, join{m[1], m[2]})
	}
	return all, nil
}
