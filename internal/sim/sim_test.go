package sim_test

import (
	"flag"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/landfall-dev/landfall/internal/sim"
)

var (
	seeds   = flag.Uint64("seeds", 0, "how many worlds to play; 0: a few")
	seed    = flag.Uint64("seed", 0, "the first seed; 0: fresh ones besides the fixed ones")
	verbose = flag.Bool("v", false, "print what happened in each world")
)

func play(t *testing.T, seed uint64, o sim.Options) (result sim.Result) {
	t.Helper()
	synctest.Test(t, func(*testing.T) { result = sim.Play(seed, o) })
	return result
}

func TestWorlds(t *testing.T) {
	first, n := *seed, *seeds
	if n == 0 {
		first, n = 1, 200
	}
	begun, events := time.Now(), 0
	for s := first; s < first+n; s++ {
		result := play(t, s, sim.Options{
			Trace:    *verbose || testing.Verbose() && n == 1,
			Violated: func(v sim.Violation) { t.Errorf("seed %d: %v", s, v) },
		})
		events += result.Events
		for _, line := range result.Trace {
			t.Log(line)
		}
		if t.Failed() {
			break
		}
	}
	t.Logf("%d events, %v", events, time.Since(begun))
}

func TestTheSameSeedNeverMakesAnotherTrace(t *testing.T) {
	for s := uint64(1); s <= 150; s++ {
		a, b := play(t, s, sim.Options{Trace: true}), play(t, s, sim.Options{Trace: true})
		for i := range a.Trace {
			if i >= len(b.Trace) || a.Trace[i] != b.Trace[i] {
				t.Errorf("seed %d, line %d:\n%s\n\n%s", s, i, strings.Join(a.Trace[max(i-3, 0):min(i+4, len(a.Trace))], "\n"), strings.Join(b.Trace[max(i-3, 0):min(i+4, len(b.Trace))], "\n"))
				break
			}
		}
		if !slices.Equal(a.Trace, b.Trace) {
			t.Fatalf("seed %d: %d and %d lines", s, len(a.Trace), len(b.Trace))
		}
	}
}
