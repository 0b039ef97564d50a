package outboxdb_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outboxdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

// counting is a remote that takes everything and counts.
type counting struct {
	mu   sync.Mutex
	sent map[outbox.ID]int
}

func (c *counting) Send(_ context.Context, row outbox.Row) outbox.Outcome {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent[row.ID]++
	return outbox.Completed("")
}

// TestBrokenRowEndsAndItsNeighboursAreSent has a dispatcher meet every broken kind of row among a
// thousand good ones.
func TestBrokenRowEndsAndItsNeighboursAreSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		now := time.Now()
		good, broken := putAmongGoodRows(b, now)
		remote := &counting{sent: map[outbox.ID]int{}}
		dispatcher := outbox.Dispatcher{Store: b.Store, ClaimedBy: "request-1", Destinations: []outbox.Destination{
			{Name: "charge", Sender: remote}, {Name: "mail", Sender: remote},
		}}
		for range 3 { // what the first run left would be found by the next ones
			if _, err := dispatcher.RunOnce(t.Context()); err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Minute)
		}
		for _, pk := range good {
			if got := b.item(pk)[schema.Status]; got.(*types.AttributeValueMemberS).Value != "completed" {
				t.Fatalf("a good row is %v", got)
			}
			if sent := remote.sent[outbox.ParsePK(pk)]; sent != 1 {
				t.Fatalf("a good row was sent %d times", sent)
			}
		}
		for i, c := range brokenRows {
			b.checkEnded(c.name, broken[i], c.maybe, remote)
		}
		b.checkIdle(dispatcher)
	})
}

// putAmongGoodRows stores 1,000 good rows and the broken ones, shuffled in time, and returns their keys.
func putAmongGoodRows(b *bench, now time.Time) (good, broken []string) {
	random := rand.New(rand.NewPCG(1, 2))
	at := func() time.Time { return now.Add(-time.Duration(random.IntN(3600)) * time.Second) }
	for i := range 1000 {
		good = append(good, "charge#good-"+strconv.Itoa(i))
		b.write(foreign(good[i], at()))
	}
	for i, c := range brokenRows {
		t := at()
		row := foreign("charge#broken-"+strconv.Itoa(i), t)
		c.change(row, t)
		b.write(row)
		broken = append(broken, row[schema.PK].(*types.AttributeValueMemberS).Value)
	}
	return good, broken
}

// checkEnded checks that a broken row ended as the design says, without having been sent.
func (b *bench) checkEnded(name, pk string, maybe bool, remote *counting) {
	b.Helper()
	row := b.item(pk)
	want, kind := "failed", "failed#"
	if maybe {
		want, kind = "outcome_unknown", "unknown#"
	}
	status, _ := row[schema.Status].(*types.AttributeValueMemberS)
	if status == nil || status.Value != want {
		b.Errorf("%s: status %v, want %s", name, row[schema.Status], want)
		return
	}
	if lane, _ := row[schema.Lane].(*types.AttributeValueMemberS); lane == nil || !strings.HasPrefix(lane.Value, kind) {
		b.Errorf("%s: lane %v, want %s...", name, row[schema.Lane], kind)
	}
	if code, _ := row[schema.Code].(*types.AttributeValueMemberS); code == nil || code.Value != outbox.CodeRowInvalid {
		b.Errorf("%s: code %v, want %s", name, row[schema.Code], outbox.CodeRowInvalid)
	}
	const most = 256
	if why, _ := row[schema.Cause].(*types.AttributeValueMemberS); why == nil || len(why.Value) > most || !strings.Contains(why.Value, "cannot be read: ") {
		b.Errorf("%s: cause %v, want what could not be read, in at most %d bytes", name, row[schema.Cause], most)
	}
	if _, set := row[schema.MaybeSince]; set != maybe {
		b.Errorf("%s: maybe_since is set: %v, want %v", name, set, maybe)
	}
	if _, set := row[schema.ExpiresAt]; set == maybe {
		b.Errorf("%s: expires_at is set: %v, want %v", name, set, !maybe)
	}
	if sent := remote.sent[outbox.ParsePK(pk)]; sent != 0 {
		b.Errorf("%s: it was sent", name)
	}
}

// checkIdle checks that a further run finds nothing to do and writes nothing.
func (b *bench) checkIdle(d outbox.Dispatcher) {
	b.Helper()
	b.account.Ledger().Reset()
	report, err := d.RunOnce(b.Context())
	if err != nil || !report.Empty() {
		b.Errorf("a further run: %+v, %v; want nothing to do", report, err)
	}
	for _, entry := range b.account.Ledger().Entries() {
		if entry.Operation != "Query" {
			b.Errorf("a further run still does %s", entry.Operation)
		}
	}
}

// noAnswer is a remote that does not know.
type noAnswer struct{}

func (noAnswer) Look(context.Context, outbox.Row) outbox.Answer { return outbox.Answer{} }

