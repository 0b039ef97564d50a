package outboxtest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/landfall-dev/landfall/internal/outbox"
)

func (h Harness) lanes(t *testing.T) {
	h.pages(t)
	h.membership(t)
}

// pages hold listings to being complete, in order and on time.
func (h Harness) pages(t *testing.T) {
	h.each(t, "every row of a lane is listed once over several pages, whatever ties", func(b *bench) {
		const rows = 250
		var want []string
		for i := range rows {
			row := b.fresh()
			row.Key = fmt.Sprintf("k%03d", i)
			row.LaneAt = b.now.Add(-time.Duration(i/50) * time.Second) // 50 rows tie each
			b.put(row)
			want = append(want, row.PK())
		}
		var got []string
		var last time.Time
		for _, e := range b.list(lane(outbox.DueLane), b.now) {
			if e.LaneAt.Before(last) {
				b.t.Errorf("%v is listed after %v, want oldest first", e.LaneAt, last)
			}
			last = e.LaneAt
			got = append(got, e.PK())
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			b.t.Errorf("listed %d rows, want each of the %d once", len(got), len(want))
		}
	})
	h.each(t, "a row is listed only when due, and only in its lane", func(b *bench) {
		row := b.fresh()
		row.LaneAt = b.now.Add(time.Millisecond)
		b.put(row)
		for _, other := range []outbox.Lane{
			{Kind: outbox.DueLane, Destination: "charge", Shard: 0},
			{Kind: outbox.DueLane, Destination: "charge-2", Shard: 1},
			{Kind: outbox.UnknownLane, Destination: "charge", Shard: 1},
		} {
			if got := b.list(other, row.LaneAt); len(got) != 0 {
				b.t.Errorf("lane %v lists %v", other, got)
			}
		}
		if got := b.list(row.Lane, b.now); len(got) != 0 {
			b.t.Errorf("listed a millisecond early: %v", got)
		}
		want := []outbox.Entry{{ID: row.ID, LaneAt: row.LaneAt}}
		if got := b.list(row.Lane, row.LaneAt); !slices.Equal(got, want) {
			b.t.Errorf("listed %v at its time, want %v", got, want)
		}
	})
}

// membership holds a row to the lane of its status.
func (h Harness) membership(t *testing.T) {
	h.each(t, "every row is in a lane until it is completed", func(b *bench) {
		b.put(b.fresh())
		horizon := b.now.Add(24 * time.Hour)
		in := func(when string, want ...outbox.LaneKind) {
			var got []outbox.LaneKind
			for _, kind := range []outbox.LaneKind{outbox.DueLane, outbox.UnknownLane, outbox.FailedLane} {
				for range b.list(lane(kind), horizon) {
					got = append(got, kind)
				}
			}
			if !slices.Equal(got, want) {
				b.t.Errorf("%s: in lanes %v, want %v", when, got, want)
			}
		}
		in("new", outbox.DueLane)
		row := b.claimed(nil)
		in("claimed", outbox.DueLane)
		b.settled(held(b.to(outbox.StatusFailed), row.Token))
		in("failed", outbox.FailedLane)
		b.settled(seen(b.to(outbox.StatusPending), b.get()))
		in("retried", outbox.DueLane)
		unknown := held(b.to(outbox.StatusOutcomeUnknown), b.claimed(nil).Token)
		unknown.MaybeSince = b.now
		b.settled(unknown)
		in("unknown", outbox.UnknownLane)
		b.settled(reader(outbox.StatusCompleted)(b, b.get()))
		in("completed")
	})
}

func (b *bench) list(lane outbox.Lane, before time.Time) (all []outbox.Entry) {
	b.t.Helper()
	for after := ""; ; {
		page, next, err := b.subject.Store.List(b.t.Context(), lane, before, after)
		if err != nil {
			b.t.Fatalf("list: %v", err)
		}
		all = append(all, page...)
		if after = next; after == "" {
			return all
		}
	}
}
