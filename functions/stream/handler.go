package main

import (
	"context"
	"encoding/json"

	"github.com/landfall-dev/landfall/functions/internal/setup"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// handler translates between Lambda and the dispatcher.
type handler struct{ function *setup.Function }

// handle runs the fast path over one batch. It never fails a batch because of a row: a row that it could not send stays
// in its lane, for the sweep, and a batch that is repeated would hold up the batches behind it.
func (h *handler) handle(ctx context.Context, event json.RawMessage) (setup.Answer, error) {
	rows, err := parseRecords(event)
	if err != nil {
		return setup.Answer{}, err
	}
	h.warnOfStrays(ctx, rows)
	dispatcher, observer, err := h.function.Dispatcher(ctx)
	if err != nil {
		h.function.Logger.ErrorContext(ctx, "rows are left to the sweep", "error", err.Error())
		return setup.Answer{}, nil
	}
	fresh := make([]outbox.Fresh, len(rows))
	for i, row := range rows {
		fresh[i] = row.fresh
	}
	report, err := dispatcher.RunFastPath(ctx, fresh)
	if err != nil {
		h.function.Logger.ErrorContext(ctx, "rows are left to the sweep", "request_id", dispatcher.ClaimedBy, "error", err.Error())
	}
	return setup.AnswerOf(report), observer.Flush()
}

// warnOfStrays warns of rows that were put where no sweep looks. Nothing else warns of them: such a row waits for ever
// unless the fast path sends it.
func (h *handler) warnOfStrays(ctx context.Context, rows []newRow) {
	var strays []newRow
	for _, row := range rows {
		to, known := h.function.Config.Destinations[row.fresh.Destination]
		if lane, err := outbox.ParseLane(row.lane); !known || err == nil && lane.Shard >= to.Shards {
			strays = append(strays, row)
		}
	}
	if len(strays) > 0 {
		h.function.Logger.WarnContext(ctx, "rows were put for a destination or a lane that the configuration does not have: "+
			"no sweep finds them; add the destination or raise its shards", "rows", len(strays), "row", strays[0].fresh.ID)
	}
}
