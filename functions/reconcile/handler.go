package main

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/landfall-dev/landfall/functions/internal/setup"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// handler translates between Lambda and the reconciler.
type handler struct{ function *setup.Function }

// answer is what an invocation says it did, in numbers of rows.
type answer struct {
	Completed     int `json:"completed"`
	Failed        int `json:"failed"`
	Resent        int `json:"resent"`
	Unresolved    int `json:"unresolved"`
	WithoutLookup int `json:"without_lookup"`
	Skipped       int `json:"skipped"`
}

// handle is one run. An error means that some lane could not be listed or some row not read or settled: the
// invocation counts as failed, the next one finds the rest.
func (h *handler) handle(ctx context.Context, event json.RawMessage) (answer, error) {
	partition, err := setup.ParsePartition(event)
	if err != nil {
		return answer{}, err
	}
	requestID := ""
	if invocation, ok := lambdacontext.FromContext(ctx); ok {
		requestID = invocation.AwsRequestID
	}
	observer := h.function.Observer(requestID)
	reconciler := outbox.Reconciler{
		Store: h.function.Store, Destinations: h.function.Destinations, Concurrency: h.function.Config.Concurrency,
		Observer: observer, Clock: h.function.Clock(observer), Part: partition.Part, Of: partition.Of,
	}
	report, err := reconciler.RunOnce(ctx)
	return answer{
		Completed: len(report.Completed), Failed: len(report.Failed), Resent: len(report.Resent),
		Unresolved: len(report.Unresolved), WithoutLookup: len(report.WithoutLookup), Skipped: len(report.Skipped),
	}, errors.Join(err, observer.Flush())
}
