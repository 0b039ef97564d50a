package routingdb_test

import (
	"errors"
	"maps"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/schema"
)

// order is a message of usual size: the hash of an outbox key.
var order = routing.ID{Group: "couriers", Message: strings.Repeat("4bf92f35", 8)}

func assign(id routing.ID, token string) routing.Move {
	now := time.Now().Truncate(time.Millisecond)
	return routing.Move{
		ID: id, Kind: routing.Assign, From: routing.Receipt{ID: id}, Token: token, At: now,
		Consumer: "north", Deadline: now.Add(30 * time.Second),
	}
}

// from is a move of the router's from a receipt.
func from(kind routing.MoveKind, r routing.Receipt, token string) routing.Move {
	now := time.Now().Truncate(time.Millisecond)
	return routing.Move{
		ID: r.ID, Kind: kind, From: r, Token: token, At: now, Consumer: "south", Deadline: now.Add(time.Minute),
		End: routing.EndLapsed, Seen: now, Reason: routing.ReasonMaxWait,
	}
}

func accept(r routing.Receipt) routing.Move {
	return routing.AcceptMove(r.ID, r.Attempt, r.Token, time.Now().Truncate(time.Millisecond))
}

func (b *bench) made(m routing.Move) routing.Receipt {
	b.Helper()
	receipt, err := b.Write(b.Context(), m)
	if err != nil {
		b.Fatalf("%s: %v", m.Kind, err)
	}
	return receipt
}

func (b *bench) got(id routing.ID) routing.Receipt {
	b.Helper()
	receipt, err := b.Get(b.Context(), id)
	if err != nil {
		b.Fatal(err)
	}
	return receipt
}

// TestTransientFailureIsRetried: a transaction on the same item and throttling are repeated by the write itself,
// and an answer that was lost or spoilt does not make it happen twice.
func TestTransientFailureIsRetried(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]faults.Fault{
		"conflict": {Error: faults.Conflict}, "throttle": {Error: faults.Throttle}, "internal": {Error: faults.Internal},
		"unavailable": {Error: faults.Unavailable}, "lost answer": {LoseAnswer: true}, "spoilt answer": {SpoilAnswer: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				for _, m := range []func(routing.Receipt) routing.Move{
					func(routing.Receipt) routing.Move { return assign(order, "token-1") },
					func(r routing.Receipt) routing.Move { return from(routing.Extend, r, "token-2") },
					func(r routing.Receipt) routing.Move { return from(routing.Reassign, r, "token-3") },
					accept,
				} {
					move := m(b.got(order))
					b.next(fault)
					b.made(move)
					if b.fault.Load() != nil {
						t.Fatalf("%s did not meet the fault", move.Kind)
					}
				}
				end := b.got(order)
				if end.State != routing.Accepted || end.Attempt != 2 || len(end.History) != 1 || end.Extensions != 0 {
					t.Errorf("%+v, want it accepted at the second attempt", end)
				}
				if err := b.control.Join(t.Context(), "couriers", routing.Consumer{ID: "east", Target: "sqs:east"}, "test"); err != nil {
					t.Fatal(err)
				}
				b.next(fault)
				if err := b.control.Leave(t.Context(), "couriers", "east"); err != nil || b.fault.Load() != nil {
					t.Errorf("leave: %v", err)
				}
			})
		})
	}
}

// TestLastingFailureIsAnErrorOtherThanARefusal: after a refusal the router would decide on what it does not know.
func TestLastingFailureIsAnErrorOtherThanARefusal(t *testing.T) {
	t.Parallel()
	for _, kind := range []faults.Error{faults.Conflict, faults.Throttle, faults.Internal} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				receipt := b.made(assign(order, "token-1"))
				b.fallback = func(faults.Request) faults.Fault { return faults.Fault{Error: kind} }
				for _, m := range []routing.Move{assign(order, "token-2"), from(routing.Reassign, receipt, "token-3"), accept(receipt)} {
					_, err := b.Write(t.Context(), m)
					var refused *routing.RefusedError
					if err == nil || errors.As(err, &refused) {
						t.Errorf("%s: %v, want the trouble itself", m.Kind, err)
					}
				}
				if _, err := b.Get(t.Context(), order); err == nil && kind != faults.Conflict {
					t.Error("a receipt was read that could not be")
				}
			})
		})
	}
}

