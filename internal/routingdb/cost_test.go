package routingdb_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/landfall-dev/landfall/internal/routing"
)

// costs checks the units that something consumed.
func (b *bench) costs(what string, write, read float64, do func()) {
	b.Helper()
	b.account.Ledger().Reset()
	do()
	gotRead, gotWrite := b.account.Ledger().Sum(nil).Units()
	if gotWrite != write || gotRead != read {
		b.Errorf("%s: %v write and %v read units, want %v and %v", what, gotWrite, gotRead, write, read)
	}
}

// TestMessageAcceptedAtOnceCostsTwoUnits, with names of any length.
func TestMessageAcceptedAtOnceCostsTwoUnits(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", 63)
	for _, id := range []routing.ID{order, {Group: long, Message: strings.Repeat("f", 128)}} {
		b := newBench(t)
		m := assign(id, "0123456789012345678901")
		m.Consumer = long
		var receipt routing.Receipt
		b.costs("selecting", 1, 0, func() { receipt = b.made(m) })
		b.costs("accepting", 1, 0, func() { b.made(accept(receipt)) })
	}
}

// TestOtherStepsCostAtMostOneUnit: a reroute, an extension, a refusal.
func TestOtherStepsCostAtMostOneUnit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		receipt := b.made(assign(order, "0123456789012345678901"))
		first := receipt
		for i := range 3 {
			b.costs("an extension", 1, 0, func() {
				<-time.After(time.Minute)
				receipt = b.made(from(routing.Extend, receipt, "extend-890123456789012"))
			})
			b.costs("a reroute", 1, 0, func() {
				receipt = b.made(from(routing.Reassign, receipt, "token-7890123456789"+strconv.Itoa(100+i)))
			})
		}
		b.costs("a refusal", 1, 0, func() {
			var refused *routing.RefusedError
			if _, err := b.Write(t.Context(), accept(first)); !errors.As(err, &refused) {
				t.Errorf("accept: %v, want a refusal", err)
			}
		})
		b.costs("a reading", 0, 1, func() { b.got(order) })
	})
}

// TestSnapshotCostsAtMostOneUnit, and a request for each queue at most once a second.
func TestSnapshotCostsAtMostOneUnit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCouriers(t, "north", "south", "east")
		for _, id := range []string{"west", "centre"} {
			w.join(routing.Consumer{ID: id, Target: "sqs:north"})
		}
		w.snapshot() // finds the queues
		<-time.After(time.Second)
		w.costs("a snapshot", 0, 1, func() { w.snapshot() })
		if n := w.requests("GetQueueAttributes"); n != 3 {
			t.Errorf("%d requests for attributes, want one for each of 3 queues", n)
		}
		w.costs("ten more at once", 0, 10, func() {
			for range 10 {
				w.snapshot()
			}
		})
		if n := w.requests("GetQueueAttributes") + w.requests("GetQueueUrl"); n != 0 {
			t.Errorf("%d requests to queues, want none", n)
		}
	})
}
