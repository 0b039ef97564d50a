package observe

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/landfall-dev/landfall/internal/bounded"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// DefaultNamespace is the CloudWatch namespace of the metrics.
const DefaultNamespace = "Landfall"

// other stands for every destination or group that is not configured. A name that a row brings along must reach neither
// metrics, which cost money, nor log lines, where it could leak a key.
const other = "other"

// Config says where an Observer writes, and what.
type Config struct {
	// Function is the name of the function, for metrics about its process. Defaults to "other".
	Function string

	// Destinations are the names that may appear; any other destination appears as "other".
	Destinations []string

	// Groups are the names of groups that may appear; any other group appears as "other".
	Groups []string

	// LogSuccesses is the sample of plain successes that are logged, from 0 (none) to 1 (all). A row or message is always
	// in the sample or never, whatever the invocation.
	LogSuccesses float64

	// Logger gets the lines about attempts, lookups and messages. Defaults to none.
	Logger *slog.Logger

	// Metrics gets the metrics: on Lambda, standard output. Defaults to io.Discard.
	Metrics io.Writer

	// Namespace of the metrics. Defaults to DefaultNamespace.
	Namespace string

	// RequestID of the invocation, in every line. Optional.
	RequestID string
}

// Observer is an [outbox.Observer] for one invocation. Its methods may be called at the same time.
type Observer struct {
	config Config
	known  map[string]bool

	mu     sync.Mutex
	totals map[string]*totals // by destination
	routed map[string]*routed // by group
	own    processTotals
}

var _ outbox.Observer = (*Observer)(nil)

