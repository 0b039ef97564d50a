// Package landfallcdk is Landfall as a construct of the AWS CDK: the outbox table, the functions with their
// schedules and roles, a policy for those who write rows, alarms and a dashboard. The app beside it deploys
// exactly this; another app may embed it (docs/deploy.md).
//
// What is deployed follows from landfall.yaml: timeouts, permissions, alarms and schedules are computed, not
// configured again. The package compiles nothing: it takes the functions as `make build` left them.
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
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/observe"
	"github.com/landfall-dev/landfall/internal/schema"
)

// Stage says how much a stack is worth.
type Stage string

const (
	// Prod keeps the table when the stack goes, protects it from deletion, backs it up, raises alarms and
	// reserves concurrency. It is the default.
	Prod Stage = "prod"
	// Dev leaves nothing behind when it is destroyed, and is cheap: no alarms, no backups, nothing reserved.
	Dev Stage = "dev"
)

// Props are what a Landfall can be given. Only ConfigFile is required.
type Props struct {
	// AlarmTopic is told when an alarm goes off and when it is over. Optional.
	AlarmTopic awssns.ITopic
	// Architecture that the functions in Dist were built for. Defaults to arm64.
	Architecture awslambda.Architecture
	// ConfigFile is a landfall.yaml, or a resolved landfall.json. Required.
	ConfigFile string
	// Dist is the folder with a folder per function, as `make build` makes it. Defaults to "dist".
	Dist string
	// EncryptionKey encrypts the table. Its key policy must let this account's IAM policies decide, as
	// policies of keys made by the CDK do. Defaults to the key that DynamoDB owns.
	EncryptionKey awskms.IKey
	// LogRetention defaults to three months for Prod, a week for Dev.
	LogRetention awslogs.RetentionDays
	// MemoryMiB of each function, 128 to 10240. A function's share of CPU grows with it. Defaults to 512.
	MemoryMiB int
	// OutboxTable that exists already, with the key, index and TTL that docs/row-format.md describes. Its own
	// encryption key, if it has one, goes into EncryptionKey. Defaults to a new table.
	OutboxTable awsdynamodb.ITable
	// PermissionsBoundary of every role. Optional.
	PermissionsBoundary awsiam.IManagedPolicy
	// Runbooks is the page that the alarms point to. Defaults to docs/operations.md of the project.
	Runbooks string
	// SecurityGroups of the functions in Vpc. Defaults to one per function that lets everything out.
	SecurityGroups *[]awsec2.ISecurityGroup
	// ShareConcurrency leaves the functions in the account's common pool. Dev always does. Accounts whose
	// Lambda quota is small (new ones begin with 10) have nothing to reserve. Defaults to false.
	ShareConcurrency bool
	// Stage defaults to Prod.
	Stage Stage
	// Thresholds of the alarms.
	Thresholds Thresholds
	// Vpc that the functions run in. It needs a way to DynamoDB and to the remotes. Defaults to none.
	Vpc awsec2.IVpc
	// VpcSubnets of Vpc. Defaults to its private ones.
	VpcSubnets *awsec2.SubnetSelection
}

// Landfall is what was made.
type Landfall struct {
	// Alarms in the order in which docs/operations.md has them; none in Dev.
	Alarms []awscloudwatch.Alarm
	// Dashboard shows all destinations.
	Dashboard awscloudwatch.Dashboard
	// Functions by name.
	Functions map[string]awslambda.Function
	// OutboxTable is the new table, or the one that was given.
	OutboxTable awsdynamodb.ITable
	// WriterPolicies let their holder put rows for the destinations of the configuration, and nothing else.
	// They are more than one only where one would be longer than IAM allows.
	WriterPolicies []awsiam.ManagedPolicy
}

const (
	// MaxDestinations of a Landfall with alarms.
	MaxDestinations = (maxResources - 100) / alarmsPerDestination // a hundred for all the rest at its most
	// maxResources is CloudFormation's quota per stack
	// (https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html).
	maxResources = 500
)

// builder carries what the parts need of each other.
type builder struct {
	*Landfall
	Props

	scope  constructs.Construct // everything is made in here
	stack  awscdk.Stack
	config *config.Config
}

// namespace is that of the metrics: the stack's own.
func (b *builder) namespace() string { return observe.DefaultNamespace + "/" + *b.stack.StackName() }

// NewLandfall makes a Landfall in scope. There can be one per stack, because the command line finds it by the
// stack's name. The error says what is wrong with the configuration, the props or the built functions.
func NewLandfall(scope constructs.Construct, id string, props Props) (*Landfall, error) {
	stack := awscdk.Stack_Of(scope)
	if stack.Node().TryFindChild(jsii.String(schema.OutboxTableOutput)) != nil {
		return nil, fmt.Errorf("stack %s has a Landfall already: put each into a stack of its own", *stack.StackName())
	}
	if err := props.fill(); err != nil {
		return nil, err
	}
	cfg, err := load(props.ConfigFile)
	if err != nil {
		return nil, err
	}
	if n := len(cfg.Destinations); props.Stage == Prod && n > MaxDestinations {
		return nil, fmt.Errorf("%d destinations, a stack with alarms can have %d, because CloudFormation allows it %d resources: "+
			"spread them over several stacks", n, MaxDestinations, maxResources)
	}
	b := &builder{
		Landfall: &Landfall{Functions: map[string]awslambda.Function{}}, Props: props,
		scope: constructs.NewConstruct(scope, jsii.String(id)), stack: stack, config: cfg,
	}
	b.outbox()
	for _, f := range functions(cfg) {
		if err := b.function(f); err != nil {
			return nil, err
		}
	}
	if err := b.writers(); err != nil {
		return nil, err
	}
	if props.Stage == Prod {
		b.alarms()
	}
	b.dashboard()
	b.output()
	return b.Landfall, nil
}
