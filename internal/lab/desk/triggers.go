package desk

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/landfall-dev/landfall/internal/eventsource"
	"github.com/landfall-dev/landfall/internal/lab/devstack"
	"github.com/landfall-dev/landfall/internal/schema"
)

// DefaultEvery is the schedules' rate on a desk; deployed, it is a minute.
const DefaultEvery = 5 * time.Second

// Begin starts what triggers the functions, until ctx ends: the schedules of dispatch and reconcile at that rate, the
// table's stream, the ingress queues.
func (d *Desk) Begin(ctx context.Context, every time.Duration) error {
	for _, function := range []string{"dispatch", "reconcile"} {
		err := d.Stack.Schedule(ctx, devstack.Schedule{Rule: FunctionCaller(function), Function: function, Every: every, MaxAge: time.Second})
		if err != nil {
			return err
		}
	}
	if err := d.mapStream(ctx); err != nil {
		return err
	}
	for _, group := range d.config.GroupNames() {
		url, err := d.QueueURL(ctx, schema.IngressQueue(d.Prefix, group))
		if err != nil {
			return err
		}
		err = d.Stack.MapQueue(ctx, devstack.QueueMapping{
			Function: "route", Client: d.SQS("lambda"), Queue: url, ReportBatchItemFailures: true,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *Desk) mapStream(ctx context.Context) error {
	failures, err := d.QueueURL(ctx, schema.StreamFailures(d.Prefix))
	if err != nil {
		return err
	}
	m := streamMapping()
	m.Function, m.Client, m.Table = "stream", dynamodbstreams.NewFromConfig(d.SDK("lambda")), d.OutboxTable()
	m.OnFailure, m.Queues = failures, d.SQS("lambda")
	return d.Stack.MapStream(ctx, m)
}

// streamMapping is the mapping that is deployed.
func streamMapping() devstack.StreamMapping {
	return devstack.StreamMapping{
		Filters:               []string{eventsource.StreamFilter},
		BatchSize:             eventsource.StreamBatch,
		StartingPosition:      streamtypes.ShardIteratorTypeTrimHorizon,
		ParallelizationFactor: devstack.MaxParallelizationFactor, BisectBatchOnFunctionError: true,
		MaximumRetryAttempts: eventsource.StreamRetries, MaximumRecordAge: eventsource.StreamRecordAge * time.Second,
	}
}
