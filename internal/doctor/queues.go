package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/schema"
)

// visibilityFactor is how many timeouts of the function a queue should hide a message
// (https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html).
const visibilityFactor = 6

// readQueues examines the queues of groups, of their consumers and of destinations.
func (e *examination) readQueues(ctx context.Context, consumers map[string][]routing.Consumer) {
	if err := e.in.QueuePrefix.Err; err != nil {
		e.add(Finding{Bad, "queues", Plain(err), "name the stack that Landfall is in"})
		return
	}
	for _, name := range e.in.Config.GroupNames() {
		e.readGroupQueues(ctx, name)
		for _, c := range consumers[name] {
			if queue, isQueue := strings.CutPrefix(c.Target, schema.TargetSQS+":"); isQueue {
				e.readQueue(ctx, "consumer "+c.ID+" of group "+name, queue)
			}
		}
	}
	for _, name := range e.in.Config.Names() {
		d := e.in.Config.Destinations[name]
		if to, ok := d.Target.(*config.SQS); ok && !d.Retired {
			e.readQueue(ctx, "destination "+name, to.Queue)
		}
	}
}

// readQueue examines a queue that is not Landfall's own: it only has to exist.
func (e *examination) readQueue(ctx context.Context, subject, queue string) {
	if _, err := e.attributes(ctx, queue); err != nil {
		e.add(unreadable(subject, "its queue "+queue, err))
		return
	}
	e.add(Finding{OK, subject, "its queue " + queue + " exists", ""})
}

// readGroupQueues examines a group's own queues.
func (e *examination) readGroupQueues(ctx context.Context, name string) {
	subject, deadName := "group "+name, schema.DeadLetterQueue(e.in.QueuePrefix.Value, name)
	r := &report{subject: subject}
	dead, err := e.attributes(ctx, deadName)
	if err != nil {
		r.findings = append(r.findings, unreadable(subject, "its dead-letter queue", err))
	}
	ingress, err := e.attributes(ctx, schema.IngressQueue(e.in.QueuePrefix.Value, name))
	if err != nil {
		e.add(append(r.findings, unreadable(subject, "its ingress queue", err))...)
		return
	}
	e.ingress[name] = ingress.get(types.QueueAttributeNameQueueArn)
	ingressQueue(r, ingress, time.Duration(e.in.Config.Groups[name].MaxWait), e.in.Config.Timeouts()["route"], e.in.Local)
	redrive(r, ingress, dead, deadName)
	e.add(r.orOK("its ingress and dead-letter queues have the right settings")...)
}

// attributes are those of a queue, by name or ARN.
func (e *examination) attributes(ctx context.Context, name string) (queueAttributes, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	url, err := e.urls.URL(ctx, name)
	if err != nil {
		return nil, err
	}
	out, err := e.queues.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
	})
	if err != nil {
		return nil, fmt.Errorf("read attributes of queue %s: %w", name, err)
	}
	return out.Attributes, nil
}

type queueAttributes map[string]string

func (a queueAttributes) get(name types.QueueAttributeName) string { return a[string(name)] }

// seconds is an attribute that is a number of seconds; 0 if it is anything else.
func (a queueAttributes) seconds(name types.QueueAttributeName) time.Duration {
	n, _ := strconv.Atoi(a.get(name))
	return time.Duration(n) * time.Second
}

// unreadable tells a queue that does not exist from one that may not be read: that one may be in order.
func unreadable(subject, what string, err error) Finding {
	if denied(err) {
		return Finding{Warning, subject, what + ": you may not read it", "ask for sqs:GetQueueUrl and sqs:GetQueueAttributes"}
	}
	return Finding{Bad, subject, what + ": " + Plain(err), "deploy the stack or create the queue; check the queue prefix, --stack and --region"}
}

// ingressQueue examines a group's ingress queue; timeout is the router's.
func ingressQueue(r *report, queue queueAttributes, maxWait, timeout time.Duration, local bool) {
	set := func(attribute string, d time.Duration) string {
		return fmt.Sprintf("set its %s to %.0f", attribute, d.Seconds())
	}
	retention, want := queue.seconds(types.QueueAttributeNameMessageRetentionPeriod), time.Duration(config.IngressRetention)
	switch {
	case retention <= maxWait:
		r.bad(fmt.Sprintf("its ingress queue keeps messages for %v, max_wait is %v: they vanish before they are dead-lettered", retention, maxWait), set("MessageRetentionPeriod", want))
	case retention > want:
		r.bad(fmt.Sprintf("its ingress queue keeps messages for %v, more than the %v that Landfall reckons with", retention, want), set("MessageRetentionPeriod", want))
	}
	switch hidden := queue.seconds(types.QueueAttributeNameVisibilityTimeout); {
	case hidden < timeout:
		r.bad(fmt.Sprintf("its ingress queue hides a message for %v, the router runs for up to %v: two would handle it at once", hidden, timeout), set("VisibilityTimeout", timeout))
	case hidden < visibilityFactor*timeout && !local:
		r.warn(fmt.Sprintf("its ingress queue hides a message for %v, less than %d times the router's %v: under throttling it comes back too early", hidden, visibilityFactor, timeout), set("VisibilityTimeout", visibilityFactor*timeout))
	}
	if delay := queue.seconds(types.QueueAttributeNameDelaySeconds); delay > 0 {
		r.warn(fmt.Sprintf("its ingress queue delays every message by %v", delay), "set its DelaySeconds to 0")
	}
}

// redrive examines the way to the dead letters; dead is nil if it could not be read.
func redrive(r *report, ingress, dead queueAttributes, deadName string) {
	remedy := fmt.Sprintf("set its RedrivePolicy to %s, after %d receives", deadName, routing.DefaultMaxReceives)
	var policy struct {
		DeadLetterTargetArn string
		MaxReceiveCount     json.Number
	}
	if text := ingress.get(types.QueueAttributeNameRedrivePolicy); text == "" {
		r.bad("its ingress queue has no dead-letter queue: a message that fails again and again vanishes with its retention", remedy)
		return
	} else if err := json.Unmarshal([]byte(text), &policy); err != nil {
		r.bad("its ingress queue's redrive policy cannot be read", remedy)
		return
	}
	if to := policy.DeadLetterTargetArn; to[strings.LastIndexByte(to, ':')+1:] != deadName {
		r.bad("its ingress queue's dead letters go to "+to+", not to "+deadName, remedy)
	}
	if n, err := policy.MaxReceiveCount.Int64(); err != nil || n < routing.DefaultMaxReceives {
		r.bad(fmt.Sprintf("SQS moves a message to the dead letters after %s receives, without a reason; the router counts on %d", policy.MaxReceiveCount, routing.DefaultMaxReceives), remedy)
	}
	if dead == nil {
		return
	}
	// A message that SQS itself moves keeps its age.
	if has, want := dead.seconds(types.QueueAttributeNameMessageRetentionPeriod), ingress.seconds(types.QueueAttributeNameMessageRetentionPeriod); has < want {
		r.bad(fmt.Sprintf("its dead-letter queue keeps messages for %v, less than the ingress queue's %v: dead letters vanish", has, want), "set its MessageRetentionPeriod to 1209600, 14 days")
	}
	var allow struct{ RedrivePermission string }
	if text := dead.get(types.QueueAttributeNameRedriveAllowPolicy); text != "" && json.Unmarshal([]byte(text), &allow) == nil && allow.RedrivePermission == "denyAll" {
		r.bad("its dead-letter queue accepts no dead letters", "allow its ingress queue in its RedriveAllowPolicy")
	}
}
