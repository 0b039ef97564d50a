package devstack

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// discardLimit bounds the time for telling the queue for failures: the stack waits for it when it stops.
const discardLimit = 10 * time.Second

// discarded is the message to a destination for failures
// (https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-errors.html#dynamodb-on-failure-destination-example-sqs-sns).
type discarded struct {
	RequestContext  requestContext   `json:"requestContext"`
	ResponseContext *responseContext `json:"responseContext,omitempty"` // of the last invocation
	Version         string           `json:"version"`
	Timestamp       string           `json:"timestamp"`
	BatchInfo       batchInfo        `json:"DDBStreamBatchInfo"`
}

type requestContext struct {
	RequestID              string `json:"requestId"`
	FunctionARN            string `json:"functionArn"`
	Condition              string `json:"condition"` // RetryAttemptsExhausted or RecordAgeExceeded
	ApproximateInvokeCount int    `json:"approximateInvokeCount"`
}

type responseContext struct {
	StatusCode      int     `json:"statusCode"`
	ExecutedVersion string  `json:"executedVersion"`
	FunctionError   *string `json:"functionError"` // null if the function answered
}

type batchInfo struct {
	ShardID                         string `json:"shardId"`
	StartSequenceNumber             string `json:"startSequenceNumber"`
	EndSequenceNumber               string `json:"endSequenceNumber"`
	ApproximateArrivalOfFirstRecord string `json:"approximateArrivalOfFirstRecord"`
	ApproximateArrivalOfLastRecord  string `json:"approximateArrivalOfLastRecord"`
	BatchSize                       int    `json:"batchSize"`
	StreamARN                       string `json:"streamArn"`
}

// discard gives up records, and tells the queue for failures, if there is one, where they stand.
func (p *shardPart) discard(ctx context.Context, a attempt, condition string) {
	first, last := a.records[0], a.records[len(a.records)-1]
	p.stream.say("%d records discarded, %s: %s to %s of the shard %s", len(a.records), condition, first.sequence, last.sequence, p.shard)
	if p.stream.mapping.OnFailure == "" {
		return
	}
	d := discarded{
		RequestContext: requestContext{a.result.RequestID, fmt.Sprintf("arn:aws:lambda:%s:%s:function:%s", p.stream.region, Account, p.stream.mapping.Function), condition, a.invoked},
		Version:        "1.0",
		Timestamp:      time.Now().UTC().Format("2006-01-02T15:04:05.000Z"),
		BatchInfo: batchInfo{p.shard, first.sequence, last.sequence, first.at.UTC().Format(time.RFC3339),
			last.at.UTC().Format(time.RFC3339), len(a.records), p.stream.arn},
	}
	if a.invoked > 0 {
		d.ResponseContext = &responseContext{StatusCode: 200, ExecutedVersion: "$LATEST"}
		if a.result.FunctionError != "" {
			d.ResponseContext.FunctionError = &a.result.FunctionError
		}
	}
	ctx, cancel := context.WithTimeout(ctx, discardLimit)
	defer cancel()
	body := string(compact(d))
	if _, err := p.stream.mapping.Queues.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &p.stream.mapping.OnFailure, MessageBody: &body}); err != nil {
		p.stream.say("sending to the queue for failures failed: %v", err)
	}
}
