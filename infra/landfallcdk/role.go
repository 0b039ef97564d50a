package landfallcdk

import (
	"fmt"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"
)

// Sizes of a role's policies, in bytes. IAM allows 10,240 for those in the role and 6,144 for each attached one
// (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html); the CDK attaches what does not fit.
const (
	// usualARN is what the CDK takes an ARN for that is known only when it is deployed.
	usualARN = 150
	// maxStatement leaves an attached policy room for everything else in it.
	maxStatement = 4096
	// maxRole is for the resources of all statements.
	maxRole = 10 * maxStatement
)

// role of one function: what it is granted, its own log group, its traces.
func (b *builder) role(f function, logs awslogs.LogGroup) (awsiam.Role, error) {
	role := awsiam.NewRole(b.scope, jsii.String(f.id+"Role"), &awsiam.RoleProps{
		AssumedBy:           awsiam.NewServicePrincipal(jsii.String("lambda.amazonaws.com"), nil),
		Description:         jsii.String("Landfall's " + f.name + " function"),
		PermissionsBoundary: b.PermissionsBoundary,
	})
	statements := []awsiam.PolicyStatement{allow("Logs", []*string{logs.LogGroupArn()}, "logs:CreateLogStream", "logs:PutLogEvents")}
	statements = append(statements, b.useKey()...)
	if b.Vpc != nil {
		// Lambda makes and removes the function's network interfaces with these; they know no narrower resource
		// (https://docs.aws.amazon.com/lambda/latest/dg/configuration-vpc.html).
		statements = append(statements, allow("NetworkInterfaces", []*string{jsii.String("*")},
			"ec2:AssignPrivateIpAddresses", "ec2:CreateNetworkInterface", "ec2:DeleteNetworkInterface",
			"ec2:DescribeNetworkInterfaces", "ec2:DescribeSubnets", "ec2:UnassignPrivateIpAddresses"))
	}
	total := 0
	for _, g := range f.grants {
		chunks, bytes := g.chunks()
		total += bytes
		for i, on := range chunks {
			sid := g.sid
			if i > 0 {
				sid = fmt.Sprintf("%s%d", sid, i+1)
			}
			statements = append(statements, allow(sid, on, g.actions...))
		}
	}
	if total > maxRole {
		return nil, fmt.Errorf("the names of queues, functions and secrets that %s works with take %d bytes in its role, which has room for %d: "+
			"shorten them, or spread the configuration over several stacks", f.name, total, maxRole)
	}
	for _, s := range statements {
		role.AddToPolicy(s)
	}
	return role, nil
}

// chunks are the resources of the grant's statements, none too large to be attached by itself.
func (g grant) chunks() (all [][]*string, bytes int) {
	room := 0
	for _, t := range g.on {
		size := max(t.bytes, usualARN)
		bytes += size
		if room -= size; room < 0 {
			all, room = append(all, nil), maxStatement-size
		}
		all[len(all)-1] = append(all[len(all)-1], t.arn)
	}
	return all, bytes
}
