package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/landfall-dev/landfall"
	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/desk"
	"github.com/landfall-dev/landfall/internal/devstack"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outboxdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

// TestTheBuiltFunctionMistakesNoEvent sends raw events to the function's own binary over the runtime API.
func TestTheBuiltFunctionMistakesNoEvent(t *testing.T) {
	var mu sync.Mutex
	bodies := map[string]string{} // by idempotency key
	remote := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		bodies[r.Header.Get("Idempotency-Key")] = string(body)
		if strings.HasPrefix(r.Header.Get("Idempotency-Key"), "refused") {
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	defer remote.Close()
	b := newBench(t, remote.URL)

	sample, err := os.ReadFile("../../events/dispatch.json")
	if err != nil {
		t.Fatal(err)
	}
	b.put("order-1", "secret payload one")
	b.put("refused-secret-key", "secret payload two")
	if got, want := b.invoke(string(sample)), `{"completed":1,"retried":0,"failed":1,"unknown":0,"unsettled":0,"taken_over":0}`; got != want {
		t.Errorf("EventBridge's own event: %s, want %s", got, want)
	}
	if bodies["order-1"] != "secret payload one" {
		t.Errorf("the remote got %q", bodies)
	}
	if row := b.row("order-1"); row.Status != outbox.CompletedRow || len(row.ClaimedBy) != 36 {
		t.Errorf("row is %s, claimed by %q; want completed, by the request's id", row.Status, row.ClaimedBy)
	}

	b.put("order-2", "two")
	if got := b.invoke(`{"part": 0, "of": 2}`) + b.invoke(`{"part": 1, "of": 2}`); strings.Count(got, `"completed":1`) != 1 {
		t.Errorf("two parts: %s, want the row completed by one of them", got)
	}

	b.put("order-3", "three")
	for _, event := range []string{`{}`, `{"Records": []}`, `{"part": 2, "of": 2}`, `[]`, `"hello"`, `null`} {
		result := b.raw(event)
		if result.FunctionError == "" || !strings.Contains(string(result.Payload), "neither a schedule's") {
			t.Errorf("%s: %s %s, want a visible error", event, result.FunctionError, result.Payload)
		}
	}
	if row := b.row("order-3"); row.Status != outbox.Pending {
		t.Errorf("an event of another shape made the row %s", row.Status)
	}

	log := b.output.String()
	for _, secret := range []string{"secret payload", "secret-key", "c2VjcmV0"} {
		if strings.Contains(log, secret) {
			t.Errorf("%q is in the function's output:\n%s", secret, log)
		}
	}
	if n := strings.Count(log, `"message":"attempt"`); n != 1 || !strings.Contains(log, "landfall.http.status_400") {
		t.Errorf("%d lines about attempts, want one, about the refusal:\n%s", n, log)
	}
	if !strings.Contains(log, `"_aws":{"CloudWatchMetrics"`) {
		t.Errorf("no metrics:\n%s", log)
	}
}

func TestTheBuiltFunctionDoesNotStartWithoutItsConfiguration(t *testing.T) {
	b := newBench(t, "http://127.0.0.1:1")
	if err := os.WriteFile(b.folder+"/"+schema.ConfigFile, []byte(`{"destinations": {}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if result := b.raw(`{"part": 0, "of": 1}`); result.FunctionError == "" || !strings.Contains(b.output.String(), "landfall.json") {
		t.Errorf("%s %s; output:\n%s", result.FunctionError, result.Payload, b.output)
	}
}

type bench struct {
	*testing.T
	*desk.Desk
	folder string
	output *output
	box    *landfall.Outbox
	store  *outboxdb.Store
}

func newBench(t *testing.T, remote string) *bench {
	t.Helper()
	cfg, err := config.ParseYAML("landfall.yaml", fmt.Appendf(nil,
		"log_successes: 0\ndestinations:\n  charge: {http: %s, deduplicates: never, allow_private: true}\n", remote))
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{T: t, folder: t.TempDir(), output: &output{}}
	b.Desk, err = desk.Start(t.Context(), desk.Options{Source: ".", Config: cfg, Folder: b.folder, Output: b.output})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := b.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	client := b.DynamoDB("test")
	b.store = outboxdb.New(client, schema.OutboxTable)
	b.box = landfall.New(client, landfall.Config{Table: schema.OutboxTable, Destinations: map[string]landfall.Destination{"charge": {}}})
	return b
}

func (b *bench) put(key, payload string) {
	b.Helper()
	if err := b.box.Put(b.Context(), landfall.Row{Destination: "charge", Key: key, Payload: []byte(payload)}); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) row(key string) outbox.Row {
	b.Helper()
	row, err := b.store.Get(b.Context(), outbox.ID{Destination: "charge", Key: key})
	if err != nil {
		b.Fatal(err)
	}
	return row
}

func (b *bench) raw(event string) devstack.Result {
	b.Helper()
	result, err := b.Stack.Invoke(b.Context(), "dispatch", []byte(event))
	if err != nil {
		b.Fatal(err)
	}
	return result
}

func (b *bench) invoke(event string) string {
	b.Helper()
	result := b.raw(event)
	if result.FunctionError != "" || !json.Valid(result.Payload) {
		b.Fatalf("%s: %s %s\n%s", event, result.FunctionError, result.Payload, b.output)
	}
	return string(result.Payload)
}

// output keeps what the function prints.
type output struct {
	mu  sync.Mutex
	all strings.Builder
}

func (o *output) Write(line []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all.Write(line)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all.String()
}
