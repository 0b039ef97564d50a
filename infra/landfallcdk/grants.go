package landfallcdk

import (
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/jsii-runtime-go"

	"github.com/landfall-dev/landfall/internal/config"
)

// grant lets a function do something to exactly these.
type grant struct {
	sid     string
	on      []thing
	actions []string
}

// outbox is what whoever claims, sends and settles needs. PutItem is for rows that are too full to be settled in place.
func (b *builder) outbox() grant {
	return grant{"Rows", []thing{{arn: b.tableARN()}}, []string{"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"}}
}

func (b *builder) lanes() grant {
	return grant{"Lanes", []thing{{arn: b.indexARN()}}, []string{"dynamodb:Query"}}
}

// sends is what reaching the destinations takes, one grant for each kind of thing. Retired destinations are never
// sent to.
func (b *builder) sends() (all []grant) {
	for _, of := range sendsTo {
		var targets []config.Target
		for _, d := range b.config.Destinations {
			if d.Kind() == of.kind && !d.Retired {
				targets = append(targets, d.Target)
			}
		}
		g := of.grant(b, targets)
		if same := slices.IndexFunc(all, func(other grant) bool { return other.sid == g.sid }); same >= 0 {
			all[same].on = append(all[same].on, g.on...)
			continue
		}
		all = append(all, g)
	}
	return all
}

func (b *builder) dispatchGrants() []grant {
	return slices.Concat([]grant{b.outbox(), b.lanes()}, b.sends())
}

func (b *builder) streamGrants() []grant {
	return slices.Concat([]grant{
		b.outbox(),
		// What Lambda itself does on the function's behalf, here and for route's queues
		// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/iam-policy-example-lamda-process-dynamodb-streams.html).
		{"Stream", []thing{{arn: b.stream()}}, []string{
			"dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator", "dynamodb:ListStreams",
		}},
		{"Failures", []thing{{arn: b.failures.QueueArn()}}, []string{"sqs:SendMessage"}},
	}, b.sends())
}

func (b *builder) reconcileGrants() []grant {
	return []grant{b.outbox(), b.lanes(), b.secrets(askedSecrets(b.config)), b.invokes(askedFunctions(b.config))}
}

func (b *builder) routeGrants() []grant {
	var ingress, dead []thing
	for _, name := range b.config.GroupNames() {
		ingress = append(ingress, thing{arn: b.queues[name].ingress.QueueArn()})
		dead = append(dead, thing{arn: b.queues[name].dead.QueueArn()})
	}
	joining := func(kind string) (all []string) {
		for _, t := range b.joins {
			if t.kind == kind {
				all = append(all, t.name)
			}
		}
		return all
	}
	return []grant{
		{"Receipts", []thing{{arn: b.made.ReceiptsTable.TableArn()}}, []string{"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"}},
		{"Ingress", ingress, []string{
			"sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:ReceiveMessage",
		}},
		{"DeadLetters", dead, []string{"sqs:GetQueueUrl", "sqs:SendMessage"}},
		{"Consumers", b.named("sqs", distinct(slices.Concat(joining("sqs"), consumerQueues(b.config)))), []string{
			"sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:SendMessage",
		}},
		b.invokes(distinct(slices.Concat(joining("lambda"), routedFunctions(b.config)))),
	}
}

func (b *builder) secrets(names []string) grant {
	return grant{"Secrets", b.named("secretsmanager", names), []string{"secretsmanager:GetSecretValue"}}
}

func (b *builder) invokes(names []string) grant {
	return grant{"Functions", b.named("lambda", names), []string{"lambda:InvokeFunction"}}
}

// sendsTo is, by kind of destination, what sending to these targets takes. Each is given all targets of its kind, by
// the names that the configuration has for them.
var sendsTo = []struct {
	kind  string
	grant func(b *builder, targets []config.Target) grant
}{
	{"sqs", func(b *builder, targets []config.Target) grant {
		return sendMessage(b.named("sqs", texts(targets)))
	}},
	{"group", func(b *builder, targets []config.Target) (g grant) {
		var queues []thing
		for _, group := range texts(targets) {
			queues = append(queues, thing{arn: b.queues[group].ingress.QueueArn()})
		}
		return sendMessage(queues)
	}},
	{"http", func(b *builder, targets []config.Target) grant {
		var names []string
		for _, t := range targets {
			if s := t.(*config.HTTP).Secret; s != nil {
				names = append(names, s.Name)
			}
		}
		return b.secrets(distinct(names))
	}},
}

func sendMessage(queues []thing) grant {
	return grant{"Queues", queues, []string{"sqs:GetQueueUrl", "sqs:SendMessage"}}
}

// texts are the targets as the configuration has them, sorted and without repetitions.
func texts(targets []config.Target) (all []string) {
	for _, t := range targets {
		all = append(all, t.String())
	}
	return distinct(all)
}

func askedSecrets(cfg *config.Config) (names []string) {
	for _, d := range cfg.Destinations {
		if d.Lookup != nil && d.Lookup.Secret != nil {
			names = append(names, d.Lookup.Secret.Name)
		}
	}
	return distinct(names)
}

func askedFunctions(cfg *config.Config) (names []string) {
	for _, d := range cfg.Destinations {
		if d.Lookup != nil && d.Lookup.Lambda != "" {
			names = append(names, d.Lookup.Lambda)
		}
	}
	return distinct(names)
}

func consumerQueues(cfg *config.Config) (names []string) {
	for _, g := range cfg.Groups {
		for _, c := range g.Consumers {
			if c.SQS != "" {
				names = append(names, c.SQS)
			}
		}
	}
	return distinct(names)
}

// routedFunctions are consumers and routing functions.
func routedFunctions(cfg *config.Config) (names []string) {
	for _, g := range cfg.Groups {
		if g.Route.Kind == "lambda" {
			names = append(names, g.Route.Argument)
		}
		for _, c := range g.Consumers {
			if c.Lambda != "" {
				names = append(names, c.Lambda)
			}
		}
	}
	return distinct(names)
}

// distinct are the names without repetitions, sorted, so that the same configuration makes the same template.
func distinct(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

func allow(sid string, on []*string, actions ...string) awsiam.PolicyStatement {
	return awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Sid: jsii.String(sid), Actions: jsii.Strings(actions...), Resources: &on,
	})
}
