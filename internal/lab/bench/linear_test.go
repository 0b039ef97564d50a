package bench

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/localaws"
	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// linear counts how many effects a second so many shards give, with a worker for each, so many sends at a time in each
// worker, and DynamoDB's limits on each partition. There is more due than they can do in the second.
func linear(t *testing.T, shards, concurrency int, window time.Duration) (l Linear) {
	t.Helper()
	plan := hops(uint64(shards), false)
	o := localaws.Options{PartitionLimits: true, Faults: func(r faults.Request) faults.Fault {
		if r.Caller == application {
			return faults.Fault{}
		}
		return plan(r)
	}}
	inBubble(t, o, outbox.Policy{Shards: shards, Concurrency: concurrency}, func(w *workbench) {
		const most = 1000 // writes of a partition in a second
		enough := 1.2 * window.Seconds() * min(most, float64(concurrency)*float64(time.Second/(2*requestTime)))
		for range int(math.Ceil(enough / 100)) {
			w.fill(100*shards, time.Time{})
			time.Sleep(time.Second)
		}
		landed := atomic.Int64{}
		w.send = func(context.Context, outbox.Row) outbox.Outcome {
			landed.Add(1)
			return outbox.Completed("")
		}
		ctx, stop := context.WithCancel(w.t.Context())
		var workers sync.WaitGroup
		for part := range shards {
			workers.Go(func() { w.sweep(ctx, part, shards) })
		}
		time.Sleep(window)
		l = Linear{Shards: shards, PerSecond: float64(landed.Load()) / window.Seconds()}
		stop()
		workers.Wait()
	})
	return l
}
