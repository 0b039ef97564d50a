package landfallcdk

import (
	"cmp"
	"fmt"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatchactions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/jsii-runtime-go"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/schema"
)

// The most alarms that one of them has.
const alarmsPerDestination, alarmsPerGroup = 3, 3

// alarm is a condition, what it means, and where it is explained.
type alarm struct {
	id      string
	metric  awscloudwatch.IMetric
	above   float64 // or below, if least is set
	least   bool
	periods int
	// anyOf is how many of the periods must be above. Defaults to all of them.
	anyOf int
	// meaning is a sentence for the person who is woken by it.
	meaning string
	// runbook is the section of docs/operations.md.
	runbook string
	// silence says how missing data counts. Defaults to "all is well".
	silence awscloudwatch.TreatMissingData
}

func (b *builder) alarms() {
	for _, name := range b.config.Names() {
		b.destinationAlarms(name, b.config.Destinations[name])
	}
	for _, name := range b.config.GroupNames() {
		b.groupAlarms(name, b.queues[name])
	}
	for _, f := range b.functions {
		b.functionAlarms(f)
	}
	if b.stream() != nil {
		b.streamAlarms()
	}
	b.tableAlarms()
}

// tableAlarms watch what each table gets most of: every process reads the control table all the time, and few write it.
func (b *builder) tableAlarms() {
	raise := func(id string, metric awscloudwatch.IMetric, meaning string) {
		b.raise(alarm{id: id + "Throttled", metric: metric, periods: 1, runbook: "table-throttled", meaning: "DynamoDB throttled " + meaning})
	}
	raise("Table", b.throttledRows(), "writes to the outbox table or its index. It may refuse the application's own transactions, too.")
	raise("Control", throttled("Read", b.made.ControlTable, nil), "reads of the control table. Landfall sends nothing while it cannot read the controls.")
	if len(b.config.Groups) > 0 {
		raise("Receipts", throttled("Write", b.made.ReceiptsTable, nil), "writes to the receipts table. Messages wait to be routed, and consumers wait to accept them.")
	}
}

// destinationAlarms has no DueAge for a retired destination: it claims nothing, so its rows wait for nothing. A row
// that is being sent is still due, so the threshold allows for the time of a send.
func (b *builder) destinationAlarms(name string, d config.Destination) {
	if !d.Retired {
		age := b.props.Thresholds.DueAge + time.Duration(d.SendTimeout) + outbox.ClaimMargin
		b.raise(alarm{
			id: "DueAge-" + name, metric: b.destinationMetric(name, "DueAge", "Maximum", time.Minute),
			above: age.Seconds(), periods: 3, runbook: "due-age",
			meaning: fmt.Sprintf("A row for %s has been due for more than %v.", name, config.Duration(age)),
		})
	}
	// A run writes the age only when it looks at the row, at least once an hour. An alarm on the last five minutes would
	// flap for as long as the row is there. One value in 65 minutes keeps it on.
	b.raise(alarm{
		id: "UnknownAge-" + name, metric: b.destinationMetric(name, "UnknownAge", "Maximum", 5*time.Minute),
		above: b.props.Thresholds.UnknownAge.Seconds(), periods: 13, anyOf: 1, runbook: "unknown-age",
		meaning: fmt.Sprintf("The outcome of a row for %s has been unknown for more than %v.", name, config.Duration(b.props.Thresholds.UnknownAge)),
	})
	b.raise(alarm{
		id: "FailedRows-" + name, metric: b.destinationMetric(name, "Failed", "Sum", 5*time.Minute),
		above: float64(b.props.Thresholds.Failed), periods: 1, runbook: "failed-rows",
		meaning: failedRows(name, b.props.Thresholds.Failed),
	})
}

func failedRows(destination string, threshold int) string {
	if threshold == 0 {
		return fmt.Sprintf("Rows for %s failed within five minutes.", destination)
	}
	return fmt.Sprintf("More than %d rows for %s failed within five minutes.", threshold, destination)
}