// TestExpiredReceiptCountsAsAbsent, though the table's time to live has not deleted it.
func TestExpiredReceiptCountsAsAbsent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		old := b.made(accept(b.made(assign(order, "token-1"))))
		<-time.After(routing.Retention - time.Second)
		if _, err := b.Write(t.Context(), assign(order, "token-2")); err == nil {
			t.Error("a receipt was replaced before its retention was over")
		}
		<-time.After(time.Second)
		if got := b.got(order); got.State != "" {
			t.Errorf("%q was read after its retention", got.State)
		}
		var refused *routing.RefusedError
		if _, err := b.Write(t.Context(), accept(old)); !errors.As(err, &refused) || refused.Receipt.State != "" {
			t.Errorf("accept again: %v, want a refusal without a receipt", err)
		}
		if next := b.made(assign(order, "token-2")); next.Attempt != 1 || b.got(order).Token != "token-2" {
			t.Errorf("%+v, want a first attempt", next)
		}
	})
}

// TestReceiptOutlivesItsMessage: 15 days from the last one.
func TestReceiptOutlivesItsMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		m := assign(order, "token-1")
		m.OnDelivery = true
		receipt := b.made(m)
		check := func() {
			t.Helper()
			want := time.Now().Add(15 * 24 * time.Hour).Truncate(time.Second)
			if stored := b.got(order); !stored.ExpiresAt.Equal(want) {
				t.Errorf("kept until %v, want %v", stored.ExpiresAt, want)
			}
		}
		check()
		for _, kind := range []routing.MoveKind{routing.Extend, routing.Reassign, routing.MarkAgain, routing.Accept, routing.Kill} {
			<-time.After(time.Hour)
			next := from(kind, receipt, "token-"+string(kind))
			switch kind {
			case routing.Reassign:
				next.OnDelivery = true
			case routing.Kill: // of another message
				order := routing.ID{Group: "couriers", Message: "other"}
				next.ID, next.From = order, routing.Receipt{ID: order}
			}
			if receipt = b.made(next); kind == routing.Kill {
				continue
			}
			check()
		}
	})
}

// TestARepeatedMarkChangesNothing, however late it comes.
func TestARepeatedMarkChangesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		m := assign(order, "token-1")
		m.OnDelivery = true
		receipt := b.made(m)
		b.made(from(routing.MarkAgain, receipt, ""))
		before := b.stored(order)
		<-time.After(time.Hour)
		b.made(from(routing.MarkAgain, receipt, ""))
		if after := b.stored(order); !reflect.DeepEqual(before, after) {
			t.Errorf("changed from %v to %v", before, after)
		}
	})
}

