package routingdb

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

// A clock that stands still while the process is frozen would make a load of long ago a new one.
func TestNoLoadIsTimedByAClockThatStandsStill(t *testing.T) {
	t.Parallel()
	q := NewQueues(mute{})
	if _, err := q.Load(t.Context(), "https://queue"); err == nil {
		t.Fatal("no error")
	}
	if at := q.known["https://queue"].at; at != at.Round(0) { // which takes the other clock's reading away
		t.Errorf("asked at %v", at)
	}
}
