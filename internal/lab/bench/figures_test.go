package bench

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/payloads"
	"github.com/landfall-dev/landfall/internal/outbox"
)

var full = flag.Bool("full", false, "count at all numbers of workers and shards, as make bench does")

// TestFiguresAreWithinBoundsAndAsPublished counts everything, and tells [Run].
func TestFiguresAreWithinBoundsAndAsPublished(t *testing.T) {
	t.Parallel()
	folder, err := payloads.Recorded(t.Context(), "../../..")
	if err != nil {
		t.Fatal(err)
	}
	webhooks, err := payloads.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	workers, shards, rows, beside := []int{8}, []int{1, 4}, 500, 500
	if *full {
		workers, shards, rows, beside = []int{1, 8, 32, 64}, []int{1, 4, 16, 64}, 3000, 12_000
	}
	var c Counted
	t.Run("group", func(t *testing.T) {
		section := func(name string, count func(t *testing.T)) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				count(t)
			})
		}
		section("effects", func(t *testing.T) { c.Effects = effects(t, webhooks) })
		section("trouble", func(t *testing.T) { c.Trouble = trouble(t, ofSize(t, webhooks, 1024)) })
		section("found", func(t *testing.T) { c.Found = found(t) })
		section("idle", func(t *testing.T) { c.Idle = idle(t) })
		section("deployed", func(t *testing.T) {
			for _, n := range workers {
				c.Deployed = append(c.Deployed, deployedClaims(t, n, 2*rows/5, false))
			}
			if *full {
				c.Stalled = append(c.Stalled, deployedClaims(t, 32, 2*rows/5, true))
			}
		})
		section("overlapping", func(t *testing.T) {
			for _, n := range workers {
				c.Overlapping = append(c.Overlapping, overlappingClaims(t, n, 100))
			}
		})
		section("linear", func(t *testing.T) {
			for _, n := range shards {
				l := linear(t, n, outbox.DefaultConcurrency, time.Second/2)
				l.Share = 1
				if len(c.Linear) > 0 {
					l.Share = l.PerSecond / float64(n) / c.Linear[0].PerSecond
				}
				c.Linear = append(c.Linear, l)
			}
			if *full {
				c.AtLimit = linear(t, 1, 16, time.Second)
			}
		})
		section("latency", func(t *testing.T) {
			c.FastPath = latency(t, rows, true, false)
			c.Beside = latency(t, beside, true, true)
			c.Sweep = latency(t, rows, false, false)
		})
	})
	if t.Failed() {
		return
	}
	for _, problem := range c.problems() {
		t.Error(problem)
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Attr(countedAttr, string(text))
	page, err := os.ReadFile("../../../docs/cost.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range c.tables() {
		if !strings.Contains(string(page), table.markdown()) {
			t.Errorf("docs/cost.md differs from the figures; `make bench` puts this table there:\n%s", table.markdown())
		}
	}
}
