package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/routingdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

// hiddenFor is for how many timeouts of the router a message is hidden when it is handed out
// (https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html).
const hiddenFor = 6

// queues examines those of groups, of their members and of destinations.
func (e *examination) queues(ctx context.Context, members map[string][]routing.Consumer) {
	prefix, err := e.at.name(prefixName)
	if err != nil {
		e.bad("queues", err.Error(), "name the stack that Landfall is in")
		return
	}
	client := sqs.NewFromConfig(e.at.sdk)
	q := &queueReader{client, routingdb.NewQueues(client)}
	for _, name := range e.cfg.GroupNames() {
		e.group(ctx, q, prefix, name)
		e.consumerQueues(ctx, q, name, members[name])
	}
	for _, name := range e.cfg.Names() {
		d := e.cfg.Destinations[name]
		if to, ok := d.Target.(*config.SQS); ok && !d.Retired {
			e.queue(ctx, q, "destination "+name, to.Queue)
		}
	}
}

// queue examines one that somebody else owns: it has to be there.
func (e *examination) queue(ctx context.Context, q *queueReader, subject, queue string) {
	if _, err := q.attributes(ctx, queue); err != nil {
		e.missing(subject, "its queue "+queue, err)
		return
	}
	e.ok(subject, "its queue "+queue+" is there")
}

// consumerQueues examines the queues of a group's consumers.
func (e *examination) consumerQueues(ctx context.Context, q *queueReader, group string, members []routing.Consumer) {
	for _, c := range members {
		if queue, isQueue := strings.CutPrefix(c.Target, schema.TargetSQS+":"); isQueue {
			e.queue(ctx, q, "consumer "+c.ID+" of group "+group, queue)
		}
	}
}

// queueReader reads queues by name, ARN or URL.
type queueReader struct {
	client *sqs.Client
	urls   *routingdb.Queues
}

// attributes are those of a queue.
func (q *queueReader) attributes(ctx context.Context, name string) (queueAttributes, error) {
	ctx, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	url, err := q.urls.URL(ctx, name)
	if err != nil {
		return nil, err
	}
	out, err := q.client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
	})
	if err != nil {
		return nil, fmt.Errorf("read attributes of queue %s: %w", name, err)
	}
	return out.Attributes, nil
}

type queueAttributes map[string]string

func (a queueAttributes) get(name types.QueueAttributeName) string { return a[string(name)] }

// seconds is an attribute that is a number of seconds; 0 if it is none.
func (a queueAttributes) seconds(name types.QueueAttributeName) time.Duration {
	n, _ := strconv.Atoi(a.get(name))
	return time.Duration(n) * time.Second
}

// missing tells a queue that is not there from one that may not be looked at: that one may be in order.
func (e *examination) missing(subject, what string, err error) {
	if slices.Contains(denied, codeOf(err)) {
		e.warn(subject, what+": you may not look at it", "ask for sqs:GetQueueUrl and sqs:GetQueueAttributes")
		return
	}
	e.bad(subject, what+": "+err.Error(), "deploy the stack, or make the queue; see the prefix, --stack and --region")
}

// group examines a group's own queues.
func (e *examination) group(ctx context.Context, q *queueReader, prefix, group string) {
	before, subject := len(e.findings), "group "+group
	deadName := schema.DeadLetterQueue(prefix, group)
	dead, err := q.attributes(ctx, deadName)
	if err != nil {
		e.missing(subject, "its dead-letter queue", err)
	}
	in, err := q.attributes(ctx, schema.IngressQueue(prefix, group))
	if err != nil {
		e.missing(subject, "its ingress queue", err)
		return
	}
	e.ingress[group] = in.get(types.QueueAttributeNameQueueArn)
	retention, maxWait := in.seconds(types.QueueAttributeNameMessageRetentionPeriod), time.Duration(e.cfg.Groups[group].MaxWait)
	switch must := time.Duration(config.IngressRetention); {
	case retention <= maxWait:
		e.bad(subject, fmt.Sprintf("its ingress queue keeps messages for %v, max_wait is %v: they vanish before they are given up", retention, maxWait), retain(must))
	case retention > must:
		e.bad(subject, fmt.Sprintf("its ingress queue keeps messages for %v, more than the %v that outcomes are reckoned with", retention, must), retain(must))
	}
	timeout := e.cfg.Timeouts()["route"]
	switch hidden := in.seconds(types.QueueAttributeNameVisibilityTimeout); {
	case hidden < timeout:
		e.bad(subject, fmt.Sprintf("its ingress queue hides a message for %v, the router has %v: two would have it at once", hidden, timeout), hide(timeout))
	case hidden < hiddenFor*timeout && !e.local:
		e.warn(subject, fmt.Sprintf("its ingress queue hides a message for %v, less than six times the router's %v: under throttling it comes back too early", hidden, timeout), hide(hiddenFor*timeout))
	}
	if delay := in.seconds(types.QueueAttributeNameDelaySeconds); delay > 0 {
		e.warn(subject, fmt.Sprintf("its ingress queue delays every message by %v", delay), "set its DelaySeconds to 0")
	}
	e.redrive(subject, in, dead, deadName)
	e.sound(before, subject, "its ingress and dead-letter queues are as they must be")
}

func retain(d time.Duration) string {
	return fmt.Sprintf("set its MessageRetentionPeriod to %.0f", d.Seconds())
}

func hide(d time.Duration) string {
	return fmt.Sprintf("set its VisibilityTimeout to %.0f", d.Seconds())
}

// redrive examines the way to the dead letters; dead is nil if it could not be read.
func (e *examination) redrive(subject string, in, dead queueAttributes, deadName string) {
	remedy := fmt.Sprintf("set its RedrivePolicy to %s, %d times", deadName, routing.DefaultMaxReceives)
	var policy struct {
		DeadLetterTargetArn string
		MaxReceiveCount     json.Number
	}
	if text := in.get(types.QueueAttributeNameRedrivePolicy); text == "" {
		e.bad(subject, "its ingress queue leads to no dead letters: what comes back again and again vanishes with its retention", remedy)
		return
	} else if err := json.Unmarshal([]byte(text), &policy); err != nil {
		e.bad(subject, "its ingress queue's redrive policy cannot be read", remedy)
		return
	}
	if to := policy.DeadLetterTargetArn; to[strings.LastIndexByte(to, ':')+1:] != deadName {
		e.bad(subject, "its ingress queue's dead letters go to "+to+", not to "+deadName, remedy)
	}
	if n, err := policy.MaxReceiveCount.Int64(); err != nil || n < routing.DefaultMaxReceives {
		e.bad(subject, fmt.Sprintf("its ingress queue gives a message up by itself, without a reason, after %s receives; the router reckons with %d", policy.MaxReceiveCount, routing.DefaultMaxReceives), remedy)
	}
	if dead == nil {
		return
	}
	// A message that SQS itself moves keeps its age.
	if has, must := dead.seconds(types.QueueAttributeNameMessageRetentionPeriod), in.seconds(types.QueueAttributeNameMessageRetentionPeriod); has < must {
		e.bad(subject, fmt.Sprintf("its dead-letter queue keeps messages for %v, less than the ingress queue's %v: dead letters vanish", has, must), "set its MessageRetentionPeriod to 1209600, 14 days")
	}
	var allow struct{ RedrivePermission string }
	if text := dead.get(types.QueueAttributeNameRedriveAllowPolicy); text != "" && json.Unmarshal([]byte(text), &allow) == nil && allow.RedrivePermission == "denyAll" {
		e.bad(subject, "its dead-letter queue takes no dead letters", "allow its ingress queue in its RedriveAllowPolicy")
	}
}
