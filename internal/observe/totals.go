package observe

import (
	"math"
	"time"

	"github.com/landfall-dev/landfall/internal/outbox"
)

// totals sums up one invocation's events of one destination.
type totals struct {
	attempts, takenOver int
	ended               map[outbox.Status]int // "" for rows that could not be settled
	latency, wait       []float64             // ms
	lookups             []float64             // ms
	reconciled, resent  int
	held                int
	lanes               map[outbox.LaneKind]*laneTotals
}

// laneTotals sums up what was found in the lanes of one kind, over all shards.
type laneTotals struct {
	rows   int
	oldest time.Duration
}

func newTotals() *totals {
	return &totals{ended: make(map[outbox.Status]int), lanes: make(map[outbox.LaneKind]*laneTotals)}
}

func (t *totals) attempted(a outbox.Attempt) {
	t.ended[a.Status]++
	if a.Sent {
		t.attempts++
		t.latency = append(t.latency, inMilliseconds(a.Latency))
	}
	if a.TakenOver {
		t.takenOver++
	}
	if a.Number == 1 {
		t.wait = append(t.wait, inMilliseconds(a.Waited))
	}
}

func (t *totals) looked(l outbox.Look) {
	asked := l.Step == outbox.Ask
	if asked {
		t.lookups = append(t.lookups, inMilliseconds(l.Latency))
	}
	switch l.Status {
	case outbox.StatusPending:
		t.resent++
	case outbox.StatusCompleted, outbox.StatusFailed:
		t.ended[l.Status]++
	default:
		return
	}
	if asked {
		t.reconciled++
	}
}

func (t *totals) walked(w outbox.Walk) {
	lane := t.lanes[w.Lane.Kind]
	if lane == nil {
		lane = &laneTotals{}
		t.lanes[w.Lane.Kind] = lane
	}
	lane.rows += w.Due
	t.held += w.Held
	lane.oldest = max(lane.oldest, w.OldestDue)
}

// rowMetrics are the metrics of one destination, as docs/metrics.md has them.
var rowMetrics = []metricOf[totals]{
	{"Attempts", count, func(t *totals) []float64 { return counter(t.attempts) }},
	{"Completed", count, func(t *totals) []float64 { return counter(t.ended[outbox.StatusCompleted]) }},
	{"Retried", count, func(t *totals) []float64 { return counter(t.ended[outbox.StatusPending]) }},
	{"Failed", count, func(t *totals) []float64 { return counter(t.ended[outbox.StatusFailed]) }},
	{"Unknown", count, func(t *totals) []float64 { return counter(t.ended[outbox.StatusOutcomeUnknown]) }},
	{"Unsettled", count, func(t *totals) []float64 { return counter(t.ended[""]) }},
	{"TakenOver", count, func(t *totals) []float64 { return counter(t.takenOver) }},
	{"Latency", milliseconds, func(t *totals) []float64 { return t.latency }},
	{"Wait", milliseconds, func(t *totals) []float64 { return t.wait }},
	{"Lookups", count, func(t *totals) []float64 { return counter(len(t.lookups)) }},
	{"LookupTime", milliseconds, func(t *totals) []float64 { return t.lookups }},
	{"Reconciled", count, func(t *totals) []float64 { return counter(t.reconciled) }},
	{"Resent", count, func(t *totals) []float64 { return counter(t.resent) }},
	{"DueRows", count, func(t *totals) []float64 { return t.lanes[outbox.DueLane].count() }},
	{"DueAge", seconds, func(t *totals) []float64 { return t.lanes[outbox.DueLane].age() }},
	{"UnknownRows", count, func(t *totals) []float64 { return t.lanes[outbox.UnknownLane].count() }},
	{"UnknownAge", seconds, func(t *totals) []float64 { return t.lanes[outbox.UnknownLane].age() }},
	{"HeldRows", count, func(t *totals) []float64 { return counter(t.held) }},
}

// processTotals are an invocation's facts about its own process.
type processTotals struct{ clockOff int }

// processMetrics are the metrics of a process, as docs/metrics.md has them.
var processMetrics = []metricOf[processTotals]{
	{"ClockOff", count, func(t *processTotals) []float64 { return counter(t.clockOff) }},
}

// count is a gauge, which is written even when it is 0: an alarm then sees that the lane was walked.
func (l *laneTotals) count() []float64 {
	if l == nil {
		return nil
	}
	return []float64{float64(l.rows)}
}

func (l *laneTotals) age() []float64 {
	if l == nil {
		return nil
	}
	return []float64{inMilliseconds(l.oldest) / 1000}
}

// inMilliseconds keeps microseconds. A negative duration, of clocks that differ, counts as 0.
func inMilliseconds(d time.Duration) float64 {
	return math.Round(float64(max(d, 0))/float64(time.Microsecond)) / 1000
}
