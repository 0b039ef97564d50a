package observe

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/landfall-dev/landfall/internal/routing"
)

// Routed counts what happened to a message. It logs the message, unless that is a plain success outside the sample.
func (o *Observer) Routed(h routing.Handled) {
	o.mu.Lock()
	group := o.group(h.ID.Group)
	if o.routed[group] == nil {
		o.routed[group] = &routed{}
	}
	o.routed[group].add(h)
	o.mu.Unlock()
	if !delivered(h) || o.sampledMessage(h.ID) {
		o.config.Logger.LogAttrs(context.Background(), routedLevel(h), "routed", o.routedAttributes(h)...)
	}
}

func (o *Observer) group(name string) string {
	if slices.Contains(o.config.Groups, name) {
		return name
	}
	return other
}

// delivered reports whether a message is a plain success: it was forwarded to its first consumer, or that one accepted
// it.
func delivered(h routing.Handled) bool {
	r := h.Receipt
	return h.Err == nil && !h.GivenBack && !h.Extended && r.Attempt == 1 &&
		(r.State == routing.Accepted || r.State == routing.Pending && h.Forwards > 0 && !r.Again && r.Extensions == 0)
}

func (o *Observer) sampledMessage(id routing.ID) bool {
	hash := sha256.Sum256([]byte(id.String()))
	return inSample(binary.BigEndian.Uint64(hash[:]), o.config.LogSuccesses)
}