// TestAcceptanceFromAnyLanguageCounts: it is one update, as docs for consumers have it.
func TestAcceptanceFromAnyLanguageCounts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	receipt := b.made(assign(order, "token-1"))
	foreign := func() error {
		_, err := b.client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: aws.String(b.table), Key: item{"pk": s(order.String())},
			UpdateExpression:         aws.String("SET #state = :accepted, ended_at = :now"),
			ConditionExpression:      aws.String("#state = :pending AND attempt = :attempt AND #token = :token"),
			ExpressionAttributeNames: map[string]string{"#state": "state", "#token": "token"},
			ExpressionAttributeValues: item{
				":accepted": s("accepted"), ":pending": s("pending"), ":attempt": n("1"), ":token": s("token-1"),
				":now": s("yesterday"), // and it need not get everything right
			},
		})
		return err
	}
	if err := foreign(); err != nil {
		t.Fatal(err)
	}
	for _, m := range []routing.Move{
		from(routing.Reassign, receipt, "token-2"), from(routing.Extend, receipt, "token-2"), from(routing.Kill, receipt, "token-2"),
	} {
		var refused *routing.RefusedError
		if _, err := b.Write(t.Context(), m); !errors.As(err, &refused) || refused.Receipt.State != routing.Accepted {
			t.Errorf("%s: %v, want it refused as accepted", m.Kind, err)
		}
	}
	if got := b.got(order); got.State != routing.Accepted || got.Consumer != "north" {
		t.Errorf("%+v, want it accepted", got)
	}
	b.write(b.table, item{"pk": s(order.String()), "state": s("pending"), "attempt": n("2"), "token": s("token-2"), "consumer": s("south"), "deadline": n("1")})
	if err := foreign(); err == nil {
		t.Error("an acceptance of an attempt that is over was granted")
	}
}

// attempt is a pending receipt as it is stored.
func attempt(id routing.ID) item {
	return item{
		schema.PK: s(id.String()), schema.State: s("pending"), schema.Attempt: n("2"), schema.Token: s("token-1"),
		schema.Consumer: s("north"), schema.AssignedAt: n("946684800000"), schema.Deadline: n("946684830000"),
		schema.History: past(item{schema.Consumer: s("south"), schema.End: s("lapsed")}), schema.ExpiresAt: n("99999999999"),
	}
}

func past(elements ...item) types.AttributeValue {
	l := &types.AttributeValueMemberL{}
	for _, element := range elements {
		l.Value = append(l.Value, &types.AttributeValueMemberM{Value: element})
	}
	return l
}

// brokenReceipts are all kinds of receipts that nobody can work with.
var brokenReceipts = []struct {
	name   string
	change func(item)
}{
	{"no state", func(i item) { delete(i, schema.State) }},
	{"unknown state", func(i item) { i[schema.State] = s("Accepted") }},
	{"state a number", func(i item) { i[schema.State] = n("1") }},
	{"no token", func(i item) { delete(i, schema.Token) }},
	{"empty token", func(i item) { i[schema.Token] = s("") }},
	{"token of bytes", func(i item) { i[schema.Token] = &types.AttributeValueMemberB{Value: []byte("token-1")} }},
	{"no attempt", func(i item) { delete(i, schema.Attempt) }},
	{"attempt a text", func(i item) { i[schema.Attempt] = s("2") }},
	{"attempt 0", func(i item) { i[schema.Attempt] = n("0") }},
	{"attempt a fraction", func(i item) { i[schema.Attempt] = n("1.5") }},
	{"attempt huge", func(i item) { i[schema.Attempt] = n("99999999999999999999") }},
	{"no consumer", func(i item) { delete(i, schema.Consumer) }},
	{"no deadline", func(i item) { delete(i, schema.Deadline) }},
	{"deadline a text", func(i item) { i[schema.Deadline] = s("soon") }},
	{"deadline in nanoseconds", func(i item) { i[schema.Deadline] = n("946684830000000000") }},
	{"history a text", func(i item) { i[schema.History] = s("south") }},
	{"history of texts", func(i item) {
		i[schema.History] = &types.AttributeValueMemberL{Value: []types.AttributeValue{s("south")}}
	}},
	{"history without names", func(i item) { i[schema.History] = past(item{schema.End: s("lapsed")}) }},
	{"history with numbers for names", func(i item) { i[schema.History] = past(item{schema.Consumer: n("1")}) }},
	{"on delivery a text", func(i item) { i[schema.OnDelivery] = s("true") }},
	{"again a number", func(i item) { i[schema.Again] = n("1") }},
	{"declined, and no consumer", func(i item) { i[schema.State] = s("declined"); delete(i, schema.Consumer) }},
	{"nothing but a key", func(i item) {
		maps.DeleteFunc(i, func(k string, _ types.AttributeValue) bool { return k != schema.PK })
	}},
	{"full to the brim", func(i item) {
		delete(i, schema.Deadline)
		i["note"] = s(strings.Repeat("x", 408_900))
	}},
}

