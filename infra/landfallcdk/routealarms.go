package landfallcdk

import (
	"fmt"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"

	"github.com/landfall-dev/landfall/internal/config"
)

// groupAlarms watch a group's queues: they show a router that does not run, which writes no metrics itself.
func (b *builder) groupAlarms(group string, queues groupQueues) {
	b.raise(alarm{
		id: "DeadLetters-" + group, metric: visible(queues.dead), periods: 1, runbook: "dead-letters",
		meaning: fmt.Sprintf("The router gave up messages of group %s.", group),
	})
	b.raise(alarm{
		id: "InFlight-" + group, above: float64(b.props.Thresholds.InFlight), periods: 1, runbook: "in-flight",
		metric: queues.ingress.MetricApproximateNumberOfMessagesNotVisible(most(time.Minute)),
		meaning: fmt.Sprintf("More than %d messages of group %s wait to be accepted. At %d, SQS hands out no more.",
			b.props.Thresholds.InFlight, group, config.MaxInFlight),
	})
	b.raise(alarm{
		id: "NotRouted-" + group, metric: notReceived(queues.ingress), periods: 2, runbook: "not-routed",
		meaning: fmt.Sprintf("Messages of group %s wait, and the router has received none for ten minutes.", group),
	})
}

// notReceived is 1 while messages wait in a queue and none is received. A router that does not run cannot report that
// itself.
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

// streamAlarms watch the fast path. Without it, rows are late but not lost.
func (b *builder) streamAlarms() {
	b.raise(alarm{
		id: "IteratorAge", metric: b.made.Functions["stream"].Metric(jsii.String("IteratorAge"), most(time.Minute)),
		above: float64(b.props.Thresholds.IteratorAge.Milliseconds()), periods: 3, runbook: "iterator-age",
		meaning: fmt.Sprintf("The fast path is more than %v behind. New rows wait for the sweep.", config.Duration(b.props.Thresholds.IteratorAge)),
	})
	b.raise(alarm{
		id: "StreamFailed", metric: visible(b.failures), periods: 1, runbook: "stream-failures",
		meaning: "Batches of new rows could not be handed to the fast path. The sweep sends them.",
	})
}

func visible(queue awssqs.Queue) awscloudwatch.IMetric {
	return queue.MetricApproximateNumberOfMessagesVisible(most(5 * time.Minute))
}

func most(per time.Duration) *awscloudwatch.MetricOptions {
	return &awscloudwatch.MetricOptions{Period: period(per), Statistic: jsii.String("Maximum")}
}
