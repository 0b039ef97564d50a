package outboxdb_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/outboxdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

type item = map[string]types.AttributeValue

func s(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }
func n(v any) types.AttributeValue    { return &types.AttributeValueMemberN{Value: fmt.Sprint(v)} }
func b(v []byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: v} }

// foreign is a row with the attributes that a foreign writer must give, and no more.
func foreign(pk string, at time.Time) item {
	destination, _, _ := strings.Cut(pk, "#")
	return item{
		schema.PK: s(pk), schema.Status: s("pending"), schema.Lane: s("due#" + destination + "#0"),
		schema.LaneAt: n(at.UnixMilli()), schema.CreatedAt: n(at.UnixMilli()), schema.Payload: s("{}"),
	}
}

func zipped(payload []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(payload)
	_ = w.Close()
	return out.Bytes()
}

// claim gives an item the attributes of a claim that ended long ago.
func claim(i item, at time.Time) {
	i[schema.Status], i[schema.Token], i[schema.AttemptCount] = s("dispatching"), s("token-of-a-dead-worker"), n(1)
	i[schema.ClaimedAt], i[schema.Until] = n(at.Add(-time.Hour).UnixMilli()), n(at.Add(-time.Hour+40*time.Second).UnixMilli())
}

// without and with change one attribute.
func without(name string) func(item, time.Time) { return func(i item, _ time.Time) { delete(i, name) } }
func with(name string, v types.AttributeValue) func(item, time.Time) {
	return func(i item, _ time.Time) { i[name] = v }
}

// dispatchingWith is an abandoned row with one attribute changed; nil removes it.
func dispatchingWith(name string, v types.AttributeValue) func(item, time.Time) {
	return func(i item, at time.Time) {
		if claim(i, at); v == nil {
			delete(i, name)
		} else {
			i[name] = v
		}
	}
}

// filled is a row of exactly so many bytes.
func filled(size int) func(item, time.Time) {
	return func(i item, _ time.Time) {
		i[schema.Payload] = s("")
		i[schema.Payload] = s(strings.Repeat("x", size-outboxdb.ItemSize(i)))
	}
}

const maxItem = 400 << 10

