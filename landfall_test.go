package landfall_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/landfall-dev/landfall"
	"github.com/landfall-dev/landfall/internal/config/yamlconfig"
	"github.com/landfall-dev/landfall/internal/schema"
	"github.com/landfall-dev/landfall/landfalltest"
)

var testConfig = landfall.Config{Destinations: map[string]landfall.Destination{
	"charge": {Headers: []string{"X-Tenant", "x-region"}, Shards: 4, HeadStart: 5 * time.Second},
	"jobs":   {Kind: "sqs"},
	"old":    {Retired: true},
	"bad":    {Shards: -1},
	"worse":  {HeadStart: -time.Second},
	"No":     {},
}}

func newBox(t *testing.T) *landfalltest.Outbox {
	t.Helper()
	box, err := landfalltest.New(testConfig)
	if err != nil {
		t.Fatal(err)
	}
	return box
}

// row is a row with every field.
func row() landfall.Row {
	return landfall.Row{
		Destination: "charge", Key: "order-42", Payload: []byte(`{"amount": 1}`), ContentType: "application/json; charset=utf-8",
		Headers: map[string]string{"X-Tenant": "t1"}, NotBefore: time.UnixMilli(1_900_000_000_000), DeliverBy: time.UnixMilli(2_000_000_000_000),
		CommandID: "command-7", Trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	}
}

// unreachable is a DynamoDB that must not be asked.
type unreachable struct{ *testing.T }

func (u unreachable) PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	u.Error("DynamoDB was asked")
	return nil, errors.New("unreachable")
}

// TestRowThatBreaksARuleIsRefused has a row for each rule, and no error that tells what a row holds.
func TestRowThatBreaksARuleIsRefused(t *testing.T) {
	t.Parallel()
	secret := "secret-"
	cases := []struct {
		name, field string
		change      func(*landfall.Row)
	}{
		{"unknown destination", "Destination", func(r *landfall.Row) { r.Destination = "refund" }},
		{"no destination", "Destination", func(r *landfall.Row) { r.Destination = "" }},
		{"retired destination", "Destination", func(r *landfall.Row) { r.Destination = "old" }},
		{"impossible name in the configuration", "Destination", func(r *landfall.Row) { r.Destination = "No" }},
		{"impossible shards in the configuration", "Destination", func(r *landfall.Row) { r.Destination = "bad" }},
		{"impossible head start in the configuration", "Destination", func(r *landfall.Row) { r.Destination = "worse" }},
		{"no key", "Key", func(r *landfall.Row) { r.Key = "" }},
		{"key too long", "Key", func(r *landfall.Row) { r.Key = secret + strings.Repeat("k", 506) }},
		{"key with a control character", "Key", func(r *landfall.Row) { r.Key = secret + "\x7f" }},
		{"key that is not UTF-8", "Key", func(r *landfall.Row) { r.Destination, r.Headers, r.Key = "jobs", nil, secret+"\xff" }},
		{"key with a control character beyond ASCII", "Key", func(r *landfall.Row) { r.Destination, r.Headers, r.Key = "jobs", nil, secret+"\u0085" }},
		{"key with a space, for http", "Key", func(r *landfall.Row) { r.Key = secret + " 42" }},
		{"key beyond ASCII, for http", "Key", func(r *landfall.Row) { r.Key = secret + "é" }},
		{"payload too large", "Payload", func(r *landfall.Row) { r.Payload = make([]byte, landfall.MaxPayload+1) }},
		{"payload too large for an item", "Payload", func(r *landfall.Row) { r.Payload = noise(400 << 10) }},
		{"content type with a line break", "ContentType", func(r *landfall.Row) { r.ContentType = secret + "\r\nX: y" }},
		{"content type too long", "ContentType", func(r *landfall.Row) { r.ContentType = strings.Repeat(secret, 40) }},
		{"header that is not allowed", "Headers", func(r *landfall.Row) { r.Headers = map[string]string{"Authorization": secret} }},
		{"header for a destination that allows none", "Headers", func(r *landfall.Row) { r.Destination = "jobs" }},
		{"header twice", "Headers", func(r *landfall.Row) { r.Headers = map[string]string{"X-Tenant": secret, "x-tenant": secret} }},
		{"header with a line break", "Headers", func(r *landfall.Row) { r.Headers["X-Tenant"] = secret + "\r\nX: y" }},
		{"header that ends in a space", "Headers", func(r *landfall.Row) { r.Headers["X-Tenant"] = secret + " " }},
		{"header too long", "Headers", func(r *landfall.Row) { r.Headers["X-Tenant"] = strings.Repeat(secret, 2000) }},
		{"not before the year 1970", "NotBefore", func(r *landfall.Row) { r.NotBefore = time.Unix(-1, 0) }},
		{"not before the year 6000", "NotBefore", func(r *landfall.Row) { r.NotBefore = time.Date(6000, 1, 1, 0, 0, 0, 0, time.UTC) }},
		{"deliver by the year 6000", "DeliverBy", func(r *landfall.Row) { r.DeliverBy = time.Date(6000, 1, 1, 0, 0, 0, 0, time.UTC) }},
		{"deliver by before it may be sent", "DeliverBy", func(r *landfall.Row) { r.DeliverBy = r.NotBefore }},
		{"command id too long", "CommandID", func(r *landfall.Row) { r.CommandID = strings.Repeat(secret, 40) }},
		{"command id with a control character", "CommandID", func(r *landfall.Row) { r.CommandID = secret + "\n" }},
		{"command id that is not UTF-8", "CommandID", func(r *landfall.Row) { r.CommandID = secret + "\xff" }},
		{"trace of another form", "Trace", func(r *landfall.Row) { r.Trace = secret }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			box := landfall.New(unreachable{t}, testConfig)
			r := row()
			r.Key, r.Payload = "secret-key", []byte("secret-payload")
			c.change(&r)
			_, itemErr := box.Item(r)
			for _, err := range []error{box.Put(t.Context(), r), itemErr} {
				var invalid *landfall.RowError
				if !errors.As(err, &invalid) || invalid.Field != c.field {
					t.Fatalf("%v, want an error about %s", err, c.field)
				}
				if strings.Contains(err.Error(), "secret") {
					t.Errorf("the error tells content: %v", err)
				}
			}
		})
	}
}

