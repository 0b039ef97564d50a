package landfallcdk

import (
	"fmt"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"

	"github.com/landfall-dev/landfall/internal/schema"
)

// function holds what differs between Landfall's functions.
type function struct {
	// name is that of its folder under functions/ and in Dist.
	name string
	// id is its construct's. Another id replaces the function.
	id          string
	description string
	// parts is how many rule targets start it each minute; 0: it has no schedule.
	parts int
	// atOnce is how many invocations can run at once; 0: unknown, and nothing is reserved.
	atOnce int
	// grants are its permissions besides those of every function.
	grants []grant
	// controls are the keys of the control table that it may query; "": it may not.
	controls string
	// inline are the statements in its role, others those that the role has no room for.
	inline, others []awsiam.PolicyStatement
}

// plan lists the functions of the configuration, in the order in which they are made.
//
// Reconcile has one part, whatever the parallelism. Rows of unknown outcome are few, a run asks about many at once, and
// one process is gentler on a remote in trouble.
func (b *builder) plan() []function {
	all := []function{{
		name: "dispatch", id: "Dispatch", description: "Landfall: claims due rows, sends them, settles them",
		parts: b.config.Parallelism, grants: b.dispatchGrants(), controls: schema.DestinationScope,
	}, {
		name: "reconcile", id: "Reconcile", description: "Landfall: asks remotes what became of rows whose outcome is unknown",
		parts: 1, grants: b.reconcileGrants(),
	}}
	if b.stream() != nil {
		all = append(all, function{
			name: "stream", id: "Stream", description: "Landfall: claims rows as they are put, sends them, settles them",
			grants: b.streamGrants(), controls: schema.DestinationScope,
		})
	}
	if n := len(b.config.Groups); n > 0 {
		all = append(all, function{
			name: "route", id: "Route", description: "Landfall: hands messages of groups to consumers",
			atOnce: n * b.props.RouteConcurrency, grants: b.routeGrants(), controls: schema.GroupScope + schema.Separator + "*",
		})
	}
	for i, f := range all {
		all[i].inline, all[i].others = statements(f.grants)
		if f.parts > 0 { // a run may overlap the ones after it, to the end of its timeout
			all[i].atOnce = f.parts * int((b.timeout(f.name)+every-1)/every)
		}
	}
	return all
}

// every is the interval of the schedules.
const every = time.Minute

// timeout is the function's, from the configuration.
func (b *builder) timeout(name string) time.Duration { return b.config.Timeouts()[name] }

// function makes a function with its log group, its role and its schedule.
func (b *builder) function(f function) error {
	code, err := b.asset(f.name)
	if err != nil {
		return err
	}
	logs := awslogs.NewLogGroup(b.scope, jsii.String(f.id+"Logs"), &awslogs.LogGroupProps{
		EncryptionKey: b.props.EncryptionKey, RemovalPolicy: b.removal(), Retention: b.props.LogRetention,
	})
	role, policies, err := b.role(f, logs)
	if err != nil {
		return err
	}
	props := &awslambda.FunctionProps{
		// A line of metrics has no level and counts as INFO. With WARN there would be no metrics.
		ApplicationLogLevelV2: awslambda.ApplicationLogLevel_INFO,
		Architecture:          b.props.Architecture,
		Code:                  code,
		Description:           jsii.String(f.description),
		Environment:           b.environment(),
		Handler:               jsii.String("bootstrap"),
		LogGroup:              logs,
		LoggingFormat:         awslambda.LoggingFormat_JSON, // concerns Lambda's own lines; the function's lines are JSON already
		MemorySize:            jsii.Number(b.props.MemoryMiB),
		Role:                  role,
		Runtime:               awslambda.Runtime_PROVIDED_AL2023(),
		SecurityGroups:        b.props.SecurityGroups,
		// Lambda logs its own lines only for runs that fail, time out or cannot start, not three for each run
		// (https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-log-level.html).
		SystemLogLevelV2: awslambda.SystemLogLevel_WARN,
		Timeout:          awscdk.Duration_Seconds(jsii.Number(seconds(b.timeout(f.name)))),
		Tracing:          awslambda.Tracing_ACTIVE,
		Vpc:              b.props.Vpc,
		VpcSubnets:       b.props.VpcSubnets,
	}
	if f.parts > 0 {
		props.MaxEventAge = awscdk.Duration_Seconds(jsii.Number(60)) // the next schedule is due by then
		props.RetryAttempts = jsii.Number(0)                         // the next schedule is the retry
	}
	if f.atOnce > 0 && b.props.Stage == Prod && !b.props.ShareConcurrency {
		props.ReservedConcurrentExecutions = jsii.Number(f.atOnce)
	}
	made := awslambda.NewFunction(b.scope, jsii.String(f.id), props)
	made.Node().AddDependency(policies...) // so the mappings, which depend on it, find the permissions in place
	b.made.Functions[f.name] = made
	// NewFunction added the statement about traces to the role's policy.
	accept(made.Role().Node().FindChild(jsii.String("DefaultPolicy")).Node().DefaultChild(), wildcards(f)...)
	b.schedule(f, made)
	return nil
}

// environment has the names of the stack's resources.
func (b *builder) environment() *map[string]*string {
	return &map[string]*string{
		schema.OutboxTableEnv:      b.made.OutboxTable.TableName(),
		schema.ReceiptsTableEnv:    b.made.ReceiptsTable.TableName(),
		schema.ControlTableEnv:     b.made.ControlTable.TableName(),
		schema.QueuePrefixEnv:      jsii.String(b.prefix()),
		schema.MetricsNamespaceEnv: jsii.String(b.namespace()),
		// Go's limit does not count everything: a fifth is left, so that Go collects garbage before Lambda kills the process.
		"GOMEMLIMIT": jsii.String(fmt.Sprintf("%dMiB", b.props.MemoryMiB*4/5)),
	}
}

// seconds rounds up, so that a function does not time out early.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
