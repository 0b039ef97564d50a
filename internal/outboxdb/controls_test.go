package outboxdb_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/lab/localaws"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outboxdb"
	"github.com/landfall-dev/landfall/internal/routingdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

func newControls(t *testing.T) (*outboxdb.Controls, *dynamodb.Client) {
	t.Helper()
	client := dynamodb.NewFromConfig(localaws.New(localaws.Options{}).Config("landfall"))
	if _, err := client.CreateTable(t.Context(), routingdb.ControlTable(schema.ControlTable)); err != nil {
		t.Fatal(err)
	}
	return outboxdb.NewControls(client, schema.ControlTable), client
}

func TestEachControlChangesOnlyWhatItNames(t *testing.T) {
	t.Parallel()
	c, _ := newControls(t)
	began := time.Now().Truncate(time.Millisecond)
	for _, step := range []struct {
		name string
		do   func() error
		want outbox.Control
	}{
		{"pause", func() error { return c.Pause(t.Context(), "mail", "flood", "ann") }, outbox.Control{Paused: true, Reason: "flood", By: "ann"}},
		{"again", func() error { return c.Pause(t.Context(), "mail", "still", "ann") }, outbox.Control{Paused: true, Reason: "still", By: "ann"}},
		{"limit", func() error { return c.Limit(t.Context(), "mail", 2, "slow", "bob") }, outbox.Control{Paused: true, MaxConcurrency: 2, Reason: "slow", By: "bob"}},
		{"another", func() error { return c.Resume(t.Context(), "charge", "", "cid") }, outbox.Control{Paused: true, MaxConcurrency: 2, Reason: "slow", By: "bob"}},
		{"resume", func() error { return c.Resume(t.Context(), "mail", "", "cid") }, outbox.Control{MaxConcurrency: 2, By: "cid"}},
		{"unlimit", func() error { return c.Unlimit(t.Context(), "mail", "well", strings.Repeat("x", 300)) }, outbox.Control{Reason: "well", By: strings.Repeat("x", 256)}},
	} {
		if err := step.do(); err != nil {
			t.Fatal(step.name, err)
		}
		all, err := c.Read(t.Context())
		if err != nil {
			t.Fatal(step.name, err)
		}
		got := all[len(all)-1]
		if got.At.Before(began) || got.At.After(time.Now()) {
			t.Errorf("%s: at %v", step.name, got.At)
		}
		step.want.Destination, got.At = "mail", time.Time{}
		if got != step.want {
			t.Errorf("%s: %+v, want %+v", step.name, got, step.want)
		}
	}
	for name, err := range map[string]error{
		"no name":     c.Pause(t.Context(), "Mail", "r", "ann"),
		"none":        c.Limit(t.Context(), "mail", 0, "r", "ann"),
		"many":        c.Limit(t.Context(), "mail", 1001, "r", "ann"),
		"long reason": c.Pause(t.Context(), "mail", strings.Repeat("x", 1025), "ann"),
		"no text":     c.Pause(t.Context(), "mail", "\xff", "ann"),
	} {
		if err == nil {
			t.Errorf("%s: was written", name)
		}
	}
}

func TestControlThatCannotBeReadStopsSends(t *testing.T) {
	t.Parallel()
	c, client := newControls(t)
	value := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	items := map[string]map[string]types.AttributeValue{
		"a": {schema.Paused: value("true")},
		"b": {schema.MaxConcurrency: value("3")},
		"c": {schema.MaxConcurrency: &types.AttributeValueMemberN{Value: "0"}},
		"d": {schema.MaxConcurrency: &types.AttributeValueMemberN{Value: "1001"}},
		"e": {schema.MaxConcurrency: &types.AttributeValueMemberN{Value: "1.5"}},
		"f": {schema.Paused: &types.AttributeValueMemberNULL{Value: true}},
	}
	for sk, item := range items {
		item[schema.PK], item[schema.SK] = value(schema.DestinationScope), value(sk)
		if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(schema.ControlTable), Item: item}); err != nil {
			t.Fatal(err)
		}
	}
	all, err := c.Read(t.Context())
	if err != nil || len(all) != len(items) {
		t.Fatalf("%+v, %v", all, err)
	}
	for _, control := range all {
		if !control.Stops() || control.Unreadable == nil || control.MaxConcurrency != 0 {
			t.Errorf("%+v", control)
		}
		// What a person does about it helps.
		if err := c.Unlimit(t.Context(), control.Destination, "", "ann"); err != nil {
			t.Error(err)
		}
		if err := c.Resume(t.Context(), control.Destination, "", "ann"); err != nil {
			t.Error(err)
		}
	}
	if all, err = c.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, control := range all {
		if control.Stops() {
			t.Errorf("still %+v", control)
		}
	}
	// Who changed it, in whatever form, decides nothing.
	odd := map[string]types.AttributeValue{
		schema.PK: value(schema.DestinationScope), schema.SK: value("a"), schema.ChangedAt: value("x"), schema.ChangedBy: &types.AttributeValueMemberN{Value: "7"},
	}
	if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(schema.ControlTable), Item: odd}); err != nil {
		t.Fatal(err)
	}
	if all, err = c.Read(t.Context()); err != nil || all[0].Stops() {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestAllControlsAreReadOverSeveralPages has more than a page of them.
func TestAllControlsAreReadOverSeveralPages(t *testing.T) {
	t.Parallel()
	c, _ := newControls(t)
	const n = 1200
	for i := range n {
		if err := c.Pause(t.Context(), fmt.Sprintf("d%04d", i), strings.Repeat("x", outboxdb.MaxReason), "ann"); err != nil {
			t.Fatal(err)
		}
	}
	if all, err := c.Read(t.Context()); err != nil || len(all) != n {
		t.Errorf("%d of %d, %v", len(all), n, err)
	}
}
