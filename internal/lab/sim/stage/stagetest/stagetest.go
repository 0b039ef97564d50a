// Package stagetest plays the worlds of a simulation as tests. Its flags come after -args:
//
//	-seeds N -seed S    worlds S to S+N-1 instead of a few fixed ones and a few fresh ones
//	-sdk                through the SDK
//	-v                  print what happens in each world
package stagetest

import (
	"flag"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/sim/stage"
)

var (
	seeds   = flag.Uint64("seeds", 0, "how many worlds to play, from -seed on; 0: a few fixed ones and a few fresh ones")
	seed    = flag.Uint64("seed", 1, "the first seed")
	sdk     = flag.Bool("sdk", false, "play them through the SDK")
	verbose = flag.Bool("v", false, "print what happens in each world")
)

// Play is a simulation: it plays the world of a seed, in a bubble of its own.
type Play func(seed uint64, o stage.Options) stage.Result

// Number is how many worlds of each kind a plain `go test` plays.
type Number struct{ Fixed, Fresh, FixedSDK, FreshSDK uint64 }

// Worlds plays the worlds that the flags ask for, or else some fixed ones, those in which something was wrong
// once, and some fresh ones. It stops at the first violation.
func (play Play) Worlds(t *testing.T, n Number, regressions ...uint64) {
	if *seeds > 0 {
		const readable = 10
		trace := *verbose || testing.Verbose() && *seeds <= readable
		play.All(t, stage.Options{SDK: *sdk, Trace: trace}, From(*seed, *seeds)...)
		return
	}
	fresh := rand.Uint64N(1 << 40)
	for name, worlds := range map[string]struct {
		options stage.Options
		seeds   []uint64
	}{
		"at the ports, fixed":    {stage.Options{}, append(From(1, n.Fixed), regressions...)},
		"at the ports, fresh":    {stage.Options{}, From(fresh, n.Fresh)},
		"through the SDK, fixed": {stage.Options{SDK: true}, From(1, n.FixedSDK)},
		"through the SDK, fresh": {stage.Options{SDK: true}, From(fresh, n.FreshSDK)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Logf("seeds from %d on", worlds.seeds[0])
			play.All(t, worlds.options, worlds.seeds...)
		})
	}
}

// SameTraces plays each world twice and compares what happened: at the ports, and some through the SDK.
func (play Play) SameTraces(t *testing.T, ports, sdk uint64) {
	for name, worlds := range map[string]struct {
		options stage.Options
		seeds   uint64
	}{
		"at the ports":    {stage.Options{Trace: true}, ports},
		"through the SDK": {stage.Options{Trace: true, SDK: true}, sdk},
	} {
		t.Run(name, func(t *testing.T) {
			for _, s := range From(1, worlds.seeds) {
				a, b := play.One(t, s, worlds.options).Trace, play.One(t, s, worlds.options).Trace
				for i := range max(len(a), len(b)) {
					if i >= len(a) || i >= len(b) || a[i] != b[i] {
						t.Fatalf("seed %d, line %d:\n%s\n\n%s", s, i, around(a, i), around(b, i))
					}
				}
			}
		})
	}
}

// Happens checks that worlds are not too quiet to prove anything: in the first ones, all of that happens.
func (play Play) Happens(t *testing.T, worlds uint64, what ...string) {
	happened := map[string]int{}
	for _, s := range From(1, worlds) {
		add(happened, play.One(t, s, stage.Options{}).Happened)
	}
	for _, w := range what {
		if happened[w] == 0 {
			t.Errorf("never: %s", w)
		}
	}
}

// One plays one world.
func (play Play) One(t *testing.T, seed uint64, o stage.Options) (result stage.Result) {
	t.Helper()
	synctest.Test(t, func(*testing.T) { result = play(seed, o) })
	return result
}

// All plays worlds until one is violated, and logs and returns what happened in them.
func (play Play) All(t *testing.T, o stage.Options, seeds ...uint64) (happened map[string]int) {
	t.Helper()
	begun, events := time.Now(), 0
	happened = map[string]int{}
	for i, s := range seeds {
		o.Violated = func(v stage.Violation) { t.Errorf("seed %d: %v", s, v) }
		result := play.One(t, s, o)
		events += result.Events
		add(happened, result.Happened)
		for _, line := range result.Trace {
			t.Log(line)
		}
		if t.Failed() {
			t.Logf("played %d of %d worlds", i+1, len(seeds))
			return happened
		}
	}
	t.Logf("%d worlds, %d events, %v", len(seeds), events, time.Since(begun).Round(time.Millisecond))
	for _, what := range slices.Sorted(maps.Keys(happened)) {
		t.Logf("%8d  %s", happened[what], what)
	}
	return happened
}

func add(to, more map[string]int) {
	for what, n := range more {
		to[what] += n
	}
}

// From are n seeds.
func From(first, n uint64) (all []uint64) {
	for s := first; s < first+n; s++ {
		all = append(all, s)
	}
	return all
}

func around(lines []string, i int) string {
	return strings.Join(lines[min(max(i-3, 0), len(lines)):min(i+4, len(lines))], "\n")
}