// TestReconcilerEndsMisplacedRows has rows of every status in an unknown lane.
func TestReconcilerEndsMisplacedRows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		at := time.Now().Add(-24 * time.Hour)
		want := map[string]string{
			"pending": "failed", "dispatching": "outcome_unknown", "completed": "failed", "failed": "failed", "no such": "failed",
			"claimed completed": "outcome_unknown", "claimed failed": "outcome_unknown",
		}
		for name := range want {
			row := foreign("charge#"+name, at)
			status, claimed := strings.CutPrefix(name, "claimed ")
			if claimed || status == "dispatching" {
				claim(row, at)
			}
			row[schema.Status], row[schema.Lane] = s(status), s("unknown#charge#0")
			b.write(row)
		}
		reconciler := outbox.Reconciler{Store: b.Store, Destinations: []outbox.Destination{{Name: "charge", Lookup: noAnswer{}}}}
		for range 2 { // rows that become unknown are asked about at once; the remote does not know
			if _, err := reconciler.RunOnce(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for name, status := range want {
			if got := b.item("charge#" + name)[schema.Status].(*types.AttributeValueMemberS).Value; got != status {
				t.Errorf("%s became %s, want %s", name, got, status)
			}
		}
		b.account.Ledger().Reset()
		if _, err := reconciler.RunOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, entry := range b.account.Ledger().Entries() {
			if entry.Operation != "Query" {
				t.Errorf("a further run still does %s", entry.Operation)
			}
		}
	})
}

// TestBrokenRowThatChangedIsNotEnded changes each fenced attribute after it was read.
func TestBrokenRowThatChangedIsNotEnded(t *testing.T) {
	t.Parallel()
	changes := item{
		schema.Status: n(1), schema.Token: b([]byte("t")), schema.AttemptCount: s("1"), schema.ResolutionID: s("order-2"),
	}
	for _, name := range []string{schema.Status, schema.Token, schema.AttemptCount, schema.ResolutionID} {
		for _, from := range []types.AttributeValue{nil, n(7), s("7"), &types.AttributeValueMemberNULL{Value: true}, &types.AttributeValueMemberL{Value: []types.AttributeValue{n(1)}}} {
			bench := newBench(t)
			row := foreign("charge#k", time.Now())
			row[schema.Payload] = n(1)
			if row[name] = from; from == nil {
				delete(row, name)
			}
			bench.write(row)
			read, err := bench.Get(t.Context(), outbox.ID{Destination: "charge", Key: "k"})
			if err != nil || read.Unreadable == nil {
				t.Fatalf("%s: read %v, unreadable: %v", name, err, read.Unreadable)
			}
			step := outbox.Examine(outbox.Policy{}.WithDefaults(), read, time.Now())
			if step.Kind != outbox.End {
				t.Fatalf("%s: step %v, want an end", name, step.Kind)
			}
			changed := maps.Clone(row)
			changed[name] = changes[name]
			bench.write(changed)
			if err := bench.Settle(t.Context(), step.Settlement); err != outbox.ErrConflict {
				t.Errorf("%s changed from %v: %v, want a conflict", name, from, err)
			}
			bench.write(row)
			if err := bench.Settle(t.Context(), step.Settlement); err != nil {
				t.Errorf("%s is %v as read: %v, want it ended", name, from, err)
			}
		}
	}
}

// TestRowThatChangedSinceItWasReadIsNotEnded: neither is a row made of nothing, nor is one called failed
// of which an attempt may have arrived.
func TestRowThatChangedSinceItWasReadIsNotEnded(t *testing.T) {
	t.Parallel()
	bench := newBench(t)
	id := outbox.ID{Destination: "charge", Key: "k"}
	bare := foreign(id.PK(), time.Now()) // nothing of what fences a write is there
	delete(bare, schema.Status)
	doubtful := foreign(id.PK(), time.Now())
	doubtful[schema.DeliverBy] = n(1)
	for _, row := range []item{bare, doubtful} {
		bench.write(row)
		read, err := bench.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		end := outbox.Examine(outbox.Policy{}.WithDefaults(), read, time.Now()).Settlement
		if end.Status != outbox.StatusFailed {
			t.Fatalf("would end as %q", end.Status)
		}
		bench.remove(id.PK())
		if err := bench.Settle(t.Context(), end); err != outbox.ErrConflict || bench.item(id.PK()) != nil {
			t.Errorf("a row that is gone: %v, and there is %v", err, bench.item(id.PK()))
		}
		row[schema.MaybeSince] = n(5)
		bench.write(row)
		if err := bench.Settle(t.Context(), end); err != outbox.ErrConflict {
			t.Errorf("a row in doubt: %v, want a conflict", err)
		}
	}
}

// TestGzipBombIsReadOnlyUpToTheBound reads one. It is not parallel, so that only its own memory is counted.
func TestGzipBombIsReadOnlyUpToTheBound(t *testing.T) {
	row := foreign("charge#k", time.Now())
	row[schema.PayloadEncoding], row[schema.Payload] = s("gzip"), b(zipped(make([]byte, 64<<20)))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	read := outboxdb.Decode(row)
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; read.Unreadable == nil || used > 8*outboxdb.MaxPayload {
		t.Errorf("%d bytes allocated; %v", used, read.Unreadable)
	}
}
