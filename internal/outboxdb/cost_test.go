package outboxdb_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outboxdb"
)

// sized is a new row whose item has exactly so many bytes, which gzip does not make fewer.
func sized(t *testing.T, destination string, size int, at time.Time) outbox.Row {
	t.Helper()
	id := outbox.ID{Destination: destination, Key: fmt.Sprint("k", size)}
	row := outbox.Row{
		ID: id, Status: outbox.StatusPending, Lane: outbox.Lane{Kind: outbox.DueLane, Destination: destination},
		LaneAt: at, CreatedAt: at, Origin: "origin-of-22-bytes----", Binary: true,
	}
	row.Payload = noise(size - itemOf(t, row))
	if got := itemOf(t, row); got != size {
		t.Fatalf("made an item of %d bytes, want %d", got, size)
	}
	return row
}

func itemOf(t *testing.T, row outbox.Row) int {
	t.Helper()
	put, err := outboxdb.Insert(table, row)
	if err != nil {
		t.Fatal(err)
	}
	return outboxdb.ItemSize(put.Item)
}

// noise is n bytes that do not compress.
func noise(n int) []byte {
	out, x := make([]byte, n), uint64(88172645463325252)
	for i := range out {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		out[i] = byte(x >> 32)
	}
	return out
}

// spent runs a write and returns the write and read units that it consumed.
func (b *bench) spent(do func()) (write, read float64) {
	b.account.Ledger().Reset()
	do()
	read, write = b.account.Ledger().Sum(nil).Units()
	return write, read
}

// TestRowCostsAtMostThePromisedUnits counts what a row costs from put to completed, by size: nothing but
// the table's unit for a claim, and not one more when the item fills its last kilobyte to the byte.
func TestRowCostsAtMostThePromisedUnits(t *testing.T) {
	t.Parallel()
	cases := []struct {
		destination string
		size, units int // units: what one write of the item costs
	}{
		{"charge", 500, 1}, {"charge", 1023, 1}, {"charge", 1024, 1}, {"charge", 1025, 2},
		{"charge", 2048, 2}, {"charge", 2049, 3}, {"charge", 100 << 10, 100},
		{"c", 1024, 1}, {"c", 3 << 10, 3}, {strings.Repeat("d", 63), 1024, 1}, {strings.Repeat("d", 63), 2048, 2},
	}
	for _, c := range cases {
		for _, inTransaction := range []bool{false, true} {
			t.Run(fmt.Sprint(len(c.destination), "/", c.size, "/", inTransaction), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					b := newBench(t)
					row := sized(t, c.destination, c.size, time.Now())
					put, want := c.units+1, 3*c.units+2
					if inTransaction {
						put, want = 2*c.units+1, 4*c.units+2
					}
					b.costs("the put", put, func() { b.insert(row, inTransaction) })
					var claimed outbox.Row
					b.costs("the claim", c.units, func() { claimed = b.claimOf(row.ID, nil) })
					settlement, _ := b.spent(func() {
						b.settle(outbox.Decide(outbox.Policy{}.WithDefaults(), claimed, outbox.Completed(""), time.Now()))
					})
					if most := float64(want - put - c.units); settlement > most { // it may shrink below a step
						b.Errorf("the settlement: %v write units, want at most %v", settlement, most)
					}
				})
			})
		}
	}
}

func (b *bench) costs(what string, want int, do func()) {
	b.Helper()
	if write, _ := b.spent(do); write != float64(want) {
		b.Errorf("%s: %v write units, want %d", what, write, want)
	}
}

func (b *bench) insert(row outbox.Row, inTransaction bool) {
	b.Helper()
	if !inTransaction {
		if err := b.Put(b.Context(), row); err != nil {
			b.Fatal(err)
		}
		return
	}
	put, err := outboxdb.Insert(table, row)
	if err != nil {
		b.Fatal(err)
	}
	_, err = b.client.TransactWriteItems(b.Context(), &dynamodb.TransactWriteItemsInput{
		TransactItems: []types.TransactWriteItem{{Put: put}},
	})
	if err != nil {
		b.Fatal(err)
	}
}

// claimOf claims a row with a token and a request id of the usual lengths.
func (b *bench) claimOf(id outbox.ID, from *outbox.Row) outbox.Row {
	b.Helper()
	now := time.Now().Truncate(time.Millisecond)
	row, err := b.Claim(b.Context(), outbox.Claim{
		ID: id, Token: "0123456789012345678901", ClaimedBy: "8f0ae0b1-7f6e-4e0e-9a53-3c1f0f5b2b10",
		At: now, Until: now.Add(40123 * time.Millisecond), Window: outbox.Window(3649*24*time.Hour + time.Second),
		Attempts: 5, From: from,
	})
	if err != nil {
		b.Fatal(err)
	}
	return row
}

