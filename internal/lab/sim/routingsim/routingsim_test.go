package routingsim_test

import (
	"testing"

	"github.com/landfall-dev/landfall/internal/lab/sim/routingsim"
	"github.com/landfall-dev/landfall/internal/lab/sim/stage"
	"github.com/landfall-dev/landfall/internal/lab/sim/stage/stagetest"
)

var play, quiet = stagetest.Play(routingsim.Play), stagetest.Play(routingsim.PlayQuiet)

// TestWorlds is the simulation: no world violates an invariant.
func TestWorlds(t *testing.T) {
	const deafAtTheEnd = 164820955194 // a routing function outlived its world
	play.Worlds(t, stagetest.Number{Fixed: 300, Fresh: 200, FixedSDK: 15, FreshSDK: 10}, deafAtTheEnd)
}

// TestSameSeedMakesTheSameTrace is what makes a seed worth printing.
func TestSameSeedMakesTheSameTrace(t *testing.T) { play.SameTraces(t, 60, 8) }

// TestEveryEventOfInterestHappens keeps the worlds from becoming too quiet to prove anything.
func TestEveryEventOfInterestHappens(t *testing.T) {
	play.Happens(t, 300,
		"a stale acceptance was refused", "accept", "accepted, and the consumer knows", "again", "asked by who remembers lapses",
		"assign", "dead-lettered again", "decline", "died", "extend", "given up by the queue", "given up: delivery_unknown",
		"given up: max_wait", "given up: nobody_left", "given up: oversize", "given up: receive_count",
		"handed out again though deleted", "handed out twice", "paused", "rerouted: declined", "rerouted: errored",
		"rerouted: lapsed", "rerouted: refused", "throttled",
		"in a group: a deployment", "in a group: copying", "in a group: a function that is none", "in a group: a function that nobody can read",
		"in a group: draining", "in a group: joining", "in a group: leaving", "in a group: no such group", "in a group: renewing",
		"in a group: renting", "in a group: spoiling", "in a group: staying", "in a group: the function as configured",
	)
}

// TestRerouteWaitsOnlyForTheQueue: where nothing goes wrong but that a consumer lets a message lapse, the first
// invocation that is given it past the deadline writes the next consumer.
func TestRerouteWaitsOnlyForTheQueue(t *testing.T) {
	happened := quiet.All(t, stage.Options{}, stagetest.From(1, 100)...)
	if n := happened["lapsed: not rerouted by the first invocation past the deadline"]; n > 0 || happened["rerouted: lapsed"] == 0 {
		t.Errorf("of %d lapses %d waited for another invocation", happened["rerouted: lapsed"], n)
	}
}
