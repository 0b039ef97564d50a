package bench

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/devstack"
	"github.com/landfall-dev/landfall/internal/lab/localaws"
	"github.com/landfall-dev/landfall/internal/lab/localaws/ledger"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// latency counts from the commits of rows to their sends, by the fast path or, without it, by a sweep every minute.
// Rows come at random times, 20 a second. beside adds a row each second for a destination that hangs.
func latency(t *testing.T, rows int, fast, beside bool) (l Latency) {
	t.Helper()
	inBubble(t, localaws.Options{Faults: hops(uint64(rows), false)}, policy(4), func(w *workbench) {
		var mu sync.Mutex
		sent, committed := map[string]time.Time{}, map[string]time.Time{}
		w.policy.Concurrency, w.hangs = 16, beside
		w.send = func(_ context.Context, row outbox.Row) outbox.Outcome {
			mu.Lock()
			sent[row.Key] = time.Now()
			mu.Unlock()
			time.Sleep(sendTime)
			return outbox.Completed("")
		}
		ctx, stop := context.WithCancel(w.t.Context())
		var running sync.WaitGroup
		within := time.Duration(rows) * time.Second / 20
		running.Go(func() {
			w.arrive(rows, within, func(key string, at time.Time) {
				mu.Lock()
				defer mu.Unlock()
				committed[key] = at
			})
		})
		if beside {
			running.Go(func() { w.arriveAt(hanging, rows/20, within, nil) })
		}
		if fast {
			running.Go(func() { w.follow(ctx, fullBatch, devstack.MaxParallelizationFactor, func() { time.Sleep(invokeTime) }) })
			time.Sleep(within + 10*time.Second)
			if beside { // batch after batch may have to wait for a process that has to find out
				time.Sleep(2 * time.Minute)
			}
		} else {
			for begun := time.Now(); time.Since(begun) < within+3*time.Minute; time.Sleep(time.Minute) {
				running.Go(func() { w.sweep(w.t.Context(), 0, 0) })
			}
		}
		stop()
		running.Wait()
		var all []time.Duration
		for key, at := range committed {
			if s, ok := sent[key]; ok {
				all = append(all, s.Sub(at))
			}
		}
		if len(all) != rows {
			t.Errorf("%d of %d rows were sent", len(all), rows)
		}
		reads, _ := w.sum("dynamodb", func(k ledger.Key) bool { return k.Caller == function }).Units()
		l = Latency{Rows: rows, Reads: reads / float64(rows), At: percentiles(all), Invocations: float64(w.invocations.Load()) / float64(rows)}
	})
	return l
}
