package landfallcdk

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// Sizes of policies, in bytes. IAM allows a role 10,240 for those in itself and 6,144 for each of ten attached ones
// (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html).
const (
	// usualARN is one that is known only when it is deployed.
	usualARN = 150
	// maxStatement leaves an attached policy room for everything else in it.
	maxStatement = 4096
	// maxInline is for the things that grants are about; the rest is for what every function may, and an embedder's.
	maxInline = 6000
)

// role of one function: what it is granted, its own log group, its traces. Other policies hold what it has no room for.
func (b *builder) role(f function, logs awslogs.LogGroup) (awsiam.Role, []constructs.IDependable, error) {
	if len(f.others) > maxPolicies {
		return nil, nil, fmt.Errorf("the names of queues, functions and secrets that %s works with need %d policies, a role can hold %d: "+
			"shorten them, or spread the configuration over several stacks", f.name, len(f.others), maxPolicies)
	}
	role := awsiam.NewRole(b.scope, jsii.String(f.id+"Role"), &awsiam.RoleProps{
		AssumedBy:           awsiam.NewServicePrincipal(jsii.String("lambda.amazonaws.com"), nil),
		Description:         jsii.String("Landfall's " + f.name + " function"),
		PermissionsBoundary: b.props.PermissionsBoundary,
	})
	statements := []awsiam.PolicyStatement{allow("Logs", []*string{logs.LogGroupArn()}, "logs:CreateLogStream", "logs:PutLogEvents")}
	statements = append(statements, b.useKey(f.stores()...)...)
	if f.controls != "" {
		statements = append(statements, b.leading("Control", b.made.ControlTable.TableArn(), "dynamodb:Query", []string{f.controls}))
	}
	if b.props.Vpc != nil {
		// Lambda makes and removes the function's network interfaces with these; they know no narrower resource
		// (https://docs.aws.amazon.com/lambda/latest/dg/configuration-vpc.html).
		statements = append(statements, allow("NetworkInterfaces", []*string{jsii.String("*")},
			"ec2:AssignPrivateIpAddresses", "ec2:CreateNetworkInterface", "ec2:DeleteNetworkInterface",
			"ec2:DescribeNetworkInterfaces", "ec2:DescribeSubnets", "ec2:UnassignPrivateIpAddresses"))
	}
	for _, s := range append(statements, f.inline...) {
		role.AddToPolicy(s)
	}
	var attached []constructs.IDependable
	for i, s := range f.others {
		policy := awsiam.NewManagedPolicy(b.scope, jsii.String(fmt.Sprintf("%sPolicy%d", f.id, i+1)), &awsiam.ManagedPolicyProps{
			Description: jsii.String("Landfall: more of what " + f.name + " may do"),
			Roles:       &[]awsiam.IRole{role}, Statements: &[]awsiam.PolicyStatement{s},
		})
		attached = append(attached, policy)
	}
	return role, attached, nil
}

// stores are the services that encrypt what the function reads and writes.
func (f function) stores() []string {
	all := []string{"dynamodb"}
	if slices.ContainsFunc(f.grants, func(g grant) bool { return len(g.on) > 0 && strings.HasPrefix(g.actions[0], "sqs:") }) {
		all = append(all, "sqs")
	}
	return all
}

// statements of grants are those of the role itself, and those for policies of their own.
func statements(grants []grant) (inline, others []awsiam.PolicyStatement) {
	room := maxInline
	for _, g := range grants {
		for i, on := range g.chunks() {
			sid := g.sid
			if i > 0 {
				sid = fmt.Sprintf("%s%d", sid, i+1)
			}
			var arns []*string
			bytes := 0
			for _, t := range on {
				arns, bytes = append(arns, t.arn), bytes+t.size()
			}
			s := allow(sid, arns, g.actions...)
			if bytes > room {
				others = append(others, s)
				continue
			}
			inline, room = append(inline, s), room-bytes
		}
	}
	return inline, others
}

// chunks are the things of the grant's statements, none too large to be attached by itself.
func (g grant) chunks() (all [][]thing) {
	room := 0
	for _, t := range g.on {
		if room -= t.size(); room < 0 {
			all, room = append(all, nil), maxStatement-t.size()
		}
		all[len(all)-1] = append(all[len(all)-1], t)
	}
	return all
}

func (t thing) size() int { return max(t.bytes, usualARN) }
