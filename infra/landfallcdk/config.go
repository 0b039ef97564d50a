package landfallcdk

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/config/yamlconfig"
	"github.com/landfall-dev/landfall/internal/routefn"
	"github.com/landfall-dev/landfall/internal/schema"
)

// maxQueueName is SQS's bound (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-queues.html).
const maxQueueName = 80

// load reads the configuration, of either kind, and holds it to what this stack can have.
func (b *builder) load() (err error) {
	if b.props.ConfigFile == "" {
		return errors.New("no configuration: name a landfall.yaml")
	}
	if b.joins, err = parseJoins(b.props.ConsumerTargets); err != nil {
		return err
	}
	if b.config, err = yamlconfig.LoadFile(b.props.ConfigFile, config.Expressions(routefn.CheckCEL), b.queueNames, b.regions, b.unreachable); err != nil {
		return err
	}
	if b.resolved, err = b.config.Resolved(); err != nil {
		return err
	}
	sum := sha256.Sum256(b.resolved)
	b.hash = hex.EncodeToString(sum[:])
	return nil
}

// queueNames reports names that are too long, or taken.
func (b *builder) queueNames(cfg *config.Config) (problems []config.Problem) {
	if *awscdk.Token_IsUnresolved(b.stack.StackName()) && len(cfg.Groups) > 0 {
		return []config.Problem{{Path: "groups", Message: "the stack's name is not known before it is deployed, and queues are named after it: give the stack a name"}}
	}
	prefix := b.prefix()
	taken := []string{schema.StreamFailures(prefix)}
	for _, name := range cfg.GroupNames() {
		taken = append(taken, schema.DeadLetterQueue(prefix, name))
		if queue := schema.IngressQueue(prefix, name); len(queue) > maxQueueName {
			problems = append(problems, config.Problem{Path: "groups." + name, Message: fmt.Sprintf(
				"its queue %s would have a name of %d characters, SQS allows %d: shorten the stack's name or the group's", queue, len(queue), maxQueueName)})
		}
	}
	for _, name := range cfg.GroupNames() {
		for id, c := range cfg.Groups[name].Consumers {
			if slices.Contains(taken, c.SQS[strings.LastIndexByte(c.SQS, ':')+1:]) {
				problems = append(problems, config.Problem{Path: "groups." + name + ".consumers." + id + ".sqs",
					Message: "is a queue of this stack's own, for what could not be done: a consumer needs one of its own"})
			}
		}
	}
	return problems
}

// unreachable reports targets that deployed functions cannot reach. A dev stage only warns of them.
func (b *builder) unreachable(cfg *config.Config) []config.Problem {
	problems := cfg.Unreachable(b.props.Vpc != nil)
	if b.props.Stage == Prod {
		return problems
	}
	for _, p := range problems {
		awscdk.Annotations_Of(b.stack).AddWarningV2(jsii.String("landfall:"+p.Path), jsii.String(p.Path+": "+p.Message), nil)
	}
	return nil
}

// regions reports ARNs of another region than the stack's, where that is known: the functions ask the services of
// their own. In a stack for any region they are refused when they are used, because no role allows for what is asked
// there in their stead.
func (b *builder) regions(cfg *config.Config) (problems []config.Problem) {
	if *awscdk.Token_IsUnresolved(b.stack.Region()) {
		return nil
	}
	check := func(path, name string) {
		if parts := strings.Split(name, ":"); parts[0] == "arn" && len(parts) > 3 && parts[3] != *b.stack.Region() {
			problems = append(problems, config.Problem{Path: path, Message: fmt.Sprintf(
				"is in region %s, and the stack is in %s: the functions reach their own region alone", parts[3], *b.stack.Region())})
		}
	}
	for _, name := range cfg.Names() {
		path, d := "destinations."+name, cfg.Destinations[name]
		for key, name := range d.Target.Names() {
			check(path+"."+key, name)
		}
		if d.Lookup != nil {
			check(path+".lookup.lambda", d.Lookup.Lambda)
			if d.Lookup.Secret != nil {
				check(path+".lookup.secret", d.Lookup.Secret.Name)
			}
		}
	}
	for _, name := range cfg.GroupNames() {
		path, g := "groups."+name, cfg.Groups[name]
		if g.Route.Kind == string(routefn.Lambda) {
			check(path+".route.lambda", g.Route.Argument)
		}
		for id, c := range g.Consumers {
			check(path+".consumers."+id+".sqs", c.SQS)
			check(path+".consumers."+id+".lambda", c.Lambda)
		}
	}
	return problems
}

// CloudFormation's quota per stack (https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html),
// and what takes it up.
const (
	maxResources = 500
	// otherResources is all the rest, at its most.
	otherResources = 100
	// queueResources: the queue and its policy.
	queueResources = 2
	// groupResources: two queues, mapping, policy.
	groupResources = 2*queueResources + 2
	// MaxDestinations of a Landfall with alarms and without groups.
	MaxDestinations = (maxResources - otherResources) / alarmsPerDestination
)

// policies is how many single consumers and single destinations have a policy of their own.
func (b *builder) policies() (n int) {
	if !b.props.GroupPoliciesOnly {
		for _, g := range b.config.Groups {
			n += len(g.Consumers)
		}
	}
	if b.props.DestinationWriterPolicies {
		n += len(b.config.Destinations)
	}
	return n
}

// fits refuses what CloudFormation would only refuse after minutes.
func (b *builder) fits() error {
	destinations, groups, own := len(b.config.Destinations), len(b.config.Groups), 0
	if b.props.OwnedQueues {
		own = len(ownQueues(b.config, ""))
	}
	n := b.policies() + otherResources + groups*groupResources + own*queueResources
	for _, f := range b.functions {
		n += len(f.others)
	}
	if b.props.Stage == Prod {
		n += destinations*alarmsPerDestination + groups*alarmsPerGroup
	}
	if n > maxResources {
		return fmt.Errorf("%d destinations, %d groups and %d queues of consumers make up to %d resources, and CloudFormation allows a stack %d: "+
			"spread them over several stacks, or make fewer policies (GroupPoliciesOnly, DestinationWriterPolicies)", destinations, groups, own, n, maxResources)
	}
	return nil
}
