package outboxdb_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outboxdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

var attributes = []string{
	schema.Status, schema.Lane, schema.LaneAt, schema.Payload, schema.PayloadEncoding, schema.ContentType, schema.Headers,
	schema.AttemptCount, schema.LookupCount, schema.Origin, schema.Token, schema.ClaimedBy, schema.ClaimedAt, schema.Until,
	schema.MaybeSince, schema.Window, schema.Code, schema.Cause, schema.RemoteRef, schema.CommandID, schema.Trace, schema.CreatedAt,
	schema.CompletedAt, schema.DeliverBy, schema.ExpiresAt, schema.ResolutionID, schema.ResolvedBy, schema.ResolvedAt, schema.Reason, schema.Forced,
}

var (
	texts = []string{
		"", "a", "pending", "dispatching", "outcome_unknown", "completed", "failed", "due#charge#0", "unknown#charge#0",
		"failed#charge#0", "due#mail#0", "due##", "gzip", "----------------------", "0123456789012345678901", "12:00",
	}
	numbers = []string{
		"0", "1", "-1", "5", "0.5", "946684800000", "946684840000", "1111111111111", "99999999999999", "100000000000000",
		"9223372036854775807", "9223372036854775808", "99999999999999999999999999999999999999", "1E+100", "-1E-130",
	}
)

func pick[T any](r *rand.Rand, all []T) T { return all[r.IntN(len(all))] }

// anyValue is a value of any type.
func anyValue(r *rand.Rand) types.AttributeValue {
	switch r.IntN(12) {
	case 0, 1, 2, 3:
		return s(pick(r, texts))
	case 4, 5, 6:
		return n(pick(r, numbers))
	case 7:
		return b(zipped([]byte(pick(r, texts))))
	case 8:
		return &types.AttributeValueMemberM{Value: item{"X-Tenant": anyValue(r)}}
	case 9:
		return &types.AttributeValueMemberL{Value: []types.AttributeValue{anyValue(r)}}
	case 10:
		return &types.AttributeValueMemberNS{Value: []string{"1", "2"}}
	}
	return &types.AttributeValueMemberNULL{Value: true}
}

// anyItem is a good row with a few attributes that are anything, or gone.
func anyItem(r *rand.Rand, pk string, at time.Time) item {
	row := foreign(pk, at)
	if r.IntN(2) == 0 {
		claim(row, at)
	}
	for range 1 + r.IntN(4) {
		name := pick(r, attributes)
		if row[name] = anyValue(r); r.IntN(6) == 0 {
			delete(row, name)
		}
	}
	return row
}

// TestDispatcherEndsWhateverTheItem stores items that are anything at all and sweeps until all must have ended.
func TestDispatcherEndsWhateverTheItem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.careless = true
		random := rand.New(rand.NewPCG(5, 6))
		stored := 0
		for i := range 500 {
			row := anyItem(random, fmt.Sprint("charge#", i), time.Now().Add(-time.Hour))
			if _, err := b.put(row); err == nil { // what the index cannot hold, DynamoDB refuses
				stored++
			}
		}
		if stored < 300 {
			t.Fatalf("only %d items were stored", stored)
		}
		d := outbox.Dispatcher{Store: b.Store, Destinations: []outbox.Destination{
			{Name: "charge", Sender: &counting{sent: map[outbox.ID]int{}}},
			{Name: "mail", Sender: &counting{sent: map[outbox.ID]int{}}},
		}}
		for range 3 {
			if _, err := d.RunOnce(t.Context()); err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Minute)
		}
		b.checkIdle(d)
	})
}

// bytesSource draws random numbers from what a fuzzer gives, and from a seeded source once that is used up.
type bytesSource struct {
	data []byte
	rest rand.PCG
}

func (s *bytesSource) Uint64() uint64 {
	if len(s.data) < 8 {
		return s.rest.Uint64()
	}
	defer func() { s.data = s.data[8:] }()
	return binary.LittleEndian.Uint64(s.data) ^ s.rest.Uint64()
}

// FuzzDecode reads any item: what is wrong with it is said, without its content, and the domain ends it.
func FuzzDecode(f *testing.F) {
	f.Add([]byte{}, "charge#order-42", "{}")
	f.Add([]byte("12345678abcdefgh12345678"), "Charge#", "\x1f\x8b\x08")
	for i := range 20 {
		seed := make([]byte, 400)
		random := rand.New(rand.NewPCG(7, uint64(i)))
		for j := range seed {
			seed[j] = byte(random.Uint32())
		}
		f.Add(seed, "charge#k", "secret payload")
	}
	f.Fuzz(func(t *testing.T, data []byte, pk, payload string) {
		random := rand.New(&bytesSource{data: data})
		i := anyItem(random, pk, time.UnixMilli(946684800000))
		i[pick(random, attributes)] = s(payload)
		i[pick(random, attributes)] = n(payload)
		i[pick(random, attributes)] = b([]byte(payload))
		row := outboxdb.Decode(i)
		if row.PK() != pk {
			t.Fatalf("the key %q was read as %q", pk, row.PK())
		}
		if row.Unreadable == nil {
			return
		}
		if len(payload) > 12 && !strings.Contains("the row cannot be read", payload) && strings.Contains(row.Unreadable.Error(), payload) {
			t.Errorf("the error tells content: %v", row.Unreadable)
		}
		checkEnds(t, row)
	})
}

// checkEnds checks that the domain ends an unreadable row, whatever is wrong with it.
func checkEnds(t *testing.T, row outbox.Row) {
	t.Helper()
	endOfTime := time.UnixMilli(1e14).Add(time.Hour)
	step := outbox.Examine(outbox.Policy{}.WithDefaults(), row, endOfTime)
	switch row.Status {
	case outbox.StatusOutcomeUnknown, outbox.StatusCompleted, outbox.StatusFailed:
		return
	}
	if step.Kind != outbox.End {
		t.Fatalf("step %v, want an end: %v", step.Kind, row.Unreadable)
	}
	after, err := step.Settlement.Apply(row)
	if err != nil || after.Status != outbox.StatusFailed && after.Status != outbox.StatusOutcomeUnknown {
		t.Fatalf("ended as %q, %v", after.Status, err)
	}
	if row.MayHaveArrived() && after.Status == outbox.StatusFailed {
		t.Fatal("a row of which an attempt may have arrived failed")
	}
}
