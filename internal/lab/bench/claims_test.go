package bench

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/landfall-dev/landfall"
	"github.com/landfall-dev/landfall/internal/lab/devstack"
	"github.com/landfall-dev/landfall/internal/lab/localaws"
	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
	"github.com/landfall-dev/landfall/internal/lab/localaws/ledger"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// The model of latencies: what AWS publishes, and where it publishes nothing what is assumed, as docs/cost.md says.
const (
	requestTime  = 5 * time.Millisecond   // to DynamoDB, half of it before the work; published: single-digit ms
	streamDelay  = 55 * time.Millisecond  // until a record can be read; see latency
	streamTail   = 40 * time.Millisecond  // mean of what comes on top, exponentially distributed; see latency
	invokeTime   = 15 * time.Millisecond  // of a warm function; assumed
	sendTime     = 50 * time.Millisecond  // of the remote; assumed
	indexLag     = 200 * time.Millisecond // how far the index is behind; assumed
	slowReads    = 0.04                   // share of reads that are slowTime later; see latency
	slowTime     = 200 * time.Millisecond //
	streamLosses = 0.02                   // share of reads of the stream whose first record arrives too late for the head start
)

// hops is the plan of these latencies, and of losses of the stream if there are any. Requests differ by a few
// microseconds, so that their order is the same every time.
func hops(seed uint64, lossy bool) faults.Plan {
	return func(r faults.Request) (f faults.Fault) {
		random := rand.New(rand.NewPCG(seed, r.Seq))
		half := requestTime/2 + time.Duration(random.Int64N(int64(requestTime/4)))
		f.Before, f.After = half, half
		switch r.Operation {
		case "GetRecords":
			f.Late = streamDelay + time.Duration(random.ExpFloat64()*float64(streamTail))
			if random.Float64() < slowReads {
				f.Late += slowTime
			}
			if lossy && random.Float64() < streamLosses {
				f.Lost = 1
			}
		case "Query":
			f.StaleIndex = time.Duration(random.Int64N(int64(2 * indexLag)))
		}
		return f
	}
}

// deployedClaims counts what workers cost that sweep disjoint parts of 64 shards every minute, beside the fast path,
// which misses some rows. Rows come at random times within 3 minutes. If the stream stalls, it tells nothing new for
// 20 s of each minute, from 12 s before the sweep.
func deployedClaims(t *testing.T, workers, effects int, stalls bool) (c Claims) {
	t.Helper()
	usual := hops(uint64(workers), true)
	o := localaws.Options{Faults: func(r faults.Request) faults.Fault {
		f := usual(r)
		sinceSweep := r.Time.Sub(start) % time.Minute
		if stalls && r.Operation == "GetRecords" && (sinceSweep < 8*time.Second || sinceSweep >= 48*time.Second) {
			f.Late = time.Minute
		}
		return f
	}}
	inBubble(t, o, policy(64), func(w *workbench) {
		bySweep, landed := atomic.Int64{}, atomic.Int64{}
		w.send = func(_ context.Context, row outbox.Row) outbox.Outcome {
			time.Sleep(sendTime)
			if row.ClaimedBy == sweepID {
				bySweep.Add(1)
			}
			landed.Add(1)
			return outbox.Completed("")
		}
		ctx, stop := context.WithCancel(w.t.Context())
		var running sync.WaitGroup
		running.Go(func() { w.follow(ctx, fullBatch, devstack.MaxParallelizationFactor, func() { time.Sleep(invokeTime) }) })
		running.Go(func() { w.arrive(effects, 3*time.Minute, nil) })
		begun := time.Now()
		for landed.Load() < int64(effects) && time.Since(begun) < 10*time.Minute {
			time.Sleep(time.Minute)
			for part := range workers {
				running.Go(func() { w.sweep(w.t.Context(), part, workers) })
			}
		}
		time.Sleep(time.Minute)
		stop()
		running.Wait()
		c = w.claims(workers, effects)
		c.BySweep = int(bySweep.Load())
	})
	return c
}

// overlappingClaims counts what it costs when all workers sweep the same 4 shards at the same time, all rows are due,
// and there is no fast path.
func overlappingClaims(t *testing.T, workers, effects int) (c Claims) {
	t.Helper()
	inBubble(t, localaws.Options{Faults: hops(uint64(workers), false)}, outbox.Policy{Shards: 4}, func(w *workbench) {
		w.fill(effects, time.Time{})
		w.send = func(context.Context, outbox.Row) outbox.Outcome {
			time.Sleep(sendTime)
			return outbox.Completed("")
		}
		time.Sleep(time.Second)
		var running sync.WaitGroup
		for range workers {
			running.Go(func() { w.sweep(w.t.Context(), 0, 0) })
		}
		running.Wait()
		c = w.claims(workers, effects)
		c.BySweep = effects
	})
	return c
}

// claims are the figures of a workbench whose rows must all have landed.
func (w *workbench) claims(workers, effects int) Claims {
	w.t.Helper()
	if n := w.open(); n > 0 {
		w.t.Errorf("%d workers: %d of %d rows have not landed", workers, n, effects)
	}
	reads, _ := w.sum("dynamodb", func(k ledger.Key) bool { return k.Caller == function }).Units()
	return Claims{
		Workers: workers, Effects: effects,
		Wasted: float64(w.sum("dynamodb", refused).Requests) / float64(effects), Reads: reads / float64(effects),
	}
}

// arrive puts rows of the destination at random times, in the mean so many within so long, and tells when each was committed.
func (w *workbench) arrive(rows int, within time.Duration, committed func(key string, at time.Time)) {
	w.t.Helper()
	w.arriveAt(destination, rows, within, committed)
}

func (w *workbench) arriveAt(destination string, rows int, within time.Duration, committed func(key string, at time.Time)) {
	w.t.Helper()
	random := rand.New(rand.NewPCG(7, uint64(rows)))
	var puts sync.WaitGroup
	for i := range rows {
		time.Sleep(time.Duration(random.ExpFloat64() * float64(within) / float64(rows)))
		puts.Go(func() {
			key := fmt.Sprintf("order-%05d", i)
			if err := w.box.Put(w.t.Context(), landfall.Row{Destination: destination, Key: key, Payload: []byte("{}")}); err != nil {
				w.t.Error(err)
			}
			if committed != nil {
				committed(key, time.Now().Add(-requestTime/2)) // when the answer left
			}
		})
	}
	puts.Wait()
}

// percentiles are the percentiles 0 to 100 of times, in ms.
func percentiles(all []time.Duration) (at []float64) {
	slices.Sort(all)
	for p := range 101 {
		i := int(math.Ceil(float64(p)/100*float64(len(all)))) - 1
		at = append(at, math.Round(float64(all[max(0, i)].Microseconds()))/1000)
	}
	return at
}
