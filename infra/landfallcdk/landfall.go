// Package landfallcdk is a construct of the AWS CDK that deploys Landfall: tables, queues, functions, schedules, roles,
// policies for writers and consumers, alarms and a dashboard. The app beside it deploys exactly this construct. Another
// app may embed it (docs/deploy.md).
//
// Everything follows from landfall.yaml: the package computes timeouts, permissions, alarms and schedules. It compiles
// nothing; `make build` makes the functions beforehand.
package landfallcdk

import (
	"fmt"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/observe"
	"github.com/landfall-dev/landfall/internal/schema"
)

// Stage says how well a stack protects its data.
type Stage string

const (
	// Prod keeps the table when the stack goes, protects it from deletion, backs it up, raises alarms and
	// reserves concurrency. It is the default.
	Prod Stage = "prod"
	// Dev leaves nothing behind when it is destroyed. It is cheap: no alarms, no backups, no reserved concurrency.
	Dev Stage = "dev"
)

// Props configure a Landfall. Only ConfigFile is required.
type Props struct {
	// AlarmTopic gets a message when an alarm goes off and when it is over. Optional.
	AlarmTopic awssns.ITopic
	// Architecture that the functions in Dist were built for. Defaults to arm64.
	Architecture awslambda.Architecture
	// ConfigFile is a landfall.yaml, or a resolved landfall.json. Required.
	ConfigFile string
	// ConsumerTargets are the allowed targets of consumers that join a group at run time, and of routing functions that
	// are set then: "sqs:" or "lambda:", and a name or an ARN. In the name, * stands for anything: "sqs:courier-*".
	// Targets of the configuration need not be listed. Defaults to none.
	ConsumerTargets []string
	// ControlTable and ReceiptsTable are existing tables, with the keys and TTL of docs/deploy.md. If they have a key of
	// their own, it must be EncryptionKey. Default to new tables.
	ControlTable, ReceiptsTable awsdynamodb.ITable
	// DestinationWriterPolicies makes a policy for each destination's writers, too, for an account whose applications do
	// not trust each other. Defaults to false: one policy for all destinations.
	DestinationWriterPolicies bool
	// Dist is the folder that `make build` fills, with a folder for each function. Defaults to "dist".
	Dist string
	// EncryptionKey encrypts tables, queues and log groups. Its key policy must let this account's IAM policies decide, as
	// policies of keys made by the CDK do, and let CloudWatch Logs in (docs/deploy.md), which NewLandfall adds to a key
	// made by the CDK. Defaults to the keys that DynamoDB, SQS and CloudWatch Logs own.
	EncryptionKey awskms.IKey
	// GroupPoliciesOnly makes no policy for each consumer: for as many consumers as a stack has no room for otherwise.
	// Defaults to false.
	GroupPoliciesOnly bool
	// LogRetention defaults to three months for Prod, a week for Dev.
	LogRetention awslogs.RetentionDays
	// MemoryMiB of each function, 128 to 10240. A function's share of CPU grows with it. Defaults to 512.
	MemoryMiB int
	// OutboxTable is an existing table, with the key, index and TTL of docs/row-format.md. If it has an encryption key of
	// its own, that key goes into EncryptionKey. Without the ARN of its stream of new images there is no fast path, and
	// rows wait for the sweep. Defaults to a new table.
	OutboxTable awsdynamodb.ITable
	// OwnedQueues makes the queues that the configuration gives consumers by name, never those given by ARN. Defaults to
	// false: all of them exist already.
	OwnedQueues bool
	// PermissionsBoundary of every role. Optional.
	PermissionsBoundary awsiam.IManagedPolicy
	// RouteConcurrency is how many batches of each group are routed at once, 2 to 1000. Defaults to 10.
	RouteConcurrency int
	// Runbooks is the page that the alarms link to. Defaults to docs/operations.md of the project.
	Runbooks string
	// SecurityGroups of the functions in Vpc. Defaults to one for each function, which allows all outgoing traffic.
	SecurityGroups *[]awsec2.ISecurityGroup
	// ShareConcurrency leaves the functions in the account's common pool, as Dev always does. An account with a small
	// Lambda quota (new accounts begin with 10) has nothing to reserve. Defaults to false.
	ShareConcurrency bool
	// Stage defaults to Prod.
	Stage Stage
	// Thresholds of the alarms.
	Thresholds Thresholds
	// Vpc is the network of the functions. It needs a way to DynamoDB and to the remotes. Defaults to none.
	Vpc awsec2.IVpc
	// VpcSubnets of Vpc. Defaults to its private ones.
	VpcSubnets *awsec2.SubnetSelection
}

