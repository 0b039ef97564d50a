package routingdb_test

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/routingdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

var (
	receiptAttributes = []string{
		schema.State, schema.Attempt, schema.Token, schema.Consumer, schema.OnDelivery, schema.AssignedAt, schema.Deadline,
		schema.Extensions, schema.Again, schema.Mark, schema.History, schema.EndedAt, schema.Reason, schema.ExpiresAt,
	}
	texts   = []string{"", "a", "pending", "declined", "accepted", "dead", "lapsed", "token-1", "north", "12:00"}
	numbers = []string{
		"0", "1", "-1", "2", "0.5", "946684800000", "99999999999999", "100000000000000", "9223372036854775807",
		"9223372036854775808", "99999999999999999999999999999999999999", "1E+100", "-1E-130",
	}
)

func pick[T any](r *rand.Rand, all []T) T { return all[r.IntN(len(all))] }

// anyValue is a value of any type.
func anyValue(r *rand.Rand, depth int) types.AttributeValue {
	choices := 10
	if depth == 0 {
		choices = 8
	}
	switch r.IntN(choices) {
	case 0, 1, 2:
		return s(pick(r, texts))
	case 3, 4:
		return n(pick(r, numbers))
	case 5:
		return &types.AttributeValueMemberB{Value: []byte(pick(r, texts))}
	case 6:
		return &types.AttributeValueMemberBOOL{Value: r.IntN(2) == 0}
	case 7:
		return &types.AttributeValueMemberNULL{Value: true}
	case 8:
		return &types.AttributeValueMemberM{Value: item{pick(r, receiptAttributes): anyValue(r, depth-1)}}
	}
	l := &types.AttributeValueMemberL{}
	for range r.IntN(3) {
		l.Value = append(l.Value, anyValue(r, depth-1))
	}
	return l
}

// anyReceipt is a good receipt with a few attributes that are anything, or gone.
func anyReceipt(r *rand.Rand) item {
	i := attempt(order)
	for range 1 + r.IntN(2) {
		name := pick(r, receiptAttributes)
		if i[name] = anyValue(r, 3); r.IntN(6) == 0 {
			delete(i, name)
		}
	}
	return i
}

// TestRouterHandlesEveryStoredReceipt: whatever is stored, it is one that moves work on, or ended, and a second
// reading says the same.
func TestRouterHandlesEveryStoredReceipt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		random := rand.New(rand.NewPCG(5, 6))
		ended, moved := 0, 0
		for range 600 {
			b.write(b.table, anyReceipt(random))
			got := b.got(order)
			if again := b.got(order); again.State != got.State || again.Reason != got.Reason {
				t.Fatalf("%q at first, then %q", got.State, again.State)
			}
			switch got.State {
			case routing.Accepted:
			case routing.Dead:
				ended++
				if got.Reason == "" {
					t.Fatalf("dead without a reason: %+v", got)
				}
			case routing.Pending, routing.Declined:
				b.movesOn(got)
				moved++
			case "": // past its retention
			default:
				t.Fatalf("state %q", got.State)
			}
		}
		if ended < 50 || moved < 50 {
			t.Errorf("%d ended and %d moved on, want many of both", ended, moved)
		}
	})
}

// movesOn checks that a receipt that was read is no receipt that refuses what the domain admits.
func (b *bench) movesOn(r routing.Receipt) {
	b.Helper()
	for _, kind := range []routing.MoveKind{routing.Extend, routing.Reassign, routing.Kill} {
		m := from(kind, r, "token-of-"+string(kind))
		want, meant := m.Apply(r)
		got, err := b.Write(b.Context(), m)
		var refused *routing.RefusedError
		switch {
		case meant != nil && !errors.As(err, &refused):
			b.Fatalf("%s: %v, want a refusal", kind, err)
		case meant == nil && (err != nil || got.State != want.State || len(got.History) != len(want.History)):
			b.Fatalf("%s made %+v (%v), want %+v", kind, got, err, want)
		case meant == nil:
			r = got
		}
	}
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

// FuzzDecode reads any item: it is a receipt that the router can work with, or it is said why not, without content.
func FuzzDecode(f *testing.F) {
	f.Add([]byte{}, "pending")
	f.Add([]byte("12345678abcdefgh12345678"), "99999999999999999999")
	f.Add([]byte("the quick brown fox jumps over the lazy dog"), "a secret payload")
	f.Fuzz(func(t *testing.T, data []byte, content string) {
		random := rand.New(&bytesSource{data: data})
		i := anyReceipt(random)
		i[pick(random, receiptAttributes)] = s(content)
		i[pick(random, receiptAttributes)] = n(content)
		got, err := routingdb.Decode(order, i)
		if err != nil {
			if len(content) > 12 && strings.Contains(err.Error(), content) && !strings.Contains("the receipt cannot be read", content) {
				t.Errorf("the error tells content: %v", err)
			}
			return
		}
		switch got.State {
		case routing.Pending, routing.Declined:
			if got.Attempt < 1 || got.Token == "" || got.Consumer == "" || got.Deadline.IsZero() {
				t.Errorf("nobody can work with %+v", got)
			}
			for _, tried := range got.Tried() {
				if tried == "" {
					t.Errorf("a consumer without a name was tried: %+v", got)
				}
			}
		case routing.Dead:
			if got.Reason == "" {
				t.Error("dead without a reason")
			}
		case routing.Accepted:
		default:
			t.Errorf("state %q was read without an error", got.State)
		}
	})
}
