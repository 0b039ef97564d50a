package sim_test

import (
	"flag"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/landfall-dev/landfall/internal/sim"
)

var (
	seeds   = flag.Uint64("seeds", 0, "how many worlds to play, from -seed on; 0: a few fixed ones and a few fresh ones")
	seed    = flag.Uint64("seed", 1, "the first seed")
	sdk     = flag.Bool("sdk", false, "play them through the SDK")
	verbose = flag.Bool("v", false, "print what happens in each world")
)

// regressions are worlds in which something was wrong once; docs/simulation.md says what.
var regressions = []uint64{5186, 20278, 34285, 302718}

func play(t *testing.T, seed uint64, o sim.Options) (result sim.Result) {
	t.Helper()
	synctest.Test(t, func(*testing.T) { result = sim.Play(seed, o) })
	return result
}

// playAll plays worlds until one is violated.
func playAll(t *testing.T, o sim.Options, seeds ...uint64) {
	t.Helper()
	begun, events, happened := time.Now(), 0, map[string]int{}
	for i, s := range seeds {
		o.Violated = func(v sim.Violation) { t.Errorf("seed %d: %v", s, v) }
		result := play(t, s, o)
		events += result.Events
		for what, n := range result.Happened {
			happened[what] += n
		}
		for _, line := range result.Trace {
			t.Log(line)
		}
		if t.Failed() {
			t.Logf("played %d of %d worlds", i+1, len(seeds))
			return
		}
	}
	t.Logf("%d worlds, %d events, %v", len(seeds), events, time.Since(begun).Round(time.Millisecond))
	for _, what := range slices.Sorted(maps.Keys(happened)) {
		t.Logf("%8d  %s", happened[what], what)
	}
}

func from(first, n uint64) (all []uint64) {
	for s := first; s < first+n; s++ {
		all = append(all, s)
	}
	return all
}

// TestWorlds is the simulation: no world violates an invariant.
func TestWorlds(t *testing.T) {
	if *seeds > 0 {
		const readable = 10
		trace := *verbose || testing.Verbose() && *seeds <= readable
		playAll(t, sim.Options{SDK: *sdk, Trace: trace}, from(*seed, *seeds)...)
		return
	}
	fresh := rand.Uint64N(1 << 40)
	for name, worlds := range map[string]struct {
		options sim.Options
		seeds   []uint64
	}{
		"at the ports, fixed":    {sim.Options{}, append(from(1, 300), regressions...)},
		"at the ports, fresh":    {sim.Options{}, from(fresh, 200)},
		"through the SDK, fixed": {sim.Options{SDK: true}, from(1, 15)},
		"through the SDK, fresh": {sim.Options{SDK: true}, from(fresh, 10)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Logf("seeds from %d on", worlds.seeds[0])
			playAll(t, worlds.options, worlds.seeds...)
		})
	}
}

// TestTheSameSeedNeverMakesAnotherTrace is what makes a seed worth printing.
func TestTheSameSeedNeverMakesAnotherTrace(t *testing.T) {
	for name, worlds := range map[string]struct {
		options sim.Options
		seeds   uint64
	}{
		"at the ports":    {sim.Options{Trace: true}, 40},
		"through the SDK": {sim.Options{Trace: true, SDK: true}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			for _, s := range from(1, worlds.seeds) {
				a, b := play(t, s, worlds.options).Trace, play(t, s, worlds.options).Trace
				for i := range max(len(a), len(b)) {
					if i >= len(a) || i >= len(b) || a[i] != b[i] {
						t.Fatalf("seed %d, line %d:\n%s\n\n%s", s, i, around(a, i), around(b, i))
					}
				}
			}
		})
	}
}

func around(lines []string, i int) string {
	return strings.Join(lines[min(max(i-3, 0), len(lines)):min(i+4, len(lines))], "\n")
}

// TestNothingOfInterestNeverHappens keeps the worlds from becoming too quiet to prove anything.
func TestNothingOfInterestNeverHappens(t *testing.T) {
	happened := map[string]int{}
	for _, s := range from(1, 400) {
		for what, n := range play(t, s, sim.Options{}).Happened {
			happened[what] += n
		}
	}
	for _, what := range []string{
		"claimed", "taken over", "died", "paused", "recognised by the remote", "sent again though it may have arrived",
		"took effect a minute late",
		"dispatcher made completed of dispatching", "dispatcher made pending of dispatching",
		"dispatcher made failed of dispatching", "dispatcher made outcome_unknown of dispatching",
		"dispatcher made failed of pending", "dispatcher made outcome_unknown of pending",
		"dispatcher made failed of invalid", "dispatcher made completed of outcome_unknown",
		"reconciler made completed of outcome_unknown", "reconciler made failed of outcome_unknown",
		"reconciler made pending of outcome_unknown", "reconciler made outcome_unknown of outcome_unknown",
		"operator made completed of outcome_unknown", "operator made failed of outcome_unknown",
		"operator made pending of outcome_unknown", "operator made pending of failed", "operator made failed of pending",
	} {
		if happened[what] == 0 {
			t.Errorf("never: %s", what)
		}
	}
}
