package main

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/landfall-dev/landfall/functions/internal/setup"
)

// handler translates between Lambda and the dispatcher.
type handler struct{ function *setup.Function }

// handle is one sweep. An error means that the controls could not be read, some lane not listed or some row not claimed:
// the invocation counts as failed, the next one finds the rest.
func (h *handler) handle(ctx context.Context, event json.RawMessage) (setup.Answer, error) {
	partition, err := setup.ParsePartition(event)
	if err != nil {
		return setup.Answer{}, err
	}
	dispatcher, observer, err := h.function.Dispatcher(ctx)
	if err != nil {
		return setup.Answer{}, err
	}
	dispatcher.Part, dispatcher.Of = partition.Part, partition.Of
	report, err := dispatcher.RunOnce(ctx)
	return setup.AnswerOf(report), errors.Join(err, observer.Flush())
}
