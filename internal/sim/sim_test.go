package sim_test

import (
	"flag"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/landfall-dev/landfall/internal/sim"
)

var (
	seeds   = flag.Uint64("seeds", 0, "how many worlds to play; 0: a few")
	seed    = flag.Uint64("seed", 0, "the first seed; 0: fresh ones besides the fixed ones")
	sdk     = flag.Bool("sdk", false, "play them through the SDK")
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
			SDK:      *sdk,
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
	for name, worlds := range map[string]struct {
		options sim.Options
		seeds   uint64
	}{
		"at the ports":    {sim.Options{Trace: true}, 40},
		"through the SDK": {sim.Options{Trace: true, SDK: true}, 10},
	} {
		t.Run(name, func(t *testing.T) {
			for s := uint64(1); s <= worlds.seeds; s++ {
				a, b := play(t, s, worlds.options).Trace, play(t, s, worlds.options).Trace
				for i := range max(len(a), len(b)) {
					if i >= len(a) || i >= len(b) || a[i] != b[i] {
						around := func(lines []string) string {
							return strings.Join(lines[min(max(i-3, 0), len(lines)):min(i+4, len(lines))], "\n")
						}
						t.Fatalf("seed %d, line %d:\n%s\n\n%s", s, i, around(a), around(b))
					}
				}
			}
		})
	}
}
