package main

import (
	"context"
	"encoding/json"

	"github.com/landfall-dev/landfall/functions/internal/setup"
	"github.com/landfall-dev/landfall/internal/outbox"
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
	h.warnOfStrangers(ctx, rows)
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

// warnOfStrangers says that rows were put which no sweep looks for. Nobody else would.
func (h *handler) warnOfStrangers(ctx context.Context, rows []outbox.Fresh) {
	var strangers []outbox.Fresh
	for _, row := range rows {
		if _, known := h.Config.Destinations[row.Destination]; !known {
			strangers = append(strangers, row)
		}
	}
	if len(strangers) > 0 {
		h.Logger.WarnContext(ctx, "rows are for no destination of the configuration: unless one is being deployed, nothing sends them",
			"rows", len(strangers), "row", strangers[0].ID)
	}
}