func TestEmptyConfigurationIsNamedInTheError(t *testing.T) {
	t.Parallel()
	_, err := landfall.New(unreachable{t}, landfall.Config{}).Item(row())
	if err == nil || !strings.HasSuffix(err.Error(), `unknown destination "charge"; the configuration has no destinations`) {
		t.Error(err)
	}
}

// noise does not compress.
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

// TestOtherContentUnderAKeyIsAConflict changes one field after the other in a second put.
func TestOtherContentUnderAKeyIsAConflict(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		same   bool
		change func(*landfall.Row)
	}{
		{"nothing", true, func(*landfall.Row) {}},
		{"the trace", true, func(r *landfall.Row) { r.Trace = "" }},
		{"a header's case", true, func(r *landfall.Row) { r.Headers = map[string]string{"x-tenant": "t1"} }},
		{"time below a millisecond", true, func(r *landfall.Row) { r.NotBefore = r.NotBefore.Add(time.Microsecond) }},
		{"time zone", true, func(r *landfall.Row) { r.DeliverBy = r.DeliverBy.In(time.FixedZone("x", 3600)) }},
		{"payload", false, func(r *landfall.Row) { r.Payload = []byte(`{"amount": 1} `) }},
		{"no payload", false, func(r *landfall.Row) { r.Payload = nil }},
		{"content type", false, func(r *landfall.Row) { r.ContentType = "" }},
		{"a header's value", false, func(r *landfall.Row) { r.Headers["X-Tenant"] = "t2" }},
		{"a header more", false, func(r *landfall.Row) { r.Headers["X-Region"] = "eu" }},
		{"no header", false, func(r *landfall.Row) { r.Headers = nil }},
		{"not before", false, func(r *landfall.Row) { r.NotBefore = r.NotBefore.Add(time.Millisecond) }},
		{"deliver by", false, func(r *landfall.Row) { r.DeliverBy = time.Time{} }},
		{"command id", false, func(r *landfall.Row) { r.CommandID = "" }},
		{"a text moved to the next field", false, func(r *landfall.Row) {
			r.Payload, r.ContentType = append(r.Payload, "application"...), "/json; charset=utf-8"
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				box := newBox(t)
				if err := box.Put(t.Context(), row()); err != nil {
					t.Fatal(err)
				}
				<-time.After(time.Hour) // the content excludes the time of the put
				second := row()
				c.change(&second)
				err := box.Put(t.Context(), second)
				if c.same && err != nil || !c.same && !errors.Is(err, landfall.ErrConflict) {
					t.Errorf("put: %v; the same row: %v", err, c.same)
				}
				if rows, err := box.Rows(t.Context()); err != nil || len(rows) != 1 || cmp.Diff(row(), rows[0]) != "" {
					t.Errorf("stored: %d rows, %v: %s", len(rows), err, cmp.Diff(row(), rows))
				}
			})
		})
	}
	t.Run("the default content type", func(t *testing.T) {
		box := newBox(t)
		r := landfall.Row{Destination: "jobs", Key: "größe 1", Payload: []byte("1")}
		if err := box.Put(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if r.ContentType = "application/json"; box.Put(t.Context(), r) != nil {
			t.Error("writing it out makes a difference")
		}
	})
}

// TestOriginsStayTheSameBetweenReleases: rows outlive releases, and the same put must find its row.
func TestOriginsStayTheSameBetweenReleases(t *testing.T) {
	t.Parallel()
	small := landfall.Row{Destination: "jobs", Key: "k"}
	for want, r := range map[string]landfall.Row{"Wh2tLz8-_74t66RYcG8uHQ": row(), "VSSCgAeA0PLyyf2UmcatEQ": small} {
		item, err := newBox(t).Item(r)
		if err != nil {
			t.Fatal(err)
		}
		if got := item.Put.Item[schema.Origin].(*types.AttributeValueMemberS).Value; got != want {
			t.Errorf("origin of %v is %s, want %s", r, got, want)
		}
	}
}

