package landfallcdk

import (
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/schema"
)

const (
	// longestRetention is SQS's maximum (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html).
	longestRetention = 14 * 24 * time.Hour
	// hidden times the function's timeout is the visibility timeout of an ingress queue, as AWS recommends
	// (https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html).
	hidden = 6
)

// groupQueues are the queues of a group.
type groupQueues struct{ ingress, dead awssqs.Queue }

// prefix begins the names of the stack's queues.
func (b *builder) prefix() string { return *b.stack.StackName() }

// makeQueues makes the queue of stream failures, those of groups, and the owned queues of consumers.
func (b *builder) makeQueues() {
	if b.stream() != nil {
		b.failures = b.queue("StreamFailures", schema.StreamFailures(b.prefix()), awssqs.QueueProps{}, awscdk.RemovalPolicy_DESTROY)
		accept(b.failures.Node().DefaultChild(), finding{
			rule: "AwsSolutions-SQS3", reason: "It is where a mapping tells of what failed; nothing receives from it in order to work.",
		})
	}
	for _, group := range b.config.GroupNames() {
		b.queues[group] = b.makeGroup(group)
	}
	for _, name := range b.owned("") {
		made := b.queue("Consumer-"+name, name, awssqs.QueueProps{}, b.keep())
		accept(made.Node().DefaultChild(), finding{
			rule: "AwsSolutions-SQS3", reason: "How often a consumer tries its work is its own to say; one that wants to makes the queue itself.",
		})
		b.made.ConsumerQueues[name] = made
	}
}

func (b *builder) makeGroup(group string) groupQueues {
	// The ARN is made from the name, because two queues cannot refer to each other.
	ingress := b.named("sqs", []string{schema.IngressQueue(b.prefix(), group)})[0].arn
	dead := b.queue("Dead-"+group, schema.DeadLetterQueue(b.prefix(), group), awssqs.QueueProps{
		RedriveAllowPolicy: &awssqs.RedriveAllowPolicy{
			RedrivePermission: awssqs.RedrivePermission_BY_QUEUE,
			SourceQueues:      &[]awssqs.IQueue{awssqs.Queue_FromQueueArn(b.scope, jsii.String("DeadFrom-"+group), ingress)},
		},
	}, b.keep())
	return groupQueues{dead: dead, ingress: b.queue("Ingress-"+group, schema.IngressQueue(b.prefix(), group), awssqs.QueueProps{
		DeadLetterQueue:   &awssqs.DeadLetterQueue{Queue: dead, MaxReceiveCount: jsii.Number(routing.DefaultMaxReceives)},
		RetentionPeriod:   awscdk.Duration_Days(jsii.Number(time.Duration(config.IngressRetention).Hours() / 24)),
		VisibilityTimeout: awscdk.Duration_Seconds(jsii.Number(hidden * seconds(b.timeout("route")))),
	}, b.keep())}
}

// queue makes an encrypted standard queue that requires TLS. It keeps messages for as long as SQS allows, unless the
// props say otherwise.
func (b *builder) queue(id, name string, props awssqs.QueueProps, removal awscdk.RemovalPolicy) awssqs.Queue {
	props.QueueName, props.RemovalPolicy, props.EnforceSSL = jsii.String(name), removal, jsii.Bool(true)
	props.Encryption = awssqs.QueueEncryption_SQS_MANAGED
	if b.props.EncryptionKey != nil {
		props.Encryption, props.EncryptionMasterKey = awssqs.QueueEncryption_KMS, b.props.EncryptionKey
	}
	if props.RetentionPeriod == nil {
		props.RetentionPeriod = awscdk.Duration_Days(jsii.Number(longestRetention.Hours() / 24))
	}
	return awssqs.NewQueue(b.scope, jsii.String(id), &props)
}

// keep says what happens to a queue when the stack or the group goes. A new queue has no messages yet: it goes when its
// creation is rolled back. Otherwise the next try would find its name taken.
func (b *builder) keep() awscdk.RemovalPolicy {
	if b.props.Stage == Prod {
		return awscdk.RemovalPolicy_RETAIN_ON_UPDATE_OR_DELETE
	}
	return awscdk.RemovalPolicy_DESTROY
}

// owned are the queues that the stack makes for a group's consumers, or for those of all groups if group is "". With
// OwnedQueues, they are those that the configuration gives by name.
func (b *builder) owned(group string) []string {
	if !b.props.OwnedQueues {
		return nil
	}
	return ownQueues(b.config, group)
}

func ownQueues(cfg *config.Config, group string) (names []string) {
	for name, g := range cfg.Groups {
		for _, c := range g.Consumers {
			if (group == "" || name == group) && c.SQS != "" && !strings.HasPrefix(c.SQS, "arn:") {
				names = append(names, c.SQS)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