// New returns an Observer. The caller flushes it at the end of the invocation.
func New(c Config) *Observer {
	c.Namespace, c.Function = cmp.Or(c.Namespace, DefaultNamespace), cmp.Or(c.Function, other)
	if c.Metrics == nil {
		c.Metrics = io.Discard
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.RequestID != "" {
		c.Logger = c.Logger.With(requestID, c.RequestID)
	}
	o := &Observer{config: c, known: make(map[string]bool), totals: make(map[string]*totals), routed: make(map[string]*routed)}
	for _, name := range c.Destinations {
		o.known[name] = true
	}
	return o
}

// Attempted counts an attempt. It logs the attempt, unless that is a plain success outside the sample.
func (o *Observer) Attempted(a outbox.Attempt) {
	o.add(a.ID.Destination, func(t *totals) { t.attempted(a) })
	if !plain(a) || sampled(a.ID, o.config.LogSuccesses) {
		o.config.Logger.LogAttrs(context.Background(), level(a), "attempt", o.attributes(a)...)
	}
}

// Walked counts what was found in a lane.
func (o *Observer) Walked(w outbox.Walk) {
	o.add(w.Lane.Destination, func(t *totals) { t.walked(w) })
}

// ClockOff counts and logs, once until the next Flush, that the process's clock is off and the invocation therefore does
// nothing more. err says by how much.
func (o *Observer) ClockOff(err error) {
	o.mu.Lock()
	first := o.own.clockOff == 0
	o.own.clockOff = 1
	o.mu.Unlock()
	if first {
		o.config.Logger.Error("the clock is off", "error", err.Error())
	}
}

func (o *Observer) add(destination string, to func(*totals)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	name := o.destination(destination)
	if o.totals[name] == nil {
		o.totals[name] = newTotals()
	}
	to(o.totals[name])
}

func (o *Observer) destination(name string) string {
	if o.known[name] {
		return name
	}
	return other
}

// Flush writes the metrics of everything that happened since the last Flush, in one Write: one line per destination, per
// group and for the process itself, or more if the measured times do not fit into one.
func (o *Observer) Flush() error {
	o.mu.Lock()
	happened, messages, own := o.totals, o.routed, o.own
	o.totals, o.routed, o.own = make(map[string]*totals), make(map[string]*routed), processTotals{}
	o.mu.Unlock()

	var out bytes.Buffer
	for _, destination := range slices.Sorted(maps.Keys(happened)) {
		if err := o.write(&out, "Destination", destination, measured(rowMetrics, happened[destination])); err != nil {
			return err
		}
	}
	for _, group := range slices.Sorted(maps.Keys(messages)) {
		if err := o.write(&out, "Group", group, measured(messageMetrics, messages[group])); err != nil {
			return err
		}
	}
	if err := o.write(&out, "Function", o.config.Function, measured(processMetrics, &own)); err != nil {
		return err
	}
	if out.Len() == 0 {
		return nil
	}
	if _, err := o.config.Metrics.Write(out.Bytes()); err != nil {
		return fmt.Errorf("write metrics: %w", err)
	}
	return nil
}

// write writes the metrics of one value of a dimension.
func (o *Observer) write(out *bytes.Buffer, dimension, value string, metrics []metric) error {
	d := document{
		namespace:  o.config.Namespace,
		timestamp:  time.Now().UnixMilli(),
		dimensions: []string{dimension},
		members:    map[string]string{dimension: value},
	}
	if o.config.RequestID != "" {
		d.members[requestID] = o.config.RequestID
	}
	lines, err := d.lines(metrics)
	if err != nil {
		return err
	}
	out.Write(lines)
	return nil
}

// plain reports whether an attempt is a plain success: it completed the row at once.
func plain(a outbox.Attempt) bool {
	return a.Status == outbox.StatusCompleted && a.Number == 1 && !a.TakenOver && a.Err == nil
}

// sampled picks rows by the hash in their names, which is spread evenly.
func sampled(id outbox.ID, rate float64) bool {
	hash, err := strconv.ParseUint(hashOf(id), 16, 64)
	return rate >= 1 || err == nil && inSample(hash, rate)
}

// inSample reports whether a hash is in a sample of that rate, 0 to 1.
func inSample(hash uint64, rate float64) bool { return rate >= 1 || float64(hash) < rate*(1<<63)*2 }

// hashOf returns the part of a row's name that is a hash.
func hashOf(id outbox.ID) string {
	name := id.String()
	return name[strings.LastIndexByte(name, '/')+1:]
}

func level(a outbox.Attempt) slog.Level {
	switch {
	case a.Err != nil:
		return slog.LevelError
	case a.Status == outbox.StatusFailed, a.Status == outbox.StatusOutcomeUnknown, a.TakenOver:
		return slog.LevelWarn
	default:
		return slog.LevelInfo
	}
}

// panicked says of what type a panic's value was and where it happened, never the value.
func panicked(p *bounded.Panic) []slog.Attr {
	if p == nil {
		return nil
	}
	return []slog.Attr{slog.String("panic", p.Type), slog.Any("stack", p.Stack)}
}

// attributes are all facts about an attempt that may be logged.
func (o *Observer) attributes(a outbox.Attempt) []slog.Attr {
	destination := o.destination(a.ID.Destination)
	list := []slog.Attr{
		slog.String("row", destination+"/"+hashOf(a.ID)),
		slog.String("destination", destination),
		slog.Int("attempt", a.Number),
		slog.Bool("sent", a.Sent && !a.Outcome.Unsent),
	}
	if a.Sent {
		list = append(list,
			slog.String("outcome", a.Outcome.Kind.String()),
			slog.Float64("latency_ms", inMilliseconds(a.Latency)))
		if a.Outcome.Code != "" && a.Outcome.Code != a.Code {
			list = append(list, slog.String("outcome_code", a.Outcome.Code))
		}
	}
	list = append(list, panicked(a.Panic)...)
	list = append(list, slog.String("status", cmp.Or(string(a.Status), "unsettled")))
	if a.Code != "" {
		list = append(list, slog.String("code", a.Code))
	}
	if a.Cause != "" && a.Cause != a.Outcome.Code {
		list = append(list, slog.String("cause", a.Cause))
	}
	if a.TakenOver {
		list = append(list, slog.Bool("taken_over", true))
	}
	if a.Number > 0 {
		list = append(list, slog.Float64("waited_ms", inMilliseconds(a.Waited)))
	}
	if trace := outbox.Traceparent(a.Trace); trace != "" {
		list = append(list, slog.String("trace", trace))
	}
	if a.Err != nil {
		list = append(list, slog.String("error", a.Err.Error()))
	}
	return list
}
