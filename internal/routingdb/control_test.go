package routingdb_test

import (
	"context"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/routingdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

// TestInvalidControlWritesAreRefused.
func TestInvalidControlWritesAreRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	good := routing.Consumer{ID: "east", Target: "sqs:east"}
	for name, change := range map[string]func(*routing.Consumer){
		"no id":              func(c *routing.Consumer) { c.ID = "" },
		"id with separator":  func(c *routing.Consumer) { c.ID = "a#b" },
		"id too long":        func(c *routing.Consumer) { c.ID = strings.Repeat("a", 64) },
		"no target":          func(c *routing.Consumer) { c.Target = "" },
		"target of no kind":  func(c *routing.Consumer) { c.Target = "east" },
		"target of nothing":  func(c *routing.Consumer) { c.Target = "sqs:" },
		"target with spaces": func(c *routing.Consumer) { c.Target = "sqs:a b" },
		"target elsewhere":   func(c *routing.Consumer) { c.Target = "http://example.com" },
		"negative weight":    func(c *routing.Consumer) { c.Weight = -1 },
		"huge weight":        func(c *routing.Consumer) { c.Weight = routing.MaxWeight + 1 },
		"negative limit":     func(c *routing.Consumer) { c.MaxInFlight = -1 },
		"too many tags":      func(c *routing.Consumer) { c.Tags = make([]string, routing.MaxTags+1) },
		"empty tag":          func(c *routing.Consumer) { c.Tags = []string{""} },
		"tag of bytes":       func(c *routing.Consumer) { c.Tags = []string{"\xff"} },
		"long tag":           func(c *routing.Consumer) { c.Tags = []string{strings.Repeat("t", routing.MaxTagBytes+1)} },
		"lease over":         func(c *routing.Consumer) { c.LeaseUntil = time.Now().Add(-time.Second) },
		"lease without end":  func(c *routing.Consumer) { c.LeaseUntil = time.UnixMilli(1e14) },
	} {
		c := good
		change(&c)
		if err := b.control.Join(t.Context(), "couriers", c, "ada"); err == nil {
			t.Errorf("%s: %+v has joined", name, c)
		}
	}
	for name, err := range map[string]error{
		"join":  b.control.Join(t.Context(), "a#b", good, ""),
		"renew": b.control.Renew(t.Context(), "a#b", "east", time.Now().Add(time.Minute)),
		"lease": b.control.Renew(t.Context(), "couriers", "east", time.Now()),
		"drain": b.control.Drain(t.Context(), "couriers", "", true, ""),
		"leave": b.control.Leave(t.Context(), "Couriers", "east"),
		"set":   b.control.SetRoute(t.Context(), "", routingdb.Route{Kind: "cel"}, ""),
		"reset": b.control.ResetRoute(t.Context(), ""),
	} {
		if err == nil || errors.Is(err, routingdb.ErrNoMember) {
			t.Errorf("%s: %v, want to hear what is wrong", name, err)
		}
	}
	if o, err := b.control.Read(t.Context(), "couriers"); err != nil || len(o.Members)+len(o.Problems) > 0 {
		t.Errorf("stored: %+v, %v", o, err)
	}
}

// TestRenewalNeedsALease who was removed, or never joined with a lease; and it takes no time away.
func TestRenewalNeedsALease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		renew := func(d time.Duration) error {
			return b.control.Renew(t.Context(), "couriers", "east", time.Now().Add(d))
		}
		join := func(until time.Time) {
			t.Helper()
			east := routing.Consumer{ID: "east", Target: "sqs:east", LeaseUntil: until}
			if err := b.control.Join(t.Context(), "couriers", east, "ada"); err != nil {
				t.Fatal(err)
			}
		}
		refused := func(what string) {
			t.Helper()
			if err := renew(time.Minute); !errors.Is(err, routingdb.ErrNoMember) {
				t.Errorf("%s: %v, want ErrNoMember", what, err)
			}
		}
		refused("never joined")
		if err := b.control.Drain(t.Context(), "couriers", "east", true, "ada"); err != nil {
			t.Fatal(err)
		}
		refused("only spoken of")
		join(time.Time{})
		refused("joined for good")
		join(time.Now().Add(time.Minute))
		b.expires("group#couriers", "member#east", time.Now().Add(24*time.Hour+time.Minute))
		b.next(faults.Fault{LoseAnswer: true})
		if err := renew(time.Hour); err != nil {
			t.Errorf("renew, with the answer lost: %v", err)
		}
		if err := renew(time.Minute); err != nil { // it comes late, or by another way
			t.Errorf("renew for less: %v", err)
		}
		b.expires("group#couriers", "member#east", time.Now().Add(25*time.Hour))
		o, err := b.control.Read(t.Context(), "couriers")
		if err != nil || len(o.Members) != 1 || time.Until(o.Members[0].Consumer.LeaseUntil) < 59*time.Minute {
			t.Errorf("%+v, %v; want a lease of an hour", o.Members, err)
		}
		if err := b.control.Leave(t.Context(), "couriers", "east"); err != nil {
			t.Fatal(err)
		}
		refused("removed")
	})
}

