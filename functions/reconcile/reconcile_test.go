package main_test

import (
	"context"
	"encoding/json"
	"fmt"
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

// TestTheBuiltFunctionMistakesNeitherEventNorAnswer sends raw events to the function's own binary over the runtime
// API, while a remote says what became of four rows.
func TestTheBuiltFunctionMistakesNeitherEventNorAnswer(t *testing.T) {
	answers := map[string]string{"landed": `{"status": "succeeded", "id": "ch_1"}`, "declined": `{"status": "failed"}`, "secret-open": `{"status": "open"}`}
	remote := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, known := answers[strings.TrimPrefix(r.URL.Path, "/by-key/")]
		if !known || r.Method != http.MethodGet || r.Header.Get("Authorization") != "Bearer secret-token" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		fmt.Fprint(w, body)
	}))
	defer remote.Close()
	b := newBench(t, remote.URL)
	for _, key := range []string{"landed", "declined", "secret-open", "unheard-of"} {
		b.doubt("charge", key)
	}
	b.doubt("mail", "secret-mail")

	for _, event := range []string{`{}`, `{"Records": []}`, `{"part": 2, "of": 2}`, `[]`, `"hello"`, `null`} {
		result := b.raw(event)
		if result.FunctionError == "" || !strings.Contains(string(result.Payload), "neither a schedule's") {
			t.Errorf("%s: %s %s, want a visible error", event, result.FunctionError, result.Payload)
		}
	}
	if row := b.row("charge", "landed"); row.Status != outbox.OutcomeUnknown {
		t.Errorf("an event of another shape made the row %s", row.Status)
	}

	sample, err := os.ReadFile("../../events/reconcile.json")
	if err != nil {
		t.Fatal(err)
	}
	want := `{"completed":1,"failed":1,"resent":1,"unresolved":1,"without_lookup":1,"skipped":0}`
	if got := b.invoke(string(sample)); got != want {
		t.Errorf("EventBridge's own event: %s, want %s", got, want)
	}
	for key, want := range map[string]outbox.Row{
		"landed":      {Status: outbox.CompletedRow, RemoteRef: "ch_1", LookupCount: 1},
		"declined":    {Status: outbox.FailedRow, Code: outbox.CodeLookupFailed, LookupCount: 1},
		"unheard-of":  {Status: outbox.Pending, LookupCount: 1},
		"secret-open": {Status: outbox.OutcomeUnknown, Code: "landfall.lookup.http.status_200", LookupCount: 1},
	} {
		row := b.row("charge", key)
		if row.Status != want.Status || row.RemoteRef != want.RemoteRef || row.LookupCount != want.LookupCount || want.Code != "" && row.Code != want.Code {
			t.Errorf("%s is %s, %q, called %q, after %d lookups", key, row.Status, row.Code, row.RemoteRef, row.LookupCount)
		}
		if row.MayHaveArrived() != (key != "unheard-of") {
			t.Errorf("%s: maybe_since = %v", key, row.MaybeSince)
		}
	}
	if row := b.row("mail", "secret-mail"); row.Status != outbox.OutcomeUnknown || row.LookupCount != 0 {
		t.Errorf("the row that waits for a person is %s after %d lookups", row.Status, row.LookupCount)
	}
	if got := b.invoke(`{"part": 0, "of": 2}`) + b.invoke(`{"part": 1, "of": 2}`); strings.Count(got, `"without_lookup":1`) != 1 || strings.Contains(got, `"unresolved":1`) {
		t.Errorf("two parts: %s, want the waiting row in one of them, and nothing asked again so soon", got)
	}

	log := b.output.String()
	for _, secret := range []string{"secret", "c2VjcmV0", remote.URL} {
		if strings.Contains(log, secret) {
			t.Errorf("%q is in the function's output:\n%s", secret, log)
		}
	}
	if n := strings.Count(log, `"message":"lookup"`); n != 4 || !strings.Contains(log, `"Reconciled":3`) || !strings.Contains(log, `"UnknownAge"`) {
		t.Errorf("%d lines about lookups, want 4, and the metrics:\n%s", n, log)
	}
}

type bench struct {
	*testing.T
	*desk.Desk
	output *output
	box    *landfall.Outbox
	store  *outboxdb.Store
}

func newBench(t *testing.T, remote string) *bench {
	t.Helper()
	cfg, err := config.ParseYAML("landfall.yaml", fmt.Appendf(nil, `
destinations:
  charge:
    http: %[1]s/charges
    deduplicates: never
    allow_private: true
    late_arrival: 1ms
    remote_ref: {pointer: /id}
    lookup:
      http: %[1]s/by-key/{idempotency_key}
      headers: {Authorization: Bearer secret-token}
      rules:
        - {status: 200, pointer: /status, equals: succeeded, then: completed}
        - {status: 200, pointer: /status, equals: failed, then: failed}
        - {status: 404, then: not_found}
  mail: {http: %[1]s/mails, deduplicates: never, allow_private: true}
`, remote))
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{T: t, output: &output{}}
	b.Desk, err = desk.Start(t.Context(), desk.Options{Source: ".", Config: cfg, Folder: t.TempDir(), Output: b.output})
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
	b.box = landfall.New(client, landfall.Config{Table: schema.OutboxTable, Destinations: map[string]landfall.Destination{"charge": {}, "mail": {}}})
	return b
}

// doubt puts a row and makes an hour ago of the time at which the outcome of its only attempt was lost.
func (b *bench) doubt(destination, key string) {
	b.Helper()
	ctx, past := b.Context(), time.Now().Add(-time.Hour)
	if err := b.box.Put(ctx, landfall.Row{Destination: destination, Key: key, Payload: []byte("secret payload")}); err != nil {
		b.Fatal(err)
	}
	id := outbox.ID{Destination: destination, Key: key}
	row, err := b.store.Claim(ctx, outbox.Claim{ID: id, Token: "token-of-22-characters", At: time.Now(), Until: past, Attempts: 5})
	if err != nil {
		b.Fatal(err)
	}
	row.Lane.Kind = outbox.UnknownLane
	err = b.store.Settle(ctx, outbox.Settlement{
		ID: id, Token: row.Token, Status: outbox.OutcomeUnknown, Lane: row.Lane, LaneAt: past, MaybeSince: past, Code: "landfall.http.cut",
	})
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) row(destination, key string) outbox.Row {
	b.Helper()
	row, err := b.store.Get(b.Context(), outbox.ID{Destination: destination, Key: key})
	if err != nil {
		b.Fatal(err)
	}
	return row
}

func (b *bench) raw(event string) devstack.Result {
	b.Helper()
	result, err := b.Stack.Invoke(b.Context(), "reconcile", []byte(event))
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
