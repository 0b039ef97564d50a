package observe

import (
	"math"
	"time"

	"github.com/landfall-dev/landfall/internal/outbox"
)

// totals is what happened to one destination in one invocation.
type totals struct {
	attempts, takenOver int
	ended               map[outbox.Status]int // "" for what could not be settled
	latency, wait       []float64             // ms
	lookups             []float64             // ms
	reconciled, resent  int
	held                int
	lanes               map[outbox.LaneKind]*laneTotals
}

// laneTotals is what was found in the lanes of one kind, over all shards.
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

// metrics lists the totals by the names in the package documentation.
func (t *totals) metrics() []metric {
	var list []metric
	counter := func(name string, n int) {
		if n > 0 {
			list = append(list, metric{name, count, []float64{float64(n)}})
		}
	}
	counter("Attempts", t.attempts)
	counter("Completed", t.ended[outbox.StatusCompleted])
	counter("Retried", t.ended[outbox.StatusPending])
	counter("Failed", t.ended[outbox.StatusFailed])
	counter("Unknown", t.ended[outbox.StatusOutcomeUnknown])
	counter("Unsettled", t.ended[""])
	counter("TakenOver", t.takenOver)
	list = append(list, metric{"Latency", milliseconds, t.latency}, metric{"Wait", milliseconds, t.wait})
	counter("Lookups", len(t.lookups))
	list = append(list, metric{"LookupTime", milliseconds, t.lookups})
	counter("Reconciled", t.reconciled)
	counter("Resent", t.resent)
	gauges := func(kind outbox.LaneKind, rows, age string) {
		if lane := t.lanes[kind]; lane != nil {
			list = append(list,
				metric{rows, count, []float64{float64(lane.rows)}},
				metric{age, seconds, []float64{inMilliseconds(lane.oldest) / 1000}})
		}
	}
	gauges(outbox.DueLane, "DueRows", "DueAge")
	gauges(outbox.UnknownLane, "UnknownRows", "UnknownAge")
	counter("HeldRows", t.held)
	return list
}

// inMilliseconds keeps microseconds. A time before another by a skewed clock is no time at all.
func inMilliseconds(d time.Duration) float64 {
	return math.Round(float64(max(d, 0))/float64(time.Microsecond)) / 1000
}
