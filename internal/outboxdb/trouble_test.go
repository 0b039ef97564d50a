package outboxdb_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"

	"github.com/landfall-dev/landfall/internal/lab/localaws"
	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outboxdb"
)

// writes are the writes of a store, each after what must come before it.
func (b *bench) writes() []struct {
	name   string
	before func()
	write  func() error
} {
	row := pending("k-secret", []byte("payload-secret"))
	var claimed outbox.Row
	done := func(row outbox.Row) outbox.Settlement {
		return outbox.Decide(outbox.Policy{}.WithDefaults(), row, outbox.Completed("ch_1"), time.Now())
	}
	return []struct {
		name   string
		before func()
		write  func() error
	}{
		{"put", func() {}, func() error { return b.Put(b.Context(), row) }},
		{"claim", func() {}, func() error {
			_, err := b.Claim(b.Context(), outbox.Claim{ID: row.ID, Token: "t-secret", At: time.Now(), Until: time.Now(), Attempts: 5})
			return err
		}},
		{"take over", func() { claimed, _ = b.Get(b.Context(), row.ID) }, func() error {
			got, err := b.Claim(b.Context(), outbox.Claim{ID: row.ID, Token: "u-secret", At: time.Now(), Until: time.Now(), Attempts: 5, From: &claimed})
			if err == nil {
				claimed = got
			}
			return err
		}},
		{"settle", func() {}, func() error { return b.Settle(b.Context(), done(claimed)) }},
	}
}

// TestPassingTroubleIsRetried: a transaction on the same item and throttling are repeated by the
// write itself, and an answer that was lost or spoilt does not make it happen twice.
func TestPassingTroubleIsRetried(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]faults.Fault{
		"conflict": {Error: faults.Conflict}, "throttle": {Error: faults.Throttle}, "internal": {Error: faults.Internal},
		"unavailable": {Error: faults.Unavailable}, "lost answer": {LoseAnswer: true}, "spoilt answer": {SpoilAnswer: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				for _, w := range b.writes() {
					w.before()
					b.next(fault)
					if err := w.write(); err != nil {
						t.Errorf("%s: %v", w.name, err)
					}
					if b.fault.Load() != nil {
						t.Fatalf("%s did not meet the fault", w.name)
					}
				}
				row, err := b.Get(t.Context(), outbox.ID{Destination: "charge", Key: "k-secret"})
				if err != nil || row.Status != outbox.StatusCompleted || row.AttemptCount != 2 {
					t.Errorf("the row is %q after %d claims, %v; want completed after 2", row.Status, row.AttemptCount, err)
				}
			})
		})
	}
}

// TestLastingTroubleIsAnErrorWithoutSecrets: what stays down is an error of its own kind, and
// it names the row without its key.
func TestLastingTroubleIsAnErrorWithoutSecrets(t *testing.T) {
	t.Parallel()
	for _, kind := range []faults.Error{faults.Conflict, faults.Throttle, faults.Internal} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				var down bool
				b.fallback = func(faults.Request) faults.Fault {
					if down {
						return faults.Fault{Error: kind}
					}
					return faults.Fault{}
				}
				for _, w := range b.writes() {
					w.before()
					down = true
					err := w.write()
					var refused *outbox.RefusedError
					if err == nil || errors.Is(err, outbox.ErrConflict) || errors.Is(err, outbox.ErrExists) || errors.As(err, &refused) {
						t.Errorf("%s: %v, want the trouble itself", w.name, err)
						continue
					}
					if strings.Contains(err.Error(), "secret") {
						t.Errorf("%s: the error tells a secret: %v", w.name, err)
					}
					down = false
					if err := w.write(); err != nil {
						t.Errorf("%s, when it is over: %v", w.name, err)
					}
				}
			})
		})
	}
}

