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
	// usualARN is the assumed length of an ARN that is known only at deployment.
	usualARN = 150
	// maxStatement leaves room for the rest of an attached policy.
	maxStatement = 4096
	// maxInline is the room for resources of grants. The rest is for every function's permissions and the embedder's.
	maxInline = 6000
)

// role makes a function's role: its grants, its log group, its traces. Attached policies hold what the role has no room
// for.
func (b *builder) role(f function, logs awslogs.LogGroup) (awsiam.Role, []constructs.IDependable, error) {
	if len(f.others) > maxPolicies {
		return nil, nil, fmt.Errorf("%s needs %d policies for the names of its queues, functions and secrets, but a role can hold %d: "+
			"shorten the names, or spread the configuration over several stacks", f.name, len(f.others), maxPolicies)
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
		// Lambda makes and removes the function's network interfaces with these actions. They accept no narrower resource
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

// statements divides those of the grants: inline ones fit into the role, others need policies of their own.
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

// chunks divides the grant's things into statements that each fit into a policy.
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