// joins is a client on which somebody joins before each deletion.
type joins struct {
	*dynamodb.Client
	join func()
}

func (c joins) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, o ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	c.join()
	return c.Client.DeleteItem(ctx, in, o...)
}

// An item that cannot be read is removed so that its consumer drains no more; one that was written since can be.
func TestStopDrainingKeepsAConcurrentJoin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.write(schema.ControlTable, item{"pk": s("group#couriers"), "sk": s("member#east"), "draining": s("yes"), "weight": s("heavy")})
		time.Sleep(time.Second)
		control := routingdb.NewControl(joins{b.client, func() {
			time.Sleep(time.Second)
			if err := b.control.Join(t.Context(), "couriers", routing.Consumer{ID: "east", Target: "sqs:east"}, "east itself"); err != nil {
				t.Error(err)
			}
		}}, schema.ControlTable)
		if err := control.Drain(t.Context(), "couriers", "east", false, "ada"); err != nil {
			t.Error(err)
		}
		if o, err := b.control.Read(t.Context(), "couriers"); err != nil || len(o.Members) != 1 || o.Members[0].Consumer.Target != "sqs:east" {
			t.Errorf("%+v, %v", o, err)
		}
	})
}

// expires checks when the table's time to live deletes a control item.
func (b *bench) expires(pk, sk string, want time.Time) {
	b.Helper()
	out, err := b.client.GetItem(b.Context(), &dynamodb.GetItemInput{
		TableName: aws.String(schema.ControlTable), Key: item{"pk": s(pk), "sk": s(sk)},
	})
	if err != nil || !reflect.DeepEqual(out.Item[schema.ExpiresAt], n(strconv.FormatInt(want.Unix(), 10))) {
		b.Errorf("%s expires at %v (%v), want %d", sk, out.Item[schema.ExpiresAt], err, want.Unix())
	}
}

// TestAuthorOfAChangeIsStored, nor cut within a character.
func TestAuthorOfAChangeIsStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		by := "a" + strings.Repeat("ä", 200)
		err := errors.Join(
			b.control.SetRoute(t.Context(), "couriers", routingdb.Route{Kind: "cel", Argument: "consumers[0]"}, by),
			b.control.Join(t.Context(), "couriers", routing.Consumer{ID: "east", Target: "sqs:east"}, "ada"),
			b.control.Drain(t.Context(), "couriers", "north", true, "bob"),
		)
		if err != nil {
			t.Fatal(err)
		}
		o, err := b.control.Read(t.Context(), "couriers")
		if err != nil || o.Route == nil || len(o.Members) != 2 {
			t.Fatalf("%+v, %v", o, err)
		}
		now := time.Now().Truncate(time.Millisecond)
		if r := o.Route; r.Kind != "cel" || r.Argument != "consumers[0]" || r.Change.By != by[:255] || !r.Change.At.Equal(now) {
			t.Errorf("route: %+v", r)
		}
		if east, north := o.Members[0], o.Members[1]; east.Change.By != "ada" || north.Change.By != "bob" || !north.Change.At.Equal(now) || north.Consumer.Target != "" {
			t.Errorf("members: %+v", o.Members)
		}
	})
}