func (b *bench) settle(s outbox.Settlement) {
	b.Helper()
	if err := b.Settle(b.Context(), s); err != nil {
		b.Fatal(err)
	}
}

// TestIdleSweepCostsOneSmallQueryPerShard has rows that are not due yet, and many of them.
func TestIdleSweepCostsOneSmallQueryPerShard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		const shards = 4
		for i := range 200 {
			id := outbox.ID{Destination: "charge", Key: fmt.Sprint(i)}
			b.insert(outbox.Row{
				ID: id, Status: outbox.StatusPending, CreatedAt: time.Now(), LaneAt: time.Now().Add(time.Hour),
				Lane: outbox.Lane{Kind: outbox.DueLane, Destination: "charge", Shard: id.Shard(shards)},
			}, false)
		}
		d := outbox.Dispatcher{Store: b.Store, Destinations: []outbox.Destination{
			{Name: "charge", Policy: outbox.Policy{Shards: shards}, Sender: &counting{}},
		}}
		write, read := b.spent(func() {
			if report, err := d.RunOnce(t.Context()); err != nil || !report.Empty() {
				t.Errorf("%+v, %v; want nothing to do", report, err)
			}
		})
		if write != 0 || read != shards*0.5 {
			t.Errorf("%v write and %v read units, want 0 and %v", write, read, shards*0.5)
		}
		if n := b.account.Ledger().Sum(nil).Requests; n != shards {
			t.Errorf("%d requests, want %d", n, shards)
		}
	})
}

// TestRefusedClaimCostsOneUnitAndChangesNothing, so that workers that meet in a lane cost little.
func TestRefusedClaimCostsOneUnitAndChangesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		row := sized(t, "charge", 1024, time.Now())
		b.insert(row, false)
		b.claimOf(row.ID, nil)
		b.costs("a refused claim", 1, func() {
			_, err := b.Claim(t.Context(), outbox.Claim{ID: row.ID, Token: "other", At: time.Now(), Attempts: 5})
			var refused *outbox.RefusedError
			if !errors.As(err, &refused) || refused.Row.Status != outbox.StatusDispatching {
				t.Errorf("claim: %v, want a refusal with the row", err)
			}
		})
	})
}

// TestClaimAndCompletionKeepTheSizeOfANewRow tries rows, claims and completions of every shape: the
// place-holders leave room for whatever they write.
func TestClaimAndCompletionKeepTheSizeOfANewRow(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	random := rand.New(rand.NewPCG(3, 4))
	// A time of 13 digits, with five zeros at the end as of whole minutes, or with none.
	at := func(after int64) time.Time {
		round := pick(random, []int64{1, 1e5})
		return time.UnixMilli((after + random.Int64N(9_999_999_999_999-after)) / round * round)
	}
	for range 400 {
		id := outbox.ID{Destination: strings.Repeat("d", pick(random, []int{1, 2, 63})), Key: fmt.Sprint(random.Uint64())}
		created := at(1_000_000_000_000)
		row := outbox.Row{
			ID: id, Status: outbox.StatusPending, CreatedAt: created, LaneAt: created, Payload: []byte("{}"),
			Lane: outbox.Lane{Kind: outbox.DueLane, Destination: id.Destination, Shard: pick(random, []int{0, 9, 999})},
		}
		b.insert(row, false)
		put := outboxdb.ItemSize(b.item(id.PK()))
		claim := outbox.Claim{
			ID: id, Token: "0123456789012345678901", ClaimedBy: strings.Repeat("c", pick(random, []int{0, 20, 36, 100})),
			At: at(created.UnixMilli()), Until: at(0), Attempts: 5,
			Window: outbox.Window(time.Duration(random.IntN(10*366*24*3600)) * time.Second),
		}
		if random.IntN(4) == 0 {
			claim.Window = outbox.Always
		}
		if claim.At.Before(created) {
			claim.At = created
		}
		if _, err := b.Claim(t.Context(), claim); err != nil {
			t.Fatal(err)
		}
		if claimed := outboxdb.ItemSize(b.item(id.PK())); claimed > put {
			t.Fatalf("a claim grew the item from %d to %d bytes: %+v", put, claimed, claim)
		}
		b.settle(outbox.Settlement{
			ID: id, Token: claim.Token, Status: outbox.StatusCompleted, CompletedAt: at(0), ExpiresAt: at(0),
		})
		if completed := outboxdb.ItemSize(b.item(id.PK())); completed > put {
			t.Fatalf("completing grew the item from %d to %d bytes", put, completed)
		}
	}
}
