package outboxdb_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outboxdb"
)

// answers is a remote that gives one answer after the other.
type answers struct{ left []outbox.Outcome }

func (a *answers) Send(context.Context, outbox.Row) outbox.Outcome {
	out := a.left[0]
	a.left = a.left[1:]
	return out
}

// TestLargestRowHasRoomForItsOutcome sends rows that fill an item to the last byte that a
// writer may use.
func TestLargestRowHasRoomForItsOutcome(t *testing.T) {
	t.Parallel()
	busy, lost := outbox.Retryable("landfall.http.status_503", 0), outbox.Unknown(strings.Repeat("r", 512), "landfall.http.no_answer")
	for name, c := range map[string]struct {
		answers []outbox.Outcome
		status  outbox.Status
	}{
		"completed at once": {[]outbox.Outcome{outbox.Completed(strings.Repeat("r", 512))}, outbox.StatusCompleted},
		"put off first":     {[]outbox.Outcome{busy, busy, outbox.Completed("")}, outbox.StatusCompleted},
		"unknown":           {[]outbox.Outcome{busy, lost}, outbox.StatusOutcomeUnknown},
	} {
		for writer, put := range map[string]func(b *bench){"foreign": putForeign, "our own": putOwn} {
			t.Run(name+", "+writer, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newBench(t)
					put(b)
					remote := &answers{c.answers}
					dispatcher := outbox.Dispatcher{
						Store: b.Store, ClaimedBy: "6f1f3b1e-2c46-4a58-9d1d-2f5a5cf2b0aa",
						Destinations: []outbox.Destination{{Name: "charge", Sender: remote}},
					}
					if _, err := dispatcher.RunOnce(t.Context()); err != nil {
						t.Fatal(err)
					}
					row := outboxdb.Decode(b.item("charge#large"))
					if row.Status != c.status || row.Unreadable != nil || len(remote.left) != 0 {
						t.Errorf("row is %s (%s), %v; %d answers were not asked for", row.Status, row.Code, row.Unreadable, len(remote.left))
					}
				})
			})
		}
	}
}

// TestLargestRowHasRoomForAllThatIsWrittenOnIt: it keeps its payload though every text is as long as it may be.
func TestLargestRowHasRoomForAllThatIsWrittenOnIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		putForeign(b)
		row := b.claimOf(outbox.ID{Destination: "charge", Key: "large"}, nil)
		policy := outbox.Policy{}.WithDefaults()
		end := outbox.Decide(policy, row, outbox.Unknown(strings.Repeat("r", 2*outbox.MaxRefBytes), strings.Repeat("c", 1000)), time.Now())
		end.Cause = strings.Repeat("w", 1000)
		b.settle(end)
		stored, err := b.Get(t.Context(), row.ID)
		if err != nil {
			t.Fatal(err)
		}
		order, err := outbox.Obey(policy, stored, outbox.Order{
			Move: outbox.MarkFailed, By: strings.Repeat("b", outbox.MaxByBytes), Reason: strings.Repeat("t", outbox.MaxReasonBytes), Force: true,
		}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		order.ResolutionID, order.LookedUp = row.Token, true
		order.Code, order.Cause = strings.Repeat("c", 1000), strings.Repeat("w", 1000)
		b.settle(order)
		stored, err = b.Get(t.Context(), row.ID)
		if err != nil || stored.Unreadable != nil || len(stored.Payload) == 0 || len(stored.Cause) != 256 || len(stored.RemoteRef) != outbox.MaxRefBytes {
			t.Errorf("%v, %v: a payload of %d bytes, a cause of %d, a reference of %d", err, stored.Unreadable, len(stored.Payload), len(stored.Cause), len(stored.RemoteRef))
		}
	})
}

func putForeign(b *bench) {
	row := foreign("charge#large", time.Now())
	filled(outboxdb.MaxItem)(row, time.Now())
	b.write(row)
}

// putOwn puts the largest row that the store takes, of bytes that do not compress.
func putOwn(b *bench) {
	noise := make([]byte, outboxdb.MaxItem)
	random := rand.NewChaCha8([32]byte{})
	_, _ = random.Read(noise)
	row := outbox.Row{
		ID: outbox.ID{Destination: "charge", Key: "large"}, Status: outbox.StatusPending, Binary: true, Origin: "origin",
		CreatedAt: time.Now(), LaneAt: time.Now(), Lane: outbox.Lane{Kind: outbox.DueLane, Destination: "charge"},
	}
	fits := func(n int) bool {
		row.Payload = noise[:n]
		_, err := outboxdb.Insert(table, row)
		return err == nil
	}
	least, most := 0, len(noise)
	for least < most {
		if middle := (least + most + 1) / 2; fits(middle) {
			least = middle
		} else {
			most = middle - 1
		}
	}
	fits(least)
	if err := b.Put(b.Context(), row); err != nil {
		b.Fatal(err)
	}
}
