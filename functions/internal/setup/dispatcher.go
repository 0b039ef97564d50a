package setup

import (
	"context"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/landfall-dev/landfall/internal/observe"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// Dispatcher returns the dispatcher of one invocation, with the destinations that may be sent to now, and its observer,
// which the caller flushes. An error means that the control table cannot be read: then nothing may be sent.
func (f *Function) Dispatcher(ctx context.Context) (*outbox.Dispatcher, *observe.Observer, error) {
	destinations, err := f.Controls.Apply(ctx, f.Destinations)
	if err != nil {
		return nil, nil, err
	}
	requestID := ""
	if invocation, ok := lambdacontext.FromContext(ctx); ok {
		requestID = invocation.AwsRequestID
	}
	observer := f.Observer(requestID)
	return &outbox.Dispatcher{
		Store: f.Store, Destinations: destinations, Concurrency: f.Config.Concurrency, ClaimedBy: requestID, Observer: observer,
		Stalls: &f.stalls, Clock: f.Clock(observer),
	}, observer, nil
}

// Answer is the answer of an invocation of a dispatcher: how many rows ended how.
type Answer struct {
	Completed int `json:"completed"`
	Retried   int `json:"retried"`
	Failed    int `json:"failed"`
	Unknown   int `json:"unknown"`
	Unsettled int `json:"unsettled"`
	TakenOver int `json:"taken_over"`
}

// AnswerOf counts the rows of a report.
func AnswerOf(report outbox.Report) Answer {
	return Answer{
		Completed: len(report.Completed), Retried: len(report.Retried), Failed: len(report.Failed),
		Unknown: len(report.Unknown), Unsettled: len(report.Unsettled), TakenOver: len(report.TakenOver),
	}
}
