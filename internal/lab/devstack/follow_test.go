package devstack

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
)

// TestBatchThatAFollowerFailsOnIsRetried, and one that it handles does not come again.
func TestBatchThatAFollowerFailsOnIsRetried(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, faults.None, types.StreamViewTypeNewImage)
		b.put("a")
		ctx, stop := context.WithCancel(t.Context())
		var events []string
		ended := make(chan error)
		go func() {
			ended <- FollowStream(ctx, StreamMapping{
				Client: dynamodbstreams.NewFromConfig(b.account.Config("mapping")), Table: "outbox",
				StartingPosition: streamtypes.ShardIteratorTypeTrimHorizon, MaximumRetryAttempts: 1,
			}, func(_ context.Context, event []byte) error {
				if events = append(events, string(event)); len(events) == 1 {
					return errors.New("not now")
				}
				return nil
			})
		}()
		time.Sleep(time.Minute)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if len(events) != 2 || events[0] != events[1] {
			t.Errorf("called %d times with %q, want twice with the same", len(events), events)
		}
		if err := FollowStream(ctx, StreamMapping{}, nil); err == nil {
			t.Error("a mapping without a client is no error")
		}
	})
}
