package devstack

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// A built function that cannot start: what it was to be told of is discarded, and said so.
func TestRecordsReachABuiltFunction(t *testing.T) {
	t.Parallel()
	d := newBed(t, nil, "NEW_IMAGE")
	b := setup(t, Function{Env: map[string]string{"INIT": "exit"}})
	m := StreamMapping{
		Function: "fn", Client: dynamodbstreams.NewFromConfig(d.account.Config("mapping")), Table: "outbox", StartingPosition: streamtypes.ShardIteratorTypeLatest,
		Filters: []string{`{"eventName":["INSERT"]}`}, OnFailure: d.queue(), Queues: d.queues,
	}
	other := m
	other.Function = "other"
	if err := b.MapStream(context.Background(), other); !errors.Is(err, ErrUnknownFunction) {
		t.Errorf("mapped to a function that is not there: %v", err)
	}
	if err := b.MapStream(context.Background(), m); err != nil {
		t.Fatal(err)
	}
	d.put("a")
	out, err := d.queues.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &m.OnFailure, WaitTimeSeconds: 20})
	if err != nil || len(out.Messages) != 1 {
		t.Fatalf("%v: nothing was told; log %q", err, b.log.lines())
	}
	if body := aws.ToString(out.Messages[0].Body); !strings.Contains(body, `"condition":"RetryAttemptsExhausted"`) || !strings.Contains(body, `"functionError":"Unhandled"`) {
		t.Errorf("told %s", body)
	}
	b.Stop(context.Background())
	if log := strings.Join(b.log.lines(), "\n"); !strings.Contains(log, "[fn] stream of outbox: 1 records discarded, RetryAttemptsExhausted: ") {
		t.Errorf("log says %s", log)
	}
	if err := b.MapStream(context.Background(), m); !errors.Is(err, ErrStopped) {
		t.Errorf("a stopped stack maps: %v", err)
	}
}