// TestWaitsAreThoseOfTheClient, so that a simulation with a seeded client is the same in every run.
func TestWaitsAreThoseOfTheClient(t *testing.T) {
	t.Parallel()
	waited := func(seed uint64) (total time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			account := localaws.New(localaws.Options{Faults: func(r faults.Request) faults.Fault {
				if r.Operation == "PutItem" && r.Seq < 4 {
					return faults.Fault{Error: faults.Conflict}
				}
				return faults.Fault{}
			}})
			client := dynamodb.NewFromConfig(account.Config("test"), func(o *dynamodb.Options) {
				o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) {
					o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) {
						return time.Duration(random.Int64N(int64(time.Second))), nil
					})
				})
			})
			if _, err := client.CreateTable(t.Context(), outboxdb.Table(table)); err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			if err := outboxdb.New(client, table).Put(t.Context(), pending("k", nil)); err != nil {
				t.Fatal(err)
			}
			total = time.Since(begun)
		})
		return total
	}
	first, same, other := waited(1), waited(1), waited(2)
	if first == 0 || first != same || first == other {
		t.Errorf("waited %v and %v with one seed, %v with another", first, same, other)
	}
}

// invalidUpdates is a DynamoDB to which no update makes sense: a mistake of ours, not of a row.
type invalidUpdates struct{ *dynamodb.Client }

func (invalidUpdates) UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return nil, &smithy.GenericAPIError{Code: "ValidationException", Message: "no such operand"}
}

// TestWriteThatDynamoDBRejectsEndsNoRow: a good row is not called broken because a write of ours is.
func TestWriteThatDynamoDBRejectsEndsNoRow(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	row := pending("k", []byte("{}"))
	b.insert(row, false)
	before := b.item(row.PK())
	d := outbox.Dispatcher{Store: outboxdb.New(invalidUpdates{b.client}, table), Destinations: []outbox.Destination{
		{Name: "charge", Sender: &counting{sent: map[outbox.ID]int{}}},
	}}
	if report, err := d.RunOnce(t.Context()); err == nil || !report.Empty() {
		t.Errorf("%+v, %v; want the error and nothing else", report, err)
	}
	if after := b.item(row.PK()); !reflect.DeepEqual(before, after) {
		t.Errorf("the row changed: %v", after)
	}
}

// TestInvalidCursorIsRefused, and one that was made is opaque to keys that contain separators.
func TestInvalidCursorIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	lane := outbox.Lane{Kind: outbox.DueLane, Destination: "charge"}
	if _, _, err := b.List(t.Context(), lane, time.Now(), "no cursor"); err == nil {
		t.Error("a cursor without a time was taken")
	}
	for i := range 150 {
		b.insert(pending(fmt.Sprint("#a#", i, "#"), nil), false)
	}
	seen := map[outbox.ID]bool{}
	for after := ""; ; {
		page, next, err := b.List(t.Context(), lane, time.Now(), after)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range page {
			seen[entry.ID] = true
		}
		if after = next; after == "" {
			break
		}
	}
	if len(seen) != 150 {
		t.Errorf("listed %d rows, want 150", len(seen))
	}
}

// TestRowThatWasPutOffIsClaimedWithoutReadingIt: within a run, what a settlement made of the row is what the next
// claim is conditional on.
func TestRowThatWasPutOffIsClaimedWithoutReadingIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		row := pending("k", []byte("{}"))
		b.insert(row, false)
		remote := refusing(3)
		d := outbox.Dispatcher{Store: b.Store, Destinations: []outbox.Destination{{
			Name: "charge", Policy: outbox.Policy{Deduplicates: outbox.Always}, Sender: &remote,
		}}}
		report, err := d.RunOnce(t.Context())
		if err != nil || len(report.Completed) != 1 || len(report.Retried) != 3 {
			t.Fatalf("%+v, %v; want it completed after three times", report, err)
		}
		operations := map[string]int{}
		for _, entry := range b.account.Ledger().Entries() {
			operations[entry.Operation]++
		}
		if operations["UpdateItem"] != 8 || operations["GetItem"] != 0 {
			t.Errorf("%v, want 8 updates and no reading", operations)
		}
	})
}

// refusing is a remote that refuses so many times, every other time without a clear answer.
type refusing int

func (r *refusing) Send(context.Context, outbox.Row) outbox.Outcome {
	switch *r--; {
	case *r < 0:
		return outbox.Completed("ch_1")
	case *r%2 == 0:
		return outbox.Unknown("", "test.no_answer")
	}
	return outbox.Retryable("test.busy", 0)
}
