package main

import (
	"context"
	"encoding/json"

	"github.com/landfall-dev/landfall/functions/internal/setup"
)

// handler translates between Lambda and the dispatcher.
type handler struct{ *setup.Function }

// handle delivers one batch. It never fails a batch for a row's sake: what it could not do stays in its lane, for the
// sweep, and a batch that is repeated would hold up those behind it.
func (h *handler) handle(ctx context.Context, event json.RawMessage) (setup.Answer, error) {
	rows, err := parseRecords(event)
	if err != nil {
		return setup.Answer{}, err
	}
	dispatcher, observer, err := h.Dispatcher(ctx)
	if err != nil {
		h.Logger.ErrorContext(ctx, "rows are left to the sweep", "error", err.Error())
		return setup.Answer{}, nil
	}
	report, err := dispatcher.Deliver(ctx, rows)
	if err != nil {
		h.Logger.ErrorContext(ctx, "rows are left to the sweep", "request_id", dispatcher.ClaimedBy, "error", err.Error())
	}
	return setup.AnswerOf(report), observer.Flush()
}
