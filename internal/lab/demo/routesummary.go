package demo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/routingdb"
)

// Routing is what became of the routed messages, in numbers of messages, unless it says otherwise.
type Routing struct {
	Messages int `json:"messages"`
	// Accepted by a consumer, FirstTry by the first one that it was given to.
	Accepted int `json:"accepted"`
	FirstTry int `json:"first_try"`
	// Rerouted messages moved on at least once; Declined counts declines, as the consumers saw them.
	Rerouted int `json:"rerouted"`
	Declined int `json:"declined"`
	// TooLate counts acceptances that came after the message had moved on, and were refused.
	TooLate      int `json:"too_late"`
	DeadLettered int `json:"dead_lettered"`
	// AcceptedTwice counts messages that two consumers accepted, as the consumers saw it.
	AcceptedTwice int `json:"accepted_twice"`
	// Lost messages were not accepted as far as any consumer knows, though their receipt says so, or are dead
	// without a dead letter; Open ones have not come to an end.
	Lost int `json:"lost"`
	Open int `json:"open"`
	// Reroutes that lapsed took from the deadline to the next consumer, in milliseconds.
	RerouteMedian float64 `json:"reroute_median_ms"`
	RerouteWorst  float64 `json:"reroute_worst_ms"`
	// By is how many messages each consumer accepted.
	By map[string]int `json:"by"`

	problems []string
}

// countRouting compares the receipts with what the consumers saw.
func (d *demo) countRouting(ctx context.Context, c *couriers, receipts *routingdb.Receipts, ids []routing.ID) (*Routing, error) {
	r := &Routing{Messages: len(ids), Declined: c.declined, TooLate: c.refused, By: map[string]int{}, problems: c.problems}
	dead := 0
	var lapsed []time.Duration
	for _, id := range ids {
		receipt, err := receipts.Get(ctx, id)
		if err != nil {
			return nil, fmt.Errorf("read the receipts: %w", err)
		}
		by, outcome := c.accepted[id.Message], receipt.Outcome()
		switch receipt.State {
		case routing.Accepted:
			r.Accepted++
			r.By[receipt.Consumer]++
			if !slices.Contains(by, receipt.Consumer) {
				r.Lost++
			}
		case routing.Dead:
			dead++
		default:
			r.Open++
		}
		if len(by) > 1 {
			r.AcceptedTwice++
		}
		if outcome.DeliveredFirstTry {
			r.FirstTry++
		}
		if len(outcome.Reroutes) > 0 {
			r.Rerouted++
		}
		for _, reroute := range outcome.Reroutes {
			if reroute.End == routing.EndLapsed {
				lapsed = append(lapsed, reroute.Written.Sub(reroute.Deadline))
			}
		}
	}
	// A message that is accepted was sent: its row must be completed.
	for _, kind := range []outbox.LaneKind{outbox.DueLane, outbox.FailedLane, outbox.UnknownLane} {
		lane := outbox.Lane{Kind: kind, Destination: courierJobs}
		if n, err := d.inLane(ctx, lane); err != nil {
			return nil, fmt.Errorf("read the rows back: %w", err)
		} else if n > 0 {
			r.problems = append(r.problems, fmt.Sprintf("rows in %s: %d", lane, n))
		}
	}
	letters, err := d.deadLetters(ctx)
	if err != nil {
		return nil, err
	}
	r.DeadLettered = letters
	r.Lost += max(0, dead-letters)
	r.RerouteMedian, r.RerouteWorst = spread(lapsed)
	r.judge()
	return r, nil
}

// judge adds to the problems what the counts say. Each message always has a courier left, so the plan allows no dead
// letters.
func (r *Routing) judge() {
	r.problems = append(r.problems, broken([]must{
		{"accepted twice", r.AcceptedTwice, true}, {"messages lost", r.Lost, true}, {"messages open", r.Open, true},
		{"dead letters", r.DeadLettered, true}, {"rerouted", r.Rerouted, false}, {"declined", r.Declined, false},
		{"acceptances that came too late", r.TooLate, false},
	})...)
}

func (d *demo) printRouting(r *Routing) {
	fmt.Fprintf(d.out, "\nthe %d messages were accepted by:\n", r.Messages)
	for _, name := range slices.Sorted(maps.Keys(r.By)) {
		fmt.Fprintf(d.out, "  %5d  %s\n", r.By[name], name)
	}
	fmt.Fprintf(d.out, "accepted on the first try %d, rerouted %d; declined %d times; late acceptances refused %d\n",
		r.FirstTry, r.Rerouted, r.Declined, r.TooLate)
	fmt.Fprintf(d.out, "from a missed deadline to the next courier: median %.0f ms, worst %.0f ms\n", r.RerouteMedian, r.RerouteWorst)
	fmt.Fprintf(d.out, "accepted twice %d, lost %d, still open %d, dead letters %d\n", r.AcceptedTwice, r.Lost, r.Open, r.DeadLettered)
}
