package routesqs

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

type mute struct{ QueuesClient }

func (mute) GetQueueAttributes(context.Context, *sqs.GetQueueAttributesInput, ...func(*sqs.Options)) (*sqs.GetQueueAttributesOutput, error) {
	return nil, errors.New("no answer")
}

// A monotonic clock stands still while the process is frozen: an old load would count as a new one.
func TestLoadIsTimedByTheWallClock(t *testing.T) {
	t.Parallel()
	q := NewQueues(mute{})
	if _, err := q.Load(t.Context(), "https://queue"); err == nil {
		t.Fatal("no error")
	}
	if at := q.loads["https://queue"].at; at != at.Round(0) { // which drops the monotonic reading
		t.Errorf("asked at %v", at)
	}
}
