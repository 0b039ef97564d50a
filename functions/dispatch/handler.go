package main

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/landfall-dev/landfall/functions/internal/setup"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// handler translates between Lambda and the dispatcher.
type handler struct{ *setup.Function }

// answer is what an invocation says it did, in numbers of rows.
type answer struct {
	Completed int `json:"completed"`
	Retried   int `json:"retried"`
	Failed    int `json:"failed"`
	Unknown   int `json:"unknown"`
	Unsettled int `json:"unsettled"`
	TakenOver int `json:"taken_over"`
}

// handle is one sweep. An error means that some lane could not be listed or some row not claimed: the
// invocation counts as failed, the next one finds the rest.
func (h *handler) handle(ctx context.Context, event json.RawMessage) (answer, error) {
	share, err := setup.ParseShare(event)
	if err != nil {
		return answer{}, err
	}
	requestID := ""
	if invocation, ok := lambdacontext.FromContext(ctx); ok {
		requestID = invocation.AwsRequestID
	}
	observer := h.Observer(requestID)
	dispatcher := outbox.Dispatcher{
		Store: h.Store, Destinations: h.Destinations, Concurrency: h.Config.Concurrency,
		ClaimedBy: requestID, Observer: observer, Part: share.Part, Of: share.Of,
	}
	report, err := dispatcher.RunOnce(ctx)
	return answer{
		Completed: len(report.Completed), Retried: len(report.Retried), Failed: len(report.Failed),
		Unknown: len(report.Unknown), Unsettled: len(report.Unsettled), TakenOver: len(report.TakenOver),
	}, errors.Join(err, observer.Flush())
}
