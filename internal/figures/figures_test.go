package figures_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall"
	"github.com/landfall-dev/landfall/internal/payloads"
)

// figure is a line of the table.
type figure struct {
	what  string
	units float64
	most  float64 // the bound
}

// TestNoFigureIsAboveItsBoundOrOtherThanPublished measures everything and prints the table.
func TestNoFigureIsAboveItsBoundOrOtherThanPublished(t *testing.T) {
	t.Parallel()
	folder, err := payloads.Recorded(t.Context(), "../..")
	if err != nil {
		t.Fatal(err)
	}
	messages, err := payloads.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	figures := slices.Concat(small(t), recorded(t, messages), reading(t))
	table := "| figure | units | at most |\n|---|---|---|\n"
	for _, f := range figures {
		if f.units > f.most {
			t.Errorf("%s: %.3g units, want at most %v", f.what, f.units, f.most)
		}
		table += fmt.Sprintf("| %s | %.3g | %v |\n", f.what, f.units, f.most)
	}
	t.Logf("\n%s", table)
	page, err := os.ReadFile("../../docs/cost.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), table) {
		t.Error("docs/cost.md has another table")
	}
}

// small is a row of at most 1,024 bytes, by itself.
func small(t *testing.T) (all []figure) {
	payload := payloads.Payload{Name: "order-42", Body: []byte(strings.Repeat("x", 700))}
	for _, in := range []way{byItself, inTransaction} {
		each := in.bound(5, 6)
		inBubble(t, func(b *bench) {
			b.put(payload, in)
			b.drain()
			_, write := b.units()
			all = append(all, figure{fmt.Sprintf("a row of at most 1,024 bytes, %s, put to completed: write", in), write, each},
				figure{"of these, the claim", b.claim(), 1})
		})
	}
	inBubble(t, func(b *bench) {
		b.dispatcher.Destinations[0].Sender = &refusesOnce{}
		b.put(payload, byItself)
		b.drain()
		_, write := b.units()
		all = append(all, figure{"such a row, for each attempt that is put off: write", write - all[0].units, 4})
	})
	inBubble(t, func(b *bench) {
		b.drain()
		read, _ := b.units()
		all = append(all, figure{"a sweep with nothing due, per shard: read", read / shards, 0.5})
	})
	return all
}

// recorded is the mean of the recorded webhooks.
func recorded(t *testing.T, messages []payloads.Payload) (all []figure) {
	for _, in := range []way{byItself, inTransaction, byItselfAsItIs, inTransactionAsItIs} {
		inBubble(t, func(b *bench) {
			for _, p := range messages {
				b.put(p, in)
			}
			b.drain()
			_, write := b.units()
			all = append(all, figure{
				fmt.Sprintf("%d recorded webhooks, %s, mean of put to completed: write", len(messages), in),
				write / float64(len(messages)), in.bound(7.2, 9),
			})
		})
	}
	return all
}

// reading is what finding rows costs, alone and among rows that are not due.
func reading(t *testing.T) (all []figure) {
	const due, later, most = 1000, 10_000, 0.35
	for _, others := range []int{0, later} {
		inBubble(t, func(b *bench) {
			b.fill(due, time.Time{})
			b.fill(others, time.Now().Add(24*time.Hour))
			before, _ := b.units()
			b.drain()
			after, _ := b.units()
			all = append(all, figure{
				fmt.Sprintf("%d rows due, among %d that are not, per effect: read", due, others), (after - before) / due, most,
			})
		})
	}
	if all[0].units != all[1].units {
		t.Errorf("%v read units per effect alone, %v among rows that are not due", all[0].units, all[1].units)
	}
	return all
}

// inBubble measures on a clock that stands still while nothing waits, at a time of as many digits as today's.
func inBubble(t *testing.T, measure func(*bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.UnixMilli(1_795_000_000_123)))
		measure(newBench(t))
	})
}

// way is how a row is put.
type way int

const (
	byItself way = iota
	inTransaction
	byItselfAsItIs
	inTransactionAsItIs
)

func (w way) String() string {
	return []string{"put by itself", "put in a transaction", "put by itself without gzip", "put in a transaction without gzip"}[w]
}

// bound is the bound for rows that are put one way or another; those that are not compressed are there for comparison.
func (w way) bound(byItself, inTransaction float64) float64 {
	return []float64{byItself, inTransaction, 20, 26}[w]
}

// put puts a payload's row. Other programs do not compress, so what stands for them undoes it.
func (b *bench) put(p payloads.Payload, in way) {
	b.Helper()
	row := landfall.Row{Destination: destination, Key: p.Name, Payload: p.Body}
	if in == byItself {
		if err := b.box.Put(b.Context(), row); err != nil {
			b.Fatal(err)
		}
		return
	}
	item := b.item(row)
	if in != inTransaction {
		asItIs(item.Put, p.Body)
	}
	if in == byItselfAsItIs {
		b.putItem(item.Put)
		return
	}
	b.transact([]types.TransactWriteItem{item})
}

// fill puts rows as fast as that goes.
func (b *bench) fill(rows int, notBefore time.Time) {
	b.Helper()
	const most = 100 // items of a transaction
	var items []types.TransactWriteItem
	for i := range rows {
		items = append(items, b.item(landfall.Row{
			Destination: destination, Key: fmt.Sprintf("%v-%d", notBefore.IsZero(), i), Payload: []byte("{}"), NotBefore: notBefore,
		}))
		if len(items) == most || i == rows-1 {
			b.transact(items)
			items = nil
		}
	}
}

// drain runs the dispatcher until nothing is left to do.
func (b *bench) drain() {
	b.Helper()
	for {
		report, err := b.dispatcher.RunOnce(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		if report.Empty() {
			return
		}
		if n := len(report.Completed) + len(report.Retried); n != report.Claimed() {
			b.Fatalf("%d claimed, %d completed or retried", report.Claimed(), n)
		}
	}
}