// TestBrokenReceiptIsEnded: it is dead, once and for all, whoever reads it first.
func TestBrokenReceiptIsEnded(t *testing.T) {
	t.Parallel()
	refusal := func(m func() routing.Move) func(b *bench) (routing.Receipt, error) {
		return func(b *bench) (routing.Receipt, error) {
			_, err := b.Write(b.Context(), m())
			var refused *routing.RefusedError
			if !errors.As(err, &refused) {
				return routing.Receipt{}, err
			}
			return refused.Receipt, nil
		}
	}
	reads := map[string]func(b *bench) (routing.Receipt, error){
		"get":    func(b *bench) (routing.Receipt, error) { return b.Get(b.Context(), order) },
		"assign": refusal(func() routing.Move { return assign(order, "token-2") }),
		"accept": refusal(func() routing.Move { return routing.AcceptMove(order, 2, "", time.Now()) }),
	}
	for _, c := range brokenReceipts {
		for how, read := range reads {
			t.Run(c.name+"/"+how, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					b := newBench(t)
					broken := attempt(order)
					c.change(broken)
					b.write(b.table, broken)
					b.next(faults.Fault{LoseAnswer: true})
					got, err := read(b)
					if err != nil || got.State != routing.Dead || got.Reason == "" {
						t.Fatalf("%+v, %v; want it dead, with a reason", got, err)
					}
					if invalid, _ := b.stored(order)[schema.Invalid].(*types.AttributeValueMemberS); invalid == nil || invalid.Value == "" {
						t.Error("it is not stored what was wrong")
					}
					var refused *routing.RefusedError
					for _, token := range []string{"token-1", ""} {
						if _, err := b.Write(t.Context(), routing.AcceptMove(order, 2, token, time.Now())); !errors.As(err, &refused) {
							t.Errorf("accept with token %q: %v, want a refusal", token, err)
						}
					}
					if again := b.got(order); again.State != routing.Dead || again.Reason != got.Reason {
						t.Errorf("read again: %+v", again)
					}
				})
			})
		}
	}
}

// TestBrokenReceiptStaysIfAcceptedMeanwhile: one has read it and is slow, and its consumer accepts.
func TestBrokenReceiptStaysIfAcceptedMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		broken := attempt(order)
		broken[schema.Deadline] = s("soon")
		b.write(b.table, broken)
		b.fallback = func(r faults.Request) faults.Fault {
			if r.Operation == "PutItem" {
				return faults.Fault{Before: time.Second}
			}
			return faults.Fault{}
		}
		read := make(chan routing.Receipt)
		go func() { read <- b.got(order) }()
		synctest.Wait()
		b.made(routing.AcceptMove(order, 2, "token-1", time.Now()))
		if got := <-read; got.State != routing.Accepted || b.got(order).State != routing.Accepted {
			t.Errorf("%+v, want it accepted", got)
		}
	})
}

// TestEndedReceiptNeedsOnlyItsState: accepted is accepted, and dead is dead.
func TestEndedReceiptNeedsOnlyItsState(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for state, want := range map[string]routing.State{"accepted": routing.Accepted, "dead": routing.Dead} {
		ended := item{
			schema.PK: s(order.String()), schema.State: s(state), schema.Attempt: s("two"), schema.Deadline: yes(),
			schema.History: n("1"), schema.Reason: n("7"), schema.Token: n("1"), schema.ExpiresAt: s("never"),
		}
		b.write(b.table, ended)
		if got := b.got(order); got.State != want || want == routing.Dead && got.Reason == "" {
			t.Errorf("%s was read as %+v", state, got)
		}
	}
}
