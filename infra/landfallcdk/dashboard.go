package landfallcdk

import (
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/jsii-runtime-go"
)

// dashboard has one graph for each question. It searches for destinations and groups instead of listing them, so that
// its size does not grow with their number.
func (b *builder) dashboard() {
	rows := []*[]awscloudwatch.IWidget{{
		b.rows("New rows, by first claim", "SampleCount", "Wait"),
		b.rows("Completed", "Sum", "Completed"),
		b.rows("Failed", "Sum", "Failed"),
		b.rows("Outcome unknown", "Sum", "Unknown"),
	}, {
		b.rows("Oldest due row (s)", "Maximum", "DueAge"),
		b.rows("Due rows", "Maximum", "DueRows"),
		b.rows("Oldest unknown row (s)", "Maximum", "UnknownAge"),
		b.rows("Unknown rows", "Maximum", "UnknownRows"),
	}, {
		b.rows("Latency of sends, median (ms)", "p50", "Latency"),
		b.rows("Latency of sends, p99 (ms)", "p99", "Latency"),
		b.rows("From put to first claim, p99 (ms)", "p99", "Wait"),
		b.rows("Sends", "Sum", "Attempts"),
	}, {
		b.rows("Put off", "Sum", "Retried"),
		b.rows("Taken over or unsettled", "Sum", "TakenOver", "Unsettled"),
		b.rows("Lookups", "Sum", "Lookups"),
		b.rows("Reconciled", "Sum", "Reconciled"),
	}}
	if len(b.config.Groups) > 0 {
		rows = append(rows, &[]awscloudwatch.IWidget{
			b.messages("Messages in", "Sum", "Messages"),
			b.messages("Routed", "Sum", "Forwards"),
			b.messages("Rerouted, by reason", "Sum", "Lapsed", "Declined", "Refused", "Errored"),
			b.messages("Dead-lettered", "Sum", "DeadLetters"),
		}, &[]awscloudwatch.IWidget{
			b.messages("Accepted", "Sum", "Accepted"),
			b.messages("Held", "Sum", "Held"),
			b.messages("Age at the end, p99 (ms)", "p99", "MessageAge"),
			b.messages("From an attempt's end to the next, p99 (ms)", "p99", "RerouteDelay"),
		})
	}
	rows = append(rows, b.functionGraphs())
	b.made.Dashboard = awscloudwatch.NewDashboard(b.scope, jsii.String("Dashboard"), &awscloudwatch.DashboardProps{Widgets: &rows})
}

func (b *builder) functionGraphs() *[]awscloudwatch.IWidget {
	minute := &awscloudwatch.MetricOptions{Period: period(time.Minute)}
	var durations, errors, running []awscloudwatch.IMetric
	for _, f := range b.functions {
		made, label := b.made.Functions[f.name], jsii.String(f.name)
		durations = append(durations, made.MetricDuration(&awscloudwatch.MetricOptions{
			Label: label, Period: period(time.Minute), Statistic: jsii.String("Maximum"),
		}))
		errors = append(errors, made.MetricErrors(minute).With(&awscloudwatch.MetricOptions{Label: label}))
		running = append(running, made.Metric(jsii.String("ConcurrentExecutions"), &awscloudwatch.MetricOptions{
			Label: label, Period: period(time.Minute), Statistic: jsii.String("Maximum"),
		}))
	}
	graphs := []awscloudwatch.IWidget{
		graph("Duration of runs, longest (ms)", durations...), graph("Failed runs", errors...),
		graph("Runs at once", running...),
		graph("Throttled by DynamoDB", b.throttledRows(), throttled("Write", b.made.ReceiptsTable, nil), throttled("Read", b.made.ControlTable, nil)),
	}
	if stream := b.made.Functions["stream"]; stream != nil {
		graphs = append(graphs, graph("Age of the fast path (ms)", stream.Metric(jsii.String("IteratorAge"), most(time.Minute))))
	}
	return &graphs
}

// rows is a graph of metrics of all destinations, messages a graph of metrics of all groups.
func (b *builder) rows(title, statistic string, names ...string) awscloudwatch.IWidget {
	return b.search("Destination", title, statistic, names)
}

func (b *builder) messages(title, statistic string, names ...string) awscloudwatch.IWidget {
	return b.search("Group", title, statistic, names)
}

func (b *builder) search(dimension, title, statistic string, names []string) awscloudwatch.IWidget {
	var metrics []string
	for _, name := range names {
		metrics = append(metrics, fmt.Sprintf(`MetricName="%s"`, name))
	}
	return graph(title, awscloudwatch.NewSearchExpression(&awscloudwatch.SearchExpressionProps{
		Expression: jsii.String(fmt.Sprintf(`SEARCH('{"%s",%s} (%s)', '%s', 60)`, b.namespace(), dimension, strings.Join(metrics, " OR "), statistic)),
		Label:      jsii.String(""),
		Period:     period(time.Minute),
	}))
}

func graph(title string, metrics ...awscloudwatch.IMetric) awscloudwatch.IWidget {
	return awscloudwatch.NewGraphWidget(&awscloudwatch.GraphWidgetProps{
		Title: jsii.String(title), Left: &metrics, Width: jsii.Number(6),
		LeftYAxis: &awscloudwatch.YAxisProps{Min: jsii.Number(0), ShowUnits: jsii.Bool(false)},
	})
}
