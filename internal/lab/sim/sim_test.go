package sim_test

import (
	"testing"

	"github.com/landfall-dev/landfall/internal/lab/sim"
	"github.com/landfall-dev/landfall/internal/lab/sim/stage/stagetest"
)

var play = stagetest.Play(sim.Play)

// regressions are worlds in which something was wrong once; docs/simulation.md says what.
var regressions = []uint64{4494, 5186, 20278, 34285, 302718}

// TestWorlds is the simulation: every world keeps every invariant.
func TestWorlds(t *testing.T) {
	play.Worlds(t, stagetest.Number{Fixed: 300, Fresh: 200, FixedSDK: 15, FreshSDK: 10}, regressions...)
}

// TestSameSeedMakesSameTrace is what makes a seed worth printing.
func TestSameSeedMakesSameTrace(t *testing.T) { play.SameTraces(t, 40, 5) }

// TestWorldsReachEveryEventOfInterest keeps the worlds from becoming too quiet to prove anything.
func TestWorldsReachEveryEventOfInterest(t *testing.T) {
	play.Happens(t, 400,
		"claimed", "taken over", "a clock that is off stopped a run", "died", "paused", "recognised by the remote", "sent again though it may have arrived",
		"took effect a minute late", "pausing a destination", "limiting a destination", "spoiling the control of a destination",
		"a run left out a destination", "deleted by the time to live", "a foreign hand broke a row",
		"fast path made completed of dispatching", "fast path made pending of dispatching", "fast path made outcome_unknown of dispatching",
		"dispatcher made completed of dispatching", "dispatcher made pending of dispatching",
		"dispatcher made failed of dispatching", "dispatcher made outcome_unknown of dispatching",
		"dispatcher made failed of pending", "dispatcher made outcome_unknown of pending",
		"dispatcher made failed of invalid", "dispatcher made completed of outcome_unknown",
		"reconciler made completed of outcome_unknown", "reconciler made failed of outcome_unknown",
		"reconciler made pending of outcome_unknown", "reconciler made outcome_unknown of outcome_unknown",
		"operator made completed of outcome_unknown", "operator made failed of outcome_unknown",
		"operator made pending of outcome_unknown", "operator made pending of failed", "operator made failed of pending",
	)
}
