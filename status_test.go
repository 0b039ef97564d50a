package landfall_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landfall-dev/landfall"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outboxdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

func TestStatusSaysWhatBecameOfARow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		box, now := newBox(t), time.Now()
		if err := box.Put(t.Context(), landfall.Row{Destination: "jobs", Key: "k"}); err != nil {
			t.Fatal(err)
		}
		store := outboxdb.New(box.Client, schema.OutboxTable)
		claimed, err := store.Claim(t.Context(), outbox.Claim{
			ID: outbox.ID{Destination: "jobs", Key: "k"}, Token: "t", At: now, Until: now.Add(time.Minute), Attempts: 1,
		})
		if err != nil {
			t.Fatal(err)
		}
		policy := outbox.Policy{Attempts: 1}.WithDefaults()
		if err := store.Settle(t.Context(), outbox.Decide(policy, claimed, outbox.Retryable("test.tls", 0), now)); err != nil {
			t.Fatal(err)
		}
		got, err := box.Status(t.Context(), "jobs", "k")
		want := landfall.Status{
			Status: "failed", Code: outbox.CodeAttemptsExhausted, Cause: "test.tls", Attempts: 1,
			CreatedAt: now, ExpiresAt: now.Add(outbox.DefaultRetention),
		}
		if diff := cmp.Diff(want, got); err != nil || diff != "" || !got.Ended() {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		time.Sleep(outbox.DefaultRetention)
		if _, err := box.Status(t.Context(), "jobs", "k"); !errors.Is(err, landfall.ErrNotFound) {
			t.Errorf("past its retention: %v", err)
		}
	})
}

func TestStatusOfNoRowIsAnErrorThatHidesTheKey(t *testing.T) {
	t.Parallel()
	box := newBox(t)
	blind := landfall.New(unreachable{t}, testConfig)
	for name, ask := range map[string]func() error{
		"no such row":            func() error { _, err := box.Status(t.Context(), "jobs", "secret"); return err },
		"a key that cannot be":   func() error { _, err := box.Status(t.Context(), "jobs", "secret\n"); return err },
		"no destination":         func() error { _, err := box.Status(t.Context(), "", "secret"); return err },
		"a client without reads": func() error { _, err := blind.Status(t.Context(), "jobs", "secret"); return err },
	} {
		err := ask()
		if err == nil || strings.Contains(err.Error(), "secret") || errors.Is(err, landfall.ErrNotFound) != (name == "no such row") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
