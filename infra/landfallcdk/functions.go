package landfallcdk

import (
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/schema"
)

// function is one of Landfall's functions: what differs between them.
type function struct {
	// name of its folder under functions/ and in Dist.
	name string
	// id of its construct; changing it replaces the function.
	id          string
	description string
	timeout     time.Duration
	// parts is how many rule targets start it each minute.
	parts int
	// reaches is what it needs besides the table.
	reaches remotes
}

// functions are those that exist, in the order of their making.
func functions(cfg *config.Config) []function {
	return []function{{
		name: "dispatch", id: "Dispatch", description: "Landfall: claims due rows, sends them, settles them",
		timeout: sweepTime + longestSend(cfg) + outbox.ClaimMargin, parts: cfg.Parallelism, reaches: sending(cfg),
	}, {
		name: "reconcile", id: "Reconcile", description: "Landfall: asks remotes what became of rows whose outcome is unknown",
		timeout: sweepTime + outbox.LookupTimeout + outbox.ClaimMargin, parts: 1, reaches: asking(cfg),
	}}
}

// sweepTime is for how long a run claims or asks, with room to start and to answer. What is in flight then is
// waited for and settled.
const sweepTime = outbox.ClaimFor + 10*time.Second

func longestSend(cfg *config.Config) time.Duration {
	var longest time.Duration
	for _, d := range cfg.Destinations {
		longest = max(longest, time.Duration(d.SendTimeout))
	}
	return longest
}

// every is how often the schedules start a function.
const every = time.Minute

// concurrent is how many invocations there can be at once: a run may overlap the ones after it, to the end of
// its timeout.
func (f function) concurrent() int {
	return f.parts * int((f.timeout+every-1)/every)
}

// function makes a function with its log group, its role and its schedule.
func (b *builder) function(f function) error {
	code, err := b.asset(f.name)
	if err != nil {
		return err
	}
	logs := awslogs.NewLogGroup(b.scope, jsii.String(f.id+"Logs"), &awslogs.LogGroupProps{
		RemovalPolicy: b.removal(), Retention: b.LogRetention,
	})
	props := &awslambda.FunctionProps{
		Architecture: b.Architecture,
		Code:         code,
		Description:  jsii.String(f.description),
		Environment: &map[string]*string{
			schema.OutboxTableEnv:      b.Landfall.OutboxTable.TableName(),
			schema.MetricsNamespaceEnv: jsii.String(b.namespace()),
			// Leave a fifth to what Go's limit does not count, so that the collector works before Lambda kills.
			"GOMEMLIMIT": jsii.String(fmt.Sprintf("%dMiB", b.MemoryMiB*4/5)),
		},
		Handler:        jsii.String("bootstrap"),
		LogGroup:       logs,
		MaxEventAge:    awscdk.Duration_Seconds(jsii.Number(60)), // the next schedule is due by then
		MemorySize:     jsii.Number(b.MemoryMiB),
		RetryAttempts:  jsii.Number(0), // the next schedule is the retry
		Role:           b.role(f, logs),
		Runtime:        awslambda.Runtime_PROVIDED_AL2023(),
		SecurityGroups: b.SecurityGroups,
		Timeout:        awscdk.Duration_Seconds(jsii.Number(seconds(f.timeout))),
		Tracing:        awslambda.Tracing_ACTIVE,
		Vpc:            b.Vpc,
		VpcSubnets:     b.VpcSubnets,
	}
	if b.Stage == Prod && !b.ShareConcurrency {
		props.ReservedConcurrentExecutions = jsii.Number(f.concurrent())
	}
	made := awslambda.NewFunction(b.scope, jsii.String(f.id), props)
	b.Functions[f.name] = made
	// The statement about traces came into the role's policy with the function.
	accept(made.Role().Node().FindChild(jsii.String("DefaultPolicy")).Node().DefaultChild(), finding{
		rule: "AwsSolutions-IAM5", appliesTo: "Resource::*",
		reason: "X-Ray's writes, and the network interfaces of a function in a VPC, know no narrower resource.",
	})
	b.schedule(f, made)
	return nil
}

// seconds rounds up: a function must not end before its time.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

// role of one function: the table and the index that it works on, the secrets and functions that it needs, its own log
// group, its traces.
func (b *builder) role(f function, logs awslogs.LogGroup) awsiam.Role {
	role := awsiam.NewRole(b.scope, jsii.String(f.id+"Role"), &awsiam.RoleProps{
		AssumedBy:           awsiam.NewServicePrincipal(jsii.String("lambda.amazonaws.com"), nil),
		Description:         jsii.String("Landfall's " + f.name + " function"),
		PermissionsBoundary: b.PermissionsBoundary,
	})
	statements := []awsiam.PolicyStatement{
		// PutItem is for rows that are too full to be settled in place.
		allow("Rows", b.tableARN(), "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"),
		allow("Lanes", b.indexARN(), "dynamodb:Query"),
		allow("Logs", logs.LogGroupArn(), "logs:CreateLogStream", "logs:PutLogEvents"),
	}
	statements = slices.Concat(statements, b.useKey(), b.reach(f.reaches))
	if b.Vpc != nil {
		// Lambda makes and removes the function's network interfaces with these; they know no narrower resource
		// (https://docs.aws.amazon.com/lambda/latest/dg/configuration-vpc.html).
		statements = append(statements, allow("NetworkInterfaces", jsii.String("*"),
			"ec2:AssignPrivateIpAddresses", "ec2:CreateNetworkInterface", "ec2:DeleteNetworkInterface",
			"ec2:DescribeNetworkInterfaces", "ec2:DescribeSubnets", "ec2:UnassignPrivateIpAddresses"))
	}
	for _, s := range statements {
		role.AddToPolicy(s)
	}
	return role
}

func allow(sid string, resource *string, actions ...string) awsiam.PolicyStatement {
	return awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Sid: jsii.String(sid), Actions: jsii.Strings(actions...), Resources: &[]*string{resource},
	})
}
