package setup

import (
	"context"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/landfall-dev/landfall/internal/observe"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// Dispatcher is that of one invocation, with its observer; whoever calls it flushes the observer. It knows the
// destinations that may be sent to now. The error is that nobody knows which these are: then nothing may be sent.
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
		Stalls: &f.stalls,
	}, observer, nil
}

// Answer is what an invocation of a dispatcher says it did, in numbers of rows.
type Answer struct {
	Completed int `json:"completed"`
	Retried   int `json:"retried"`
	Failed    int `json:"failed"`
	Unknown   int `json:"unknown"`
	Unsettled int `json:"unsettled"`
	TakenOver int `json:"taken_over"`
}

// AnswerOf sums a report up.
func AnswerOf(report outbox.Report) Answer {
	return Answer{
		Completed: len(report.Completed), Retried: len(report.Retried), Failed: len(report.Failed),
		Unknown: len(report.Unknown), Unsettled: len(report.Unsettled), TakenOver: len(report.TakenOver),
	}
}
