package landfallcdk

import (
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/jsii-runtime-go"
)

// dashboard has a graph per question. Destinations are searched for, not listed, so that its size does not
// grow with their number.
func (b *builder) dashboard() {
	b.Dashboard = awscloudwatch.NewDashboard(b.scope, jsii.String("Dashboard"), &awscloudwatch.DashboardProps{
		Widgets: &[]*[]awscloudwatch.IWidget{
			{
				b.search("Landed", "Completed", "Sum"),
				b.search("Put off", "Retried", "Sum"),
				b.search("Failed", "Failed", "Sum"),
				b.search("Outcome unknown", "Unknown", "Sum"),
			}, {
				b.search("Oldest due row (s)", "DueAge", "Maximum"),
				b.search("Due rows", "DueRows", "Maximum"),
				b.search("Oldest unknown row (s)", "UnknownAge", "Maximum"),
				b.search("Unknown rows", "UnknownRows", "Maximum"),
			}, {
				b.search("Latency of sends, median (ms)", "Latency", "p50"),
				b.search("Latency of sends, p99 (ms)", "Latency", "p99"),
				b.search("From put to first claim, p99 (ms)", "Wait", "p99"),
				b.search("Sends", "Attempts", "Sum"),
			}, {
				b.search("Taken over", "TakenOver", "Sum"),
				b.search("Could not be settled", "Unsettled", "Sum"),
				b.search("Lookups", "Lookups", "Sum"),
				b.search("Reconciled", "Reconciled", "Sum"),
			}, b.functionGraphs(),
		},
	})
}

func (b *builder) functionGraphs() *[]awscloudwatch.IWidget {
	minute := &awscloudwatch.MetricOptions{Period: period(time.Minute)}
	var durations, errors, running []awscloudwatch.IMetric
	for _, f := range functions(b.config) {
		made, label := b.Functions[f.name], jsii.String(f.name)
		durations = append(durations, made.MetricDuration(&awscloudwatch.MetricOptions{
			Label: label, Period: period(time.Minute), Statistic: jsii.String("Maximum"),
		}))
		errors = append(errors, made.MetricErrors(minute).With(&awscloudwatch.MetricOptions{Label: label}))
		running = append(running, made.Metric(jsii.String("ConcurrentExecutions"), &awscloudwatch.MetricOptions{
			Label: label, Period: period(time.Minute), Statistic: jsii.String("Maximum"),
		}))
	}
	return &[]awscloudwatch.IWidget{
		graph("Duration of runs, longest (ms)", durations...), graph("Failed runs", errors...),
		graph("Runs at once", running...), graph("Throttled writes", b.throttledWrites()),
	}
}

// search is a graph of one metric of all destinations.
func (b *builder) search(title, name, statistic string) awscloudwatch.IWidget {
	names := []string{`"` + b.namespace() + `"`, "Destination"}
	return graph(title, awscloudwatch.NewSearchExpression(&awscloudwatch.SearchExpressionProps{
		Expression: jsii.String(fmt.Sprintf(`SEARCH('{%s} MetricName="%s"', '%s', 60)`, strings.Join(names, ","), name, statistic)),
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