func (b *builder) functionAlarms(f function) {
	made := b.made.Functions[f.name]
	five := func(statistic string) *awscloudwatch.MetricOptions {
		return &awscloudwatch.MetricOptions{Period: period(5 * time.Minute), Statistic: jsii.String(statistic)}
	}
	b.raise(alarm{
		id: "FunctionErrors-" + f.name, metric: made.MetricErrors(five("Sum")),
		above: float64(b.props.Thresholds.Errors), periods: 1, runbook: "function-errors",
		meaning: fmt.Sprintf("More than %d runs of %s failed or timed out within five minutes.", b.props.Thresholds.Errors, f.name),
	})
	if f.parts > 0 {
		b.silentAlarm(f, made.MetricInvocations(five("Sum")))
	}
	if f.name != "route" { // it compares no times of rows
		b.raise(alarm{
			id: "ClockOff-" + f.name, metric: b.metric("Function", f.name, "ClockOff", "Sum", 5*time.Minute), periods: 1, runbook: "clock-off",
			meaning: fmt.Sprintf("The clock of a process of %s is off by more than 2.5 s. It claims and asks nothing.", f.name),
		})
	}
	b.raise(alarm{
		id: "FunctionThrottled-" + f.name, metric: made.MetricThrottles(five("Sum")), periods: 1, runbook: "function-throttled",
		meaning: fmt.Sprintf("Lambda refused to run %s, because no concurrency was left.", f.name),
	})
}

func (b *builder) silentAlarm(f function, runs awscloudwatch.IMetric) {
	b.raise(alarm{
		id: "FunctionSilent-" + f.name, metric: runs,
		above: 1, least: true, periods: 1, runbook: "function-silent", silence: awscloudwatch.TreatMissingData_BREACHING,
		meaning: fmt.Sprintf("%s has not run for five minutes, although its schedule is every minute.", f.name),
	})
}

func (b *builder) raise(a alarm) {
	comparison := awscloudwatch.ComparisonOperator_GREATER_THAN_THRESHOLD
	if a.least {
		comparison = awscloudwatch.ComparisonOperator_LESS_THAN_THRESHOLD
	}
	if a.silence == "" {
		a.silence = awscloudwatch.TreatMissingData_NOT_BREACHING
	}
	made := awscloudwatch.NewAlarm(b.scope, jsii.String(a.id), &awscloudwatch.AlarmProps{
		AlarmDescription:   jsii.String(a.meaning + " What to do: " + b.props.Runbooks + "#" + a.runbook),
		ComparisonOperator: comparison,
		DatapointsToAlarm:  jsii.Number(cmp.Or(a.anyOf, a.periods)),
		EvaluationPeriods:  jsii.Number(a.periods),
		Metric:             a.metric,
		Threshold:          jsii.Number(a.above),
		TreatMissingData:   a.silence,
	})
	if b.props.AlarmTopic != nil {
		action := awscloudwatchactions.NewSnsAction(b.props.AlarmTopic)
		made.AddAlarmAction(action)
		made.AddOkAction(action)
	}
	b.made.Alarms = append(b.made.Alarms, made)
}

func (b *builder) destinationMetric(destination, name, statistic string, per time.Duration) awscloudwatch.IMetric {
	return b.metric("Destination", destination, name, statistic, per)
}

// metric is one of those in docs/metrics.md.
func (b *builder) metric(dimension, value, name, statistic string, per time.Duration) awscloudwatch.IMetric {
	return awscloudwatch.NewMetric(&awscloudwatch.MetricProps{
		DimensionsMap: &map[string]*string{dimension: jsii.String(value)},
		MetricName:    jsii.String(name),
		Namespace:     jsii.String(b.namespace()),
		Period:        period(per),
		Statistic:     jsii.String(statistic),
	})
}

// throttledRows adds up the refused writes of the table and of its index. A throttled index throttles its table.
func (b *builder) throttledRows() awscloudwatch.IMetric {
	return awscloudwatch.NewMathExpression(&awscloudwatch.MathExpressionProps{
		Expression: jsii.String("FILL(table, 0) + FILL(index, 0)"),
		Label:      jsii.String("throttled writes"),
		Period:     period(5 * time.Minute),
		UsingMetrics: &map[string]awscloudwatch.IMetric{
			"table": throttled("Write", b.made.OutboxTable, nil), "index": throttled("Write", b.made.OutboxTable, jsii.String(schema.LaneIndex)),
		},
	})
}

// throttled counts the reads or writes of a table that DynamoDB refused, or those of its index if that is not nil.
func throttled(what string, table awsdynamodb.ITable, index *string) awscloudwatch.IMetric {
	dimensions := map[string]*string{"TableName": table.TableName()}
	if index != nil {
		dimensions["GlobalSecondaryIndexName"] = index
	}
	return awscloudwatch.NewMetric(&awscloudwatch.MetricProps{
		DimensionsMap: &dimensions, MetricName: jsii.String(what + "ThrottleEvents"), Namespace: jsii.String("AWS/DynamoDB"),
		Period: period(5 * time.Minute), Statistic: jsii.String("Sum"),
	})
}

func period(d time.Duration) awscdk.Duration {
	return awscdk.Duration_Minutes(jsii.Number(d.Minutes()))
}
