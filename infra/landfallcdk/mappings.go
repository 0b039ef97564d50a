package landfallcdk

import (
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"
	"github.com/landfall-dev/landfall/internal/eventsource"
)

// Bounds that Lambda sets for event source mappings.
const (
	// messagesAtOnce is the largest batch of a queue without a batching window.
	messagesAtOnce = 10
	// batchesPerShard is how many batches of a shard run at once. Records of one key stay in order.
	batchesPerShard = 10
	// minRouteConcurrency and maxRouteConcurrency
	// (https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html).
	minRouteConcurrency, maxRouteConcurrency = 2, 1000
)

// mappings connect the table's stream with its function and the groups' ingress queues with theirs.
func (b *builder) mappings() {
	if b.stream() != nil {
		// The sweep sends the rows of a failed batch. The mapping only reports the failure.
		awslambda.NewCfnEventSourceMapping(b.scope, jsii.String("StreamMapping"), &awslambda.CfnEventSourceMappingProps{
			BatchSize:                  jsii.Number(eventsource.StreamBatch),
			BisectBatchOnFunctionError: jsii.Bool(true),
			DestinationConfig: &awslambda.CfnEventSourceMapping_DestinationConfigProperty{
				OnFailure: &awslambda.CfnEventSourceMapping_OnFailureProperty{Destination: b.failures.QueueArn()},
			},
			EventSourceArn: b.stream(),
			FilterCriteria: &awslambda.CfnEventSourceMapping_FilterCriteriaProperty{
				Filters: []any{&awslambda.CfnEventSourceMapping_FilterProperty{Pattern: jsii.String(eventsource.StreamFilter)}},
			},
			FunctionName:              b.made.Functions["stream"].FunctionName(),
			MaximumRecordAgeInSeconds: jsii.Number(eventsource.StreamRecordAge),
			MaximumRetryAttempts:      jsii.Number(eventsource.StreamRetries),
			ParallelizationFactor:     jsii.Number(batchesPerShard),
			StartingPosition:          jsii.String("TRIM_HORIZON"),
		})
	}
	for _, group := range b.config.GroupNames() {
		// Without the response type, Lambda would delete the messages that the function reports as failed.
		awslambda.NewCfnEventSourceMapping(b.scope, jsii.String("Route-"+group), &awslambda.CfnEventSourceMappingProps{
			BatchSize:             jsii.Number(messagesAtOnce),
			EventSourceArn:        b.queues[group].ingress.QueueArn(),
			FunctionName:          b.made.Functions["route"].FunctionName(),
			FunctionResponseTypes: jsii.Strings("ReportBatchItemFailures"),
			ScalingConfig: &awslambda.CfnEventSourceMapping_ScalingConfigProperty{
				MaximumConcurrency: jsii.Number(b.props.RouteConcurrency),
			},
		})
	}
}
