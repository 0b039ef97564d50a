package outboxdb_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/landfall-dev/landfall/internal/outbox"
)

// slow is a remote that takes a second for each request, and refuses the first one of the rows that say so.
type slow struct {
	mu      sync.Mutex
	effects map[outbox.ID]int
	refused map[outbox.ID]bool
}

func newSlow() *slow { return &slow{effects: map[outbox.ID]int{}, refused: map[outbox.ID]bool{}} }

func (s *slow) Send(_ context.Context, row outbox.Row) outbox.Outcome {
	<-time.After(time.Second)
	s.mu.Lock()
	defer s.mu.Unlock()
	if string(row.Payload) == "refuse" && !s.refused[row.ID] {
		s.refused[row.ID] = true
		return outbox.Retryable("test.busy", 0)
	}
	s.effects[row.ID]++
	return outbox.Completed("")
}

// TestRowsAreSentOnceWhileShardsGrow deploys more shards while rows are in flight and others wait to be repeated:
// functions with the old number and with the new one run side by side, and so do writers, some of whom number the
// lanes as they like.
func TestRowsAreSentOnceWhileShardsGrow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, remote := newBench(t), newSlow()
		const before, after, rows = 2, 7, 35
		put := func(writer string, lane func(i int, id outbox.ID) int) {
			for i := range rows {
				row := pending(fmt.Sprint(writer, i), []byte("send"))
				if i%5 == 0 {
					row.Payload = []byte("refuse")
				}
				row.Lane.Shard = lane(i, row.ID)
				b.insert(row, false)
			}
		}
		dispatcher := func(shards int) outbox.Dispatcher {
			return outbox.Dispatcher{Store: b.Store, Destinations: []outbox.Destination{
				{Name: "charge", Policy: outbox.Policy{Shards: shards}, Sender: remote},
			}}
		}
		run := func(d outbox.Dispatcher) {
			if _, err := d.RunOnce(t.Context()); err != nil {
				t.Error(err)
			}
		}
		var running sync.WaitGroup

		put("old-", func(_ int, id outbox.ID) int { return id.Shard(before) })
		running.Go(func() { run(dispatcher(before)) })
		<-time.After(1500 * time.Millisecond) // some have landed, some were refused, some are in flight

		put("new-", func(_ int, id outbox.ID) int { return id.Shard(after) })
		put("foreign-", func(i int, _ outbox.ID) int { return i % after })
		put("late-", func(_ int, id outbox.ID) int { return id.Shard(before) })
		for range 2 {
			running.Go(func() { run(dispatcher(after)) })
		}
		running.Wait()
		<-time.After(time.Minute)
		run(dispatcher(after))

		lanes := map[int]bool{}
		for _, writer := range []string{"old-", "new-", "foreign-", "late-"} {
			for i := range rows {
				row, err := b.Get(t.Context(), outbox.ID{Destination: "charge", Key: fmt.Sprint(writer, i)})
				if err != nil || row.Status != outbox.StatusCompleted || remote.effects[row.ID] != 1 {
					t.Errorf("%s%d is %s, with %d effects: %v", writer, i, row.Status, remote.effects[row.ID], err)
				}
				lanes[row.ID.Shard(after)] = true
			}
		}
		if len(lanes) != after || len(remote.refused) != 4*rows/5 {
			t.Errorf("lanes %v, %d rows refused at first: not what this test is about", lanes, len(remote.refused))
		}
		b.checkIdle(dispatcher(after))
	})
}

// TestRowKeepsItsShardWhenShardsGrow, in the lane of each kind: it is walked as long as shards only grow.
func TestRowKeepsItsShardWhenShardsGrow(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for kind, outcome := range map[outbox.LaneKind]outbox.Outcome{
		outbox.DueLane: outbox.Retryable("test.busy", 0), outbox.UnknownLane: outbox.Unknown("", "test.cut"),
		outbox.FailedLane: outbox.Permanent("test.no"),
	} {
		row := pending(fmt.Sprint("k", kind), nil)
		row.Lane.Shard = (row.Shard(5) + 1) % 5 // not the number that it would be given
		b.insert(row, false)
		claimed := b.claimOf(row.ID, nil)
		b.settle(outbox.Decide(outbox.Policy{Shards: 5}.WithDefaults(), claimed, outcome, time.Now()))
		got, err := b.Get(t.Context(), row.ID)
		if want := (outbox.Lane{Kind: kind, Destination: "charge", Shard: row.Lane.Shard}); err != nil || got.Lane != want {
			t.Errorf("it is in %v, %v; want %v", got.Lane, err, want)
		}
	}
}