// TestRowIsPutWhereASweepLooks checks lane and time of new rows.
func TestRowIsPutWhereASweepLooks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		box := newBox(t)
		now := time.Now()
		cases := []struct {
			destination, key string
			notBefore        time.Time
			lane             string
			due              time.Time
		}{
			// CRC-32/IEEE: 3884485260, 2425338394, 250294201.
			{"charge", "order-42", time.Time{}, "due#charge#0", now.Add(5 * time.Second)},
			{"charge", "order-43", now.Add(time.Hour), "due#charge#2", now.Add(time.Hour + 5*time.Second)},
			{"charge", "order-44", now.Add(-time.Hour), "due#charge#1", now.Add(5 * time.Second)},
			{"jobs", "größe 1", time.Time{}, "due#jobs#0", now},
		}
		for _, c := range cases {
			r := landfall.Row{Destination: c.destination, Key: c.key, NotBefore: c.notBefore}
			transact, err := box.Item(r)
			if err != nil {
				t.Fatal(err)
			}
			item := transact.Put.Item
			want := map[string]string{
				schema.PK: c.destination + "#" + c.key, schema.Status: "pending", schema.Lane: c.lane,
				schema.LaneAt: fmt.Sprint(c.due.UnixMilli()), schema.CreatedAt: fmt.Sprint(now.UnixMilli()),
			}
			for name, value := range want {
				if got := plain(item[name]); got != value {
					t.Errorf("%s of %s is %s, want %s", name, c.key, got, value)
				}
			}
		}
	})
}

func plain(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	}
	return fmt.Sprint(v)
}

// TestOneOfManyPutsOfAKeyIsStored runs them at once.
func TestOneOfManyPutsOfAKeyIsStored(t *testing.T) {
	t.Parallel()
	box := newBox(t)
	var all sync.WaitGroup
	errs := make([]error, 64)
	for i := range errs {
		r := row()
		r.Payload = []byte{byte('0' + i%4)}
		all.Go(func() { errs[i] = box.Put(t.Context(), r) })
	}
	all.Wait()
	rows, err := box.Rows(t.Context())
	if err != nil || len(rows) != 1 {
		t.Fatalf("%d rows, %v; want 1", len(rows), err)
	}
	for i, err := range errs {
		if same := rows[0].Payload[0] == byte('0'+i%4); same && err != nil || !same && !errors.Is(err, landfall.ErrConflict) {
			t.Errorf("put %d of %s: %v; stored: %s", i, rows[0].Payload, err, rows[0].Payload)
		}
	}
}

// TestPutWithMoreLanesRepeatsTheRow: shards may grow while rows are on their way.
func TestPutWithMoreLanesRepeatsTheRow(t *testing.T) {
	t.Parallel()
	box := newBox(t)
	if err := box.Put(t.Context(), row()); err != nil {
		t.Fatal(err)
	}
	grown := landfall.New(box.Client, landfall.Config{Table: schema.OutboxTable, Destinations: map[string]landfall.Destination{
		"charge": {Headers: []string{"X-Tenant"}, Shards: 64, HeadStart: time.Minute},
	}})
	if err := grown.Put(t.Context(), row()); err != nil {
		t.Errorf("the same row under more shards: %v", err)
	}
}

func TestRowLogsOnlyItsName(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	r := row()
	slog.New(slog.NewJSONHandler(&out, nil)).Info("put", "row", r, "pointer", &r)
	fmt.Fprintf(&out, "%v %+v %s %#v %v", r, r, r, r, &r)
	for _, content := range []string{"order-42", "amount", "t1", "command-7"} {
		if strings.Contains(out.String(), content) {
			t.Errorf("logged %q: %s", content, out.String())
		}
	}
	if !strings.Contains(out.String(), "charge/") {
		t.Errorf("the row's name is missing: %s", out.String())
	}
}

// TestLoadConfigAgreesWithTheFunctions loads what the build resolved.
func TestLoadConfigAgreesWithTheFunctions(t *testing.T) {
	resolved, err := yamlconfig.Parse("landfall.yaml", []byte(
		"destinations:\n  charge: {http: 'https://api.example.com/c', deduplicates: 24h, shards: 3, row_headers: [X-Tenant]}\n"+
			"  old: {http: 'https://old.example.com', deduplicates: never, retired: true}\n"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := resolved.Resolved()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "landfall.json")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"", "orders-outbox"} {
		t.Setenv(schema.OutboxTableEnv, table)
		got, err := landfall.LoadConfig(path)
		want := landfall.Config{Table: "landfall-outbox", Destinations: map[string]landfall.Destination{
			"charge": {HeadStart: 5 * time.Second, Headers: []string{"X-Tenant"}, Kind: "http", Shards: 3},
			"old":    {HeadStart: 5 * time.Second, Kind: "http", Retired: true, Shards: 1},
		}}
		if table != "" {
			want.Table = table
		}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
	}
	if _, err := landfall.LoadConfig(filepath.Join(t.TempDir(), "none.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}
