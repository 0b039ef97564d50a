package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outboxdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

// doubt enqueues a row for mail and loses the outcome of its only attempt, so long ago.
func (b *rowsBundle) doubt(key string, ago time.Duration) (name string) {
	b.t.Helper()
	name = strings.TrimSuffix(b.must("", "enqueue", "mail", "--key", key, "--data", "secret payload"), " is stored\n")
	store := outboxdb.New(dynamodb.New(dynamodb.Options{
		Region: "eu-central-1", BaseEndpoint: aws.String(b.args[1]),
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	}), schema.OutboxTable)
	id, until := outbox.ID{Destination: "mail", Key: key}, time.Now().Add(-ago)
	row, err := store.Claim(b.t.Context(), outbox.Claim{ID: id, Token: "token-of-22-characters", At: time.Now(), Due: time.Now().Add(time.Minute), Until: until, Attempts: 5})
	if err == nil {
		row.Lane.Kind = outbox.UnknownLane
		err = store.Settle(b.t.Context(), outbox.Settlement{
			ID: id, Token: row.Token, Status: outbox.StatusOutcomeUnknown, Lane: row.Lane, LaneAt: time.Now(), MaybeSince: until, Code: "landfall.http.cut",
		})
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return name
}

func (b *rowsBundle) shown(key string) (v rowView) {
	b.t.Helper()
	if err := json.Unmarshal([]byte(b.must("", "rows", "get", "mail", key, "--output", "json")), &v); err != nil {
		b.t.Fatal(err)
	}
	return v
}

func TestUnknownOutcomeIsResolvedOnlyWithGroundsAndInTime(t *testing.T) {
	t.Parallel()
	b := setupRows(t)
	b.doubt("early", time.Minute)
	b.doubt("late", time.Hour)
	resolve := func(key string, args ...string) []string {
		return append([]string{"rows", "resolve", "mail", key, "--by", "ada", "--reason", "seen in the console"}, args...)
	}
	for _, c := range []struct {
		args []string
		why  string
	}{
		{resolve("early", "--as", "failed"), "may still arrive"},
		{resolve("late", "--as", "resend"), "may have arrived"},
		{resolve("late", "--as", "failed", "--yes-it-never-arrived"), "goes with resend only"},
		{resolve("none", "--as", "failed"), "no row"},
		{[]string{"rows", "retry", "mail", "late", "--by", "ada"}, "only failed rows"},
		{[]string{"rows", "cancel", "mail", "late", "--by", "ada"}, "only pending rows"},
	} {
		got := b.execute("", c.args...)
		if got.code != 1 || got.stdout != "" || !strings.Contains(got.stderr, c.why) {
			t.Errorf("%v: %+v, want a refusal that says %q", c.args, got, c.why)
		}
		if strings.Contains(got.stderr, "early") || strings.Contains(got.stderr, "late\n") {
			t.Errorf("the key is in: %s", got.stderr)
		}
	}
	if got := b.execute("", resolve("late", "--as", "failed", "--by", "")...); got.code != exitUsage || !strings.Contains(got.stderr, "--by") {
		t.Errorf("an order without a name: %+v, want a hint at --by", got)
	}
	for _, key := range []string{"early", "late"} {
		if v := b.shown(key); v.Status != "outcome_unknown" || v.ResolvedBy != "" {
			t.Errorf("%s became %+v", key, v)
		}
	}
	b.must("", resolve("early", "--as", "failed", "--force")...)
	if v := b.shown("early"); v.Status != "failed" || !v.Forced || v.Reason != "seen in the console" || v.ResolvedBy != "ada" || v.ResolvedAt == nil {
		t.Errorf("forced: %+v", v)
	}
	if got := b.execute("", "rows", "retry", "mail", "early", "--by", "ada"); got.code != 1 || !strings.Contains(got.stderr, "arrived") {
		t.Errorf("retrying what may have arrived: %+v", got)
	}
}

func TestDryRunOfResolveChangesNothing(t *testing.T) {
	t.Parallel()
	b := setupRows(t)
	name := b.doubt("order", time.Hour)
	order := []string{"rows", "resolve", name, "--as", "resend", "--yes-it-never-arrived", "--by", "ada", "--reason", "r"}
	before := b.shown("order")
	if got := b.must("", append(order, "--dry-run")...); !strings.HasPrefix(got, name+": would become: outcome_unknown -> pending") {
		t.Errorf("dry run says %q", got)
	}
	if after := b.shown("order"); after.Status != before.Status || after.AttemptCount != before.AttemptCount {
		t.Errorf("the dry run made it %+v", after)
	}
	var did operationView
	if err := json.Unmarshal([]byte(b.must("", append(order, "--output", "json")...)), &did); err != nil {
		t.Fatal(err)
	}
	after := b.shown("order")
	if did.DryRun || did.After.Status != "pending" || after.Status != "pending" || after.MaybeSince != nil || after.AttemptCount != 0 {
		t.Errorf("it says %+v, the row is %+v", did, after)
	}
	if got := b.must("", "rows", "get", "mail", "order"); !strings.Contains(got, "resolved_by") || strings.Contains(got, "secret") {
		t.Errorf("rows get:\n%s", got)
	}
}

func TestListFiltersByStatusAndAge(t *testing.T) {
	t.Parallel()
	b := setupRows(t)
	young, old := b.doubt("young", time.Minute), b.doubt("old", 2*time.Hour)
	pending := strings.TrimSuffix(b.must("", "enqueue", "mail", "--key", "pending", "--data", "x"), " is stored\n")
	for _, c := range []struct {
		args string
		want []string
	}{
		{"--status outcome_unknown --destination mail --older-than 1h", []string{old}},
		{"--status outcome_unknown", []string{old, young}},
		{"--older-than 1h", []string{old}},
		{"--status pending", []string{pending}},
		{"--status dispatching", nil},
		{"--status failed --destination mail", nil},
		{"mail", []string{old, pending, young}},
	} {
		var views []rowView
		args := append([]string{"rows", "list", "--output", "json"}, strings.Fields(c.args)...)
		if err := json.Unmarshal([]byte(b.must("", args...)), &views); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, v := range views {
			got = append(got, v.Name)
		}
		slices.Sort(got)
		slices.Sort(c.want)
		if !slices.Equal(got, c.want) {
			t.Errorf("rows list %s: %v, want %v", c.args, got, c.want)
		}
	}
}

func TestCancelledRowCanBeRetried(t *testing.T) {
	t.Parallel()
	b := setupRows(t)
	b.must("", "enqueue", "mail", "--key", "order", "--data", "x")
	b.must("", "rows", "cancel", "mail", "order", "--by", "ada")
	if v := b.shown("order"); v.Status != "failed" || v.Code != outbox.CodeCancelled {
		t.Errorf("cancelled: %+v", v)
	}
	b.must("", "rows", "retry", "mail", "order", "--by", "ada", "--reason", "after all")
	if v := b.shown("order"); v.Status != "pending" || v.Reason != "after all" || v.ExpiresAt != nil {
		t.Errorf("retried: %+v", v)
	}
}

// TestRowOfUnknownDestinationCanBeCancelled: a writer mistyped a destination, and no sweep comes by.
func TestRowOfUnknownDestinationCanBeCancelled(t *testing.T) {
	t.Parallel()
	b := setupRows(t)
	now := &types.AttributeValueMemberN{Value: fmt.Sprint(time.Now().UnixMilli())}
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	if _, err := b.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(schema.OutboxTable), Item: map[string]types.AttributeValue{
		schema.PK: text("mial#k"), schema.Status: text(schema.StatusPending), schema.Payload: text("{}"),
		schema.CreatedAt: now, schema.LaneAt: now, schema.Lane: text("due#mial#0"),
	}}); err != nil {
		t.Fatal(err)
	}
	if got := b.execute("", "rows", "retry", "mial", "k", "--by", "ada"); got.code != exitNo || !strings.Contains(got.stderr, "not configured") {
		t.Errorf("retry: %+v, want a refusal", got)
	}
	got := b.execute("", "rows", "cancel", "mial", "k", "--by", "ada")
	if got.code != exitOK || !strings.Contains(got.stderr, "warning: destination mial is not in ") || !strings.Contains(got.stdout, "pending -> failed (landfall.cancelled)") {
		t.Errorf("cancel: %+v", got)
	}
	var v rowView
	if err := json.Unmarshal([]byte(b.must("", "rows", "get", "mial", "k", "--output", "json")), &v); err != nil || v.Status != "failed" || v.ExpiresAt == nil {
		t.Errorf("the row: %+v, %v", v, err)
	}
}
