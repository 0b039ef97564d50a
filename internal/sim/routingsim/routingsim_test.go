package routingsim_test

import (
	"testing"

	"github.com/landfall-dev/landfall/internal/sim/routingsim"
	"github.com/landfall-dev/landfall/internal/sim/stage/stagetest"
)

var play = stagetest.Play(routingsim.Play)

// TestWorlds is the simulation: no world violates an invariant.
func TestWorlds(t *testing.T) { play.Worlds(t, stagetest.Number{Fixed: 300, Fresh: 200}) }

// TestTheSameSeedNeverMakesAnotherTrace is what makes a seed worth printing.
func TestTheSameSeedNeverMakesAnotherTrace(t *testing.T) { play.SameTraces(t, 40, 0) }
