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

// At most.
const alarmsPerDestination, alarmsPerGroup = 3, 3

// alarm is a condition, what it means, and where it is explained.
type alarm struct {
	id      string
	metric  awscloudwatch.IMetric
	above   float64 // or below, if least is set
	least   bool
	periods int
	// anyOf the periods must be above. Defaults to all of them.
	anyOf int
	// meaning is a sentence for who is woken by it.
	meaning string
	// runbook is the section of docs/operations.md.
	runbook string
	// silence is what no data means. Defaults to that all is well.
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

// tableAlarms are about what each table gets most of: the control table is read by every process all the time, and
// seldom written.
func (b *builder) tableAlarms() {
	raise := func(id string, metric awscloudwatch.IMetric, meaning string) {
		b.raise(alarm{id: id + "Throttled", metric: metric, periods: 1, runbook: "table-throttled", meaning: "DynamoDB throttled " + meaning})
	}
	raise("Table", b.throttledRows(), "writes to the outbox table or its index: the application's own transactions may be refused.")
	raise("Control", throttled("Read", b.Landfall.ControlTable, nil), "reads of the control table: nothing is sent where nobody knows whether it may be.")
	if len(b.config.Groups) > 0 {
		raise("Receipts", throttled("Write", b.Landfall.ReceiptsTable, nil), "writes to the table of receipts: messages wait to be routed, consumers to accept them.")
	}
}

// destinationAlarms leaves out what cannot be of a retired destination: it claims nothing, so its rows do not
// wait for anything. A row that is being sent is due still, so that time is allowed for, too.
func (b *builder) destinationAlarms(name string, d config.Destination) {
	if !d.Retired {
		age := b.Thresholds.DueAge + time.Duration(d.SendTimeout) + outbox.ClaimMargin
		b.raise(alarm{
			id: "DueAge-" + name, metric: b.destinationMetric(name, "DueAge", "Maximum", time.Minute),
			above: age.Seconds(), periods: 3, runbook: "due-age",
			meaning: fmt.Sprintf("A row for %s has wanted attention for more than %v.", name, config.Duration(age)),
		})
	}
	// The age is written only when the row is looked at, at least once an hour: an alarm on the last five minutes would
	// go off and be over in turn, for as long as the row is there. One value in 65 minutes keeps it.
	b.raise(alarm{
		id: "UnknownAge-" + name, metric: b.destinationMetric(name, "UnknownAge", "Maximum", 5*time.Minute),
		above: b.Thresholds.UnknownAge.Seconds(), periods: 13, anyOf: 1, runbook: "unknown-age",
		meaning: fmt.Sprintf("What became of a row for %s has been unknown for more than %v.", name, config.Duration(b.Thresholds.UnknownAge)),
	})
	b.raise(alarm{
		id: "FailedRows-" + name, metric: b.destinationMetric(name, "Failed", "Sum", 5*time.Minute),
		above: float64(b.Thresholds.Failed), periods: 1, runbook: "failed-rows",
		meaning: fmt.Sprintf("Rows for %s failed: more than %d within five minutes.", name, b.Thresholds.Failed),
	})
}

func (b *builder) functionAlarms(f function) {
	made := b.Functions[f.name]
	five := func(statistic string) *awscloudwatch.MetricOptions {
		return &awscloudwatch.MetricOptions{Period: period(5 * time.Minute), Statistic: jsii.String(statistic)}
	}
	b.raise(alarm{
		id: "FunctionErrors-" + f.name, metric: made.MetricErrors(five("Sum")),
		above: float64(b.Thresholds.Errors), periods: 1, runbook: "function-errors",
		meaning: fmt.Sprintf("More than %d runs of %s failed or timed out within five minutes.", b.Thresholds.Errors, f.name),
	})
	if f.parts > 0 {
		b.silentAlarm(f, made.MetricInvocations(five("Sum")))
	}
	b.raise(alarm{
		id: "FunctionThrottled-" + f.name, metric: made.MetricThrottles(five("Sum")), periods: 1, runbook: "function-throttled",
		meaning: fmt.Sprintf("Lambda refused to run %s: no concurrency was left.", f.name),
	})
}

func (b *builder) silentAlarm(f function, runs awscloudwatch.IMetric) {
	b.raise(alarm{
		id: "FunctionSilent-" + f.name, metric: runs,
		above: 1, least: true, periods: 1, runbook: "function-silent", silence: awscloudwatch.TreatMissingData_BREACHING,
		meaning: fmt.Sprintf("%s has not run for five minutes, though it is scheduled every minute.", f.name),
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
		AlarmDescription:   jsii.String(a.meaning + " What to do: " + b.Runbooks + "#" + a.runbook),
		ComparisonOperator: comparison,
		DatapointsToAlarm:  jsii.Number(cmp.Or(a.anyOf, a.periods)),
		EvaluationPeriods:  jsii.Number(a.periods),
		Metric:             a.metric,
		Threshold:          jsii.Number(a.above),
		TreatMissingData:   a.silence,
	})
	if b.AlarmTopic != nil {
		action := awscloudwatchactions.NewSnsAction(b.AlarmTopic)
		made.AddAlarmAction(action)
		made.AddOkAction(action)
	}
	b.Alarms = append(b.Alarms, made)
}

// destinationMetric is one of those in docs/metrics.md.
func (b *builder) destinationMetric(destination, name, statistic string, per time.Duration) awscloudwatch.IMetric {
	return awscloudwatch.NewMetric(&awscloudwatch.MetricProps{
		DimensionsMap: &map[string]*string{"Destination": jsii.String(destination)},
		MetricName:    jsii.String(name),
		Namespace:     jsii.String(b.namespace()),
		Period:        period(per),
		Statistic:     jsii.String(statistic),
	})
}

// throttledRows adds up the writes of the table and those of its index, which throttles the table's.
func (b *builder) throttledRows() awscloudwatch.IMetric {
	return awscloudwatch.NewMathExpression(&awscloudwatch.MathExpressionProps{
		Expression: jsii.String("FILL(table, 0) + FILL(index, 0)"),
		Label:      jsii.String("throttled writes"),
		Period:     period(5 * time.Minute),
		UsingMetrics: &map[string]awscloudwatch.IMetric{
			"table": throttled("Write", b.Landfall.OutboxTable, nil), "index": throttled("Write", b.Landfall.OutboxTable, jsii.String(schema.LaneIndex)),
		},
	})
}

// throttled counts the reads or writes that DynamoDB refused of a table, or of its index if that is not nil.
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
