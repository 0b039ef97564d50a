package landfallcdk

import (
	"fmt"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"

	"github.com/landfall-dev/landfall/internal/config"
)

// groupAlarms are about a group's queues, which know more than who reads them.
func (b *builder) groupAlarms(group string, queues groupQueues) {
	b.raise(alarm{
		id: "DeadLetters-" + group, metric: visible(queues.dead), periods: 1, runbook: "dead-letters",
		meaning: fmt.Sprintf("Messages of group %s were given up: nobody accepted them.", group),
	})
	b.raise(alarm{
		id: "InFlight-" + group, above: float64(b.props.Thresholds.InFlight), periods: 1, runbook: "in-flight",
		metric: queues.ingress.MetricApproximateNumberOfMessagesNotVisible(most(time.Minute)),
		meaning: fmt.Sprintf("More than %d messages of group %s wait to be accepted; at %d its queue hands out no more.",
			b.props.Thresholds.InFlight, group, config.MaxInFlight),
	})
	b.raise(alarm{
		id: "NotRouted-" + group, metric: notReceived(queues.ingress), periods: 2, runbook: "not-routed",
		meaning: fmt.Sprintf("Messages of group %s wait, and nobody has received any for ten minutes.", group),
	})
}

// notReceived is 1 while messages wait in a queue that nobody receives any from: a router that does not run tells
// nothing by itself.
func notReceived(queue awssqs.Queue) awscloudwatch.IMetric {
	five := func(statistic string) *awscloudwatch.MetricOptions {
		return &awscloudwatch.MetricOptions{Period: period(5 * time.Minute), Statistic: jsii.String(statistic)}
	}
	return awscloudwatch.NewMathExpression(&awscloudwatch.MathExpressionProps{
		Expression: jsii.String("IF(waiting > 0 AND FILL(received, 0) < 1, 1, 0)"),
		Label:      jsii.String("messages wait, and none is received"),
		Period:     period(5 * time.Minute),
		UsingMetrics: &map[string]awscloudwatch.IMetric{
			"waiting":  queue.MetricApproximateNumberOfMessagesVisible(five("Minimum")),
			"received": queue.MetricNumberOfMessagesReceived(five("Sum")),
		},
	})
}

// streamAlarms are about the fast path. Rows are not lost without it, but late.
func (b *builder) streamAlarms() {
	b.raise(alarm{
		id: "IteratorAge", metric: b.made.Functions["stream"].Metric(jsii.String("IteratorAge"), most(time.Minute)),
		above: float64(b.props.Thresholds.IteratorAge.Milliseconds()), periods: 3, runbook: "iterator-age",
		meaning: fmt.Sprintf("The fast path is more than %v behind: new rows wait for the sweep.", config.Duration(b.props.Thresholds.IteratorAge)),
	})
	b.raise(alarm{
		id: "StreamFailed", metric: visible(b.failures), periods: 1, runbook: "stream-failures",
		meaning: "The fast path could not be given batches of new rows: they were left to the sweep.",
	})
}

func visible(queue awssqs.Queue) awscloudwatch.IMetric {
	return queue.MetricApproximateNumberOfMessagesVisible(most(5 * time.Minute))
}

func most(per time.Duration) *awscloudwatch.MetricOptions {
	return &awscloudwatch.MetricOptions{Period: period(per), Statistic: jsii.String("Maximum")}
}