func routedLevel(h routing.Handled) slog.Level {
	switch troubleOf(h.Err) {
	case "", "no_consumer", "lease_lost":
	case "error":
		return slog.LevelError
	default:
		return slog.LevelWarn
	}
	if h.Receipt.State == routing.Dead || len(h.Reroutes) > 0 || h.Extended || h.GivenBack {
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

// troubleOf is the kind of an error, "" for no error.
func troubleOf(err error) string {
	var unknown *routing.UnknownConsumerSelectedError
	var evaluation *routing.EvaluationError
	var delivery *routing.ForwardError
	switch {
	case err == nil:
		return ""
	case errors.Is(err, routing.ErrNoConsumerAvailable):
		return "no_consumer"
	case errors.Is(err, routing.ErrLeaseLost):
		return "lease_lost"
	case errors.As(err, &unknown):
		return "unknown_consumer"
	case errors.As(err, &evaluation):
		return "evaluation"
	case errors.As(err, &delivery):
		return "delivery"
	}
	return "error"
}

// routedAttributes are all facts about a message that may be logged. A receipt holds a token, so it is never logged as a
// whole.
func (o *Observer) routedAttributes(h routing.Handled) []slog.Attr {
	r, outcome := h.Receipt, h.Receipt.Outcome()
	list := []slog.Attr{
		slog.String("group", o.group(h.ID.Group)),
		slog.String("message_id", h.ID.Message),
		slog.String("state", cmp.Or(string(r.State), "none")),
		slog.Int("attempt", r.Attempt),
		slog.Bool("kept", h.Kept),
		slog.Int("forwards", h.Forwards),
	}
	add := func(there bool, attr slog.Attr) {
		if there {
			list = append(list, attr)
		}
	}
	add(r.Consumer != "", slog.String("consumer", r.Consumer))
	add(r.State == routing.Accepted, slog.Bool("first_try", outcome.DeliveredFirstTry))
	add(len(outcome.ReroutedFrom) > 0, slog.Any("rerouted_from", outcome.ReroutedFrom))
	var moves []move
	for _, reroute := range h.Reroutes {
		moves = append(moves, move{reroute.From, reroute.To, reroute.End, inMilliseconds(rerouteDelay(reroute))})
	}
	add(len(moves) > 0, slog.Any("reroutes", moves))
	add(r.Reason != "", slog.String("reason", string(r.Reason)))
	add(h.Extended, slog.Bool("extended", true))
	add(r.Again, slog.Bool("again", true))
	add(h.GivenBack, slog.Bool("given_back", true))
	add(h.Held > 0, slog.Float64("held_s", h.Held.Seconds()))
	list = append(list, slog.Float64("age_s", inMilliseconds(h.Age)/1000))
	if h.Err != nil {
		list = append(list, slog.String("trouble", troubleOf(h.Err)), slog.String("error", h.Err.Error()))
	}
	return list
}

// move is a reroute of this invocation, as a log line has it.
type move struct {
	From  string      `json:"from"`
	To    string      `json:"to"`
	End   routing.End `json:"end"`
	Delay float64     `json:"delay_ms"`
}

// rerouteDelay is the time from the end of an attempt to the write of the next one. A lapsed attempt ended at its
// deadline, however late that was noticed; any other attempt ended when it was noticed.
func rerouteDelay(r routing.Reroute) time.Duration {
	if r.End == routing.EndLapsed {
		return r.Written.Sub(r.Deadline)
	}
	return r.Written.Sub(r.Seen)
}

// routed sums up one invocation's messages of one group.
type routed struct {
	messages, forwards, extended, givenBack, held int
	accepted, firstTry, deadLetters               int
	reroutes                                      map[routing.End]int
	troubles                                      map[string]int
	delays, ages                                  []float64 // ms
}

func (t *routed) add(h routing.Handled) {
	if t.reroutes == nil {
		t.reroutes, t.troubles = map[routing.End]int{}, map[string]int{}
	}
	r := h.Receipt
	one := func(happened bool, n *int) {
		if happened {
			*n++
		}
	}
	t.messages++
	t.forwards += h.Forwards
	one(h.Extended, &t.extended)
	one(h.GivenBack, &t.givenBack)
	one(h.Kept && !h.GivenBack && h.Forwards == 0, &t.held)
	one(r.State == routing.Accepted, &t.accepted)
	one(r.State == routing.Accepted && r.Attempt == 1, &t.firstTry)
	one(r.State == routing.Dead && !h.Kept, &t.deadLetters)
	for _, reroute := range h.Reroutes {
		t.reroutes[reroute.End]++
		t.delays = append(t.delays, inMilliseconds(rerouteDelay(reroute)))
	}
	if trouble := troubleOf(h.Err); trouble != "" {
		t.troubles[trouble]++
	}
	if !h.Kept {
		t.ages = append(t.ages, inMilliseconds(h.Age))
	}
}

// messageMetrics are the metrics of one group, as docs/metrics.md has them.
var messageMetrics = []metricOf[routed]{
	{"Messages", count, func(t *routed) []float64 { return counter(t.messages) }},
	{"Forwards", count, func(t *routed) []float64 { return counter(t.forwards) }},
	{"Accepted", count, func(t *routed) []float64 { return counter(t.accepted) }},
	{"AcceptedFirstTry", count, func(t *routed) []float64 { return counter(t.firstTry) }},
	{"Lapsed", count, func(t *routed) []float64 { return counter(t.reroutes[routing.EndLapsed]) }},
	{"Declined", count, func(t *routed) []float64 { return counter(t.reroutes[routing.EndDeclined]) }},
	{"Refused", count, func(t *routed) []float64 { return counter(t.reroutes[routing.EndRefused]) }},
	{"Errored", count, func(t *routed) []float64 { return counter(t.reroutes[routing.EndErrored]) }},
	{"RerouteDelay", milliseconds, func(t *routed) []float64 { return t.delays }},
	{"Extended", count, func(t *routed) []float64 { return counter(t.extended) }},
	{"Held", count, func(t *routed) []float64 { return counter(t.held) }},
	{"GivenBack", count, func(t *routed) []float64 { return counter(t.givenBack) }},
	{"DeadLetters", count, func(t *routed) []float64 { return counter(t.deadLetters) }},
	{"MessageAge", milliseconds, func(t *routed) []float64 { return t.ages }},
	{"NoConsumer", count, func(t *routed) []float64 { return counter(t.troubles["no_consumer"]) }},
	{"UnknownConsumer", count, func(t *routed) []float64 { return counter(t.troubles["unknown_consumer"]) }},
	{"EvaluationFailed", count, func(t *routed) []float64 { return counter(t.troubles["evaluation"]) }},
	{"DeliveryFailed", count, func(t *routed) []float64 { return counter(t.troubles["delivery"]) }},
	{"LeaseLost", count, func(t *routed) []float64 { return counter(t.troubles["lease_lost"]) }},
	{"Errors", count, func(t *routed) []float64 { return counter(t.troubles["error"]) }},
}
