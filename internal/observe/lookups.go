package observe

import (
	"cmp"
	"context"
	"errors"
	"log/slog"

	"github.com/landfall-dev/landfall/internal/outbox"
)

var _ outbox.ReconcileObserver = (*Observer)(nil)

// Looked counts and logs what became of a row of unknown outcome.
func (o *Observer) Looked(l outbox.Look) {
	o.add(l.ID.Destination, func(t *totals) { t.looked(l) })
	o.config.Logger.LogAttrs(context.Background(), lookLevel(l), "lookup", o.lookAttributes(l)...)
}

// lookLevel is INFO for a row that another process settled meanwhile: nothing is wrong with it.
func lookLevel(l outbox.Look) slog.Level {
	switch {
	case errors.Is(l.Err, outbox.ErrConflict), l.Status == outbox.StatusCompleted, l.Status == outbox.StatusPending:
		return slog.LevelInfo
	case l.Err != nil:
		return slog.LevelError
	default:
		return slog.LevelWarn
	}
}

// lookAttributes are all facts about a lookup that may be logged.
func (o *Observer) lookAttributes(l outbox.Look) []slog.Attr {
	destination := o.destination(l.ID.Destination)
	list := []slog.Attr{
		slog.String("row", destination+"/"+hashOf(l.ID)),
		slog.String("destination", destination),
		slog.Int("lookup", l.Lookups+1),
		slog.Bool("asked", l.Step == outbox.Ask),
	}
	if l.Step == outbox.Ask {
		list = append(list,
			slog.String("answer", l.Answer.Kind.String()),
			slog.Float64("latency_ms", inMilliseconds(l.Latency)))
		if l.Answer.Code != "" && l.Answer.Code != l.Code {
			list = append(list, slog.String("answer_code", l.Answer.Code))
		}
	}
	list = append(list, panicked(l.Panic)...)
	list = append(list,
		slog.String("status", cmp.Or(string(l.Status), "unsettled")),
		slog.Float64("age_s", inMilliseconds(l.Age)/1000))
	if l.Code != "" {
		list = append(list, slog.String("code", l.Code))
	}
	if l.Cause != "" && l.Cause != l.Answer.Code {
		list = append(list, slog.String("cause", l.Cause))
	}
	if trace := outbox.Traceparent(l.Trace); trace != "" {
		list = append(list, slog.String("trace", trace))
	}
	if l.Err != nil {
		list = append(list, slog.String("error", l.Err.Error()))
	}
	return list
}