// brokenRows are the ways to break the row format. An attempt may have arrived where maybe is set.
var brokenRows = []struct {
	name   string
	maybe  bool
	change func(item, time.Time)
}{
	{name: "payload missing", change: without(schema.Payload)},
	{name: "payload is a number", change: with(schema.Payload, n(7))},
	{name: "payload is a map", change: with(schema.Payload, &types.AttributeValueMemberM{Value: item{"a": s("b")}})},
	{name: "payload is null", change: with(schema.Payload, &types.AttributeValueMemberNULL{Value: true})},
	{name: "encoding unknown", change: func(i item, _ time.Time) { i[schema.PayloadEncoding], i[schema.Payload] = s("br"), b([]byte{1}) }},
	{name: "encoding is a number", change: with(schema.PayloadEncoding, n(1))},
	{name: "gzip as text", change: with(schema.PayloadEncoding, s("gzip"))},
	{name: "no gzip", change: func(i item, _ time.Time) {
		i[schema.PayloadEncoding], i[schema.Payload] = s("gzip"), b([]byte("plain"))
	}},
	{name: "gzip cut short", change: func(i item, _ time.Time) {
		z := zipped(bytes.Repeat([]byte("landfall"), 100))
		i[schema.PayloadEncoding], i[schema.Payload] = s("gzip"), b(z[:len(z)-9])
	}},
	{name: "gzip with a wrong checksum", change: func(i item, _ time.Time) {
		z := zipped([]byte("landfall"))
		z[len(z)-5] ^= 1
		i[schema.PayloadEncoding], i[schema.Payload] = s("gzip"), b(z)
	}},
	{name: "gzip bomb", change: func(i item, _ time.Time) {
		i[schema.PayloadEncoding], i[schema.Payload] = s("gzip"), b(zipped(make([]byte, 64<<20)))
	}},
	{name: "payload of a byte too much", change: func(i item, _ time.Time) {
		i[schema.PayloadEncoding], i[schema.Payload] = s("gzip"), b(zipped(make([]byte, outboxdb.MaxPayload+1)))
	}},

	{name: "status missing", change: without(schema.Status)},
	{name: "status unknown", change: with(schema.Status, s("sent"))},
	{name: "status in capitals", change: with(schema.Status, s("PENDING"))},
	{name: "status is a number", change: with(schema.Status, n(0))},
	{name: "status completed, but in a due lane", change: with(schema.Status, s("completed"))},
	{name: "status failed, but in a due lane", change: with(schema.Status, s("failed"))},
	{name: "status outcome_unknown, but in a due lane", maybe: true, change: func(i item, at time.Time) {
		claim(i, at)
		i[schema.Status] = s("outcome_unknown")
	}},

	{name: "lane of another destination", change: with(schema.Lane, s("due#mail#0"))},
	{name: "pk without destination", change: with(schema.PK, s("order-42"))},
	{name: "pk with an empty destination", change: with(schema.PK, s("#order-42"))},
	{name: "pk with an impossible destination", change: with(schema.PK, s("Charge#order-42"))},
	{name: "pk without key", change: with(schema.PK, s("charge#"))},
	{name: "pk too long", change: with(schema.PK, s("charge#"+strings.Repeat("k", 513)))},
	{name: "pk with a control character", change: with(schema.PK, s("charge#a\tb"))},
	{name: "lane_at negative", change: with(schema.LaneAt, n(-5))},
	{name: "lane_at with a fraction", change: with(schema.LaneAt, n("1.5"))},

	{name: "created_at missing", change: without(schema.CreatedAt)},
	{name: "created_at is text", change: with(schema.CreatedAt, s("2026-11-29"))},
	{name: "created_at in nanoseconds", change: with(schema.CreatedAt, n("1764441615123456789"))},
	{name: "deliver_by is text", change: with(schema.DeliverBy, s("tomorrow"))},
	{name: "deliver_by with a fraction", change: with(schema.DeliverBy, n("1.5"))},
	{name: "deliver_by after the end of time", change: with(schema.DeliverBy, n("1e30"))},
	{name: "expires_at before the end", change: with(schema.ExpiresAt, n(4102444800))},
	{name: "completed_at is a list", change: with(schema.CompletedAt, &types.AttributeValueMemberL{})},

	{name: "attempt_count is text", change: with(schema.AttemptCount, s("0"))},
	{name: "attempt_count negative", change: with(schema.AttemptCount, n(-1))},
	{name: "attempt_count with a fraction", change: with(schema.AttemptCount, n("0.5"))},
	{name: "attempt_count of 38 digits", change: with(schema.AttemptCount, n(strings.Repeat("9", 38)))},
	{name: "lookup_count is text", change: with(schema.LookupCount, s("0"))},
	{name: "maybe_since is text", maybe: true, change: with(schema.MaybeSince, s("yesterday"))},
	{name: "maybe_since negative", maybe: true, change: with(schema.MaybeSince, n(-1))},
	{name: "window is text while an attempt may have arrived", maybe: true, change: func(i item, at time.Time) {
		claim(i, at)
		i[schema.Status], i[schema.MaybeSince], i[schema.Window] = s("pending"), i[schema.ClaimedAt], s("24h")
	}},

	{name: "headers is text", change: with(schema.Headers, s("X-Tenant: 1"))},
	{name: "a header is a number", change: with(schema.Headers, &types.AttributeValueMemberM{Value: item{"X-Tenant": n(1)}})},
	{name: "content_type is a set", change: with(schema.ContentType, &types.AttributeValueMemberSS{Value: []string{"a"}})},
	{name: "origin is a number", change: with(schema.Origin, n(1))},
	{name: "command_id is a number", change: with(schema.CommandID, n(1))},
	{name: "trace is true", change: with(schema.Trace, &types.AttributeValueMemberBOOL{Value: true})},
	{name: "remote_ref is a number", change: with(schema.RemoteRef, n(1))},
	{name: "code is a number", change: with(schema.Code, n(1))},

	{name: "dispatching without token", maybe: true, change: dispatchingWith(schema.Token, nil)},
	{name: "dispatching with a number for a token", maybe: true, change: dispatchingWith(schema.Token, n(1))},
	{name: "dispatching with an empty token", maybe: true, change: dispatchingWith(schema.Token, s(""))},
	{name: "dispatching without until", maybe: true, change: dispatchingWith(schema.Until, nil)},
	{name: "dispatching until some text", maybe: true, change: dispatchingWith(schema.Until, s("12:00"))},
	{name: "dispatching until the year 5138", maybe: true, change: dispatchingWith(schema.Until, n(99999999999999))},
	{name: "dispatching without claimed_at", maybe: true, change: dispatchingWith(schema.ClaimedAt, nil)},
	{name: "dispatching with attempt_count as text", maybe: true, change: dispatchingWith(schema.AttemptCount, s("1"))},
	{name: "dispatching without payload", maybe: true, change: dispatchingWith(schema.Payload, nil)},

	{name: "huge: no room for an outcome", change: filled(outboxdb.MaxItem + 100)},
	{name: "huge: no room for a claim", change: filled(maxItem)},
	{name: "huge and dispatching", maybe: true, change: func(i item, at time.Time) {
		claim(i, at)
		filled(maxItem)(i, at)
	}},
	{name: "huge foreign attribute", change: func(i item, _ time.Time) {
		i["notes"] = s("")
		i["notes"] = s(strings.Repeat("x", maxItem-outboxdb.ItemSize(i)))
	}},
	{name: "huge reference", change: func(i item, _ time.Time) {
		i[schema.RemoteRef] = s("")
		i[schema.RemoteRef] = s(strings.Repeat("x", maxItem-outboxdb.ItemSize(i)))
	}},
}
