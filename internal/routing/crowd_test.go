package routing_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/landfall-dev/landfall/internal/routing"
)

// crowded are receipts of which each request takes a while, and the largest number of requests at a time.
type crowded struct {
	routing.Receipts
	now, most atomic.Int64
}

func (c *crowded) Get(ctx context.Context, id routing.ID) (routing.Receipt, error) {
	defer c.enter()()
	return c.Receipts.Get(ctx, id)
}

func (c *crowded) Write(ctx context.Context, m routing.Move) (routing.Receipt, error) {
	defer c.enter()()
	return c.Receipts.Write(ctx, m)
}

func (c *crowded) enter() (leave func()) {
	for now, most := c.now.Add(1), c.most.Load(); now > most && !c.most.CompareAndSwap(most, now); most = c.most.Load() {
	}
	pass(10 * time.Millisecond)
	return func() { c.now.Add(-1) }
}

func TestLargeBatchReadsReceiptsInTurns(t *testing.T) {
	onRig(t, "new ones and known ones", func(w *rig) {
		w.consumer("a", w.accepts(0), func(c *routing.Consumer) { c.MaxInFlight = routing.Unlimited })
		receipts := &crowded{Receipts: &w.receipts}
		w.router.Receipts = receipts
		var ids []string
		for i := range 1000 {
			ids = append(ids, fmt.Sprint("m", i))
		}
		w.send(ids...)
		for i := range w.queue[:500] {
			w.queue[i].Receives = 1
		}
		var batch []routing.Incoming
		for part := w.receive(); len(part) > 0; part = w.receive() {
			batch = append(batch, part...)
		}
		w.invoke(batch)
		if n := receipts.most.Load(); n < 8 || n > 64 {
			w.Errorf("%d requests at once for %d messages", n, len(batch))
		}
		w.drive(time.Minute)
		for _, id := range ids {
			w.end(id)
		}
	})
}