// Landfall holds the resources that NewLandfall made.
type Landfall struct {
	// Alarms of destinations, groups, functions, the fast path and the tables, in that order; none in Dev.
	Alarms []awscloudwatch.Alarm
	// ConsumerPolicies by group allow to accept and decline the group's messages. With OwnedQueues they also allow to
	// receive from its consumers' queues.
	ConsumerPolicies map[string]awsiam.ManagedPolicy
	// ConsumerQueues are the owned queues, by name.
	ConsumerQueues map[string]awssqs.Queue
	// DestinationWriterPolicies by destination allow to put its rows, and nothing else; empty without the prop.
	DestinationWriterPolicies map[string]awsiam.ManagedPolicy
	// Dashboard shows all destinations and groups.
	Dashboard awscloudwatch.Dashboard
	// Functions by name.
	Functions map[string]awslambda.Function
	// SingleConsumerPolicies by group and consumer allow to accept and decline the group's messages as the protocol does
	// it, and to receive from the consumer's own queue; empty with GroupPoliciesOnly.
	SingleConsumerPolicies map[string]map[string]awsiam.ManagedPolicy
	// The tables are new, or those of the props.
	ControlTable, OutboxTable, ReceiptsTable awsdynamodb.ITable
	// WriterPolicies allow to put rows for the destinations of the configuration, and nothing else. There are several
	// only if one would be longer than IAM allows.
	WriterPolicies []awsiam.ManagedPolicy
}

// builder carries what the parts of a stack share.
type builder struct {
	made  *Landfall
	props Props

	scope  constructs.Construct // everything is made in here
	stack  awscdk.Stack
	config *config.Config
	// resolved is the configuration as the functions read it, hash its SHA-256 in hex.
	resolved []byte
	hash     string

	joins     []join
	failures  awssqs.Queue // nil without a stream
	queues    map[string]groupQueues
	functions []function
}

// namespace is that of the metrics: the stack's own.
func (b *builder) namespace() string { return observe.DefaultNamespace + "/" + *b.stack.StackName() }

// NewLandfall makes a Landfall in scope. A stack can hold one, because the command line finds it by the stack's name.
// The error says what is wrong with the configuration, the props or the built functions.
func NewLandfall(scope constructs.Construct, id string, props Props) (*Landfall, error) {
	stack := awscdk.Stack_Of(scope)
	if stack.Node().TryFindChild(jsii.String(schema.OutboxTableOutput)) != nil {
		return nil, fmt.Errorf("stack %s already has a Landfall: put each into a stack of its own", *stack.StackName())
	}
	if err := props.fill(); err != nil {
		return nil, err
	}
	b := &builder{
		made: &Landfall{
			ConsumerPolicies: map[string]awsiam.ManagedPolicy{}, ConsumerQueues: map[string]awssqs.Queue{},
			DestinationWriterPolicies: map[string]awsiam.ManagedPolicy{}, Functions: map[string]awslambda.Function{},
			SingleConsumerPolicies: map[string]map[string]awsiam.ManagedPolicy{},
		},
		props: props, stack: stack, queues: map[string]groupQueues{},
	}
	if err := b.load(); err != nil {
		return nil, err
	}
	b.scope = constructs.NewConstruct(scope, jsii.String(id))
	if err := b.build(); err != nil {
		return nil, err
	}
	return b.made, nil
}

// build makes everything, beginning with what other parts refer to.
func (b *builder) build() error {
	b.keyForLogs()
	b.tables()
	b.makeQueues()
	b.functions = b.plan()
	if err := b.fits(); err != nil {
		return err
	}
	for _, f := range b.functions {
		if err := b.function(f); err != nil {
			return err
		}
	}
	b.mappings()
	if err := b.writers(); err != nil {
		return err
	}
	if err := b.consumers(); err != nil {
		return err
	}
	if b.props.Stage == Prod {
		b.alarms()
	}
	b.dashboard()
	b.output()
	return nil
}
