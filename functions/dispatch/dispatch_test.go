package main_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/landfall-dev/landfall/internal/lab/functiontest"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/schema"
)

// TestBuiltFunctionRefusesEventsOfAnotherShape sends raw events to the function's own binary over the runtime API.
func TestBuiltFunctionRefusesEventsOfAnotherShape(t *testing.T) {
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
	b.Put("charge", "order-1", "secret payload one")
	b.Put("charge", "refused-secret-key", "secret payload two")
	if got, want := b.Invoke(string(sample)), `{"completed":1,"retried":0,"failed":1,"unknown":0,"unsettled":0,"taken_over":0}`; got != want {
		t.Errorf("EventBridge's own event: %s, want %s", got, want)
	}
	if bodies["order-1"] != "secret payload one" {
		t.Errorf("the remote got %q", bodies)
	}
	if row := b.Row("charge", "order-1"); row.Status != outbox.StatusCompleted || len(row.ClaimedBy) != 36 {
		t.Errorf("row is %s, claimed by %q; want completed, by the request's id", row.Status, row.ClaimedBy)
	}

	b.Put("charge", "order-2", "two")
	if got := b.Invoke(`{"part": 0, "of": 2}`) + b.Invoke(`{"part": 1, "of": 2}`); strings.Count(got, `"completed":1`) != 1 {
		t.Errorf("two parts: %s, want the row completed by one of them", got)
	}

	b.Put("charge", "order-3", "three")
	b.RefusesOtherEvents("unknown event: want a schedule's")
	if row := b.Row("charge", "order-3"); row.Status != outbox.StatusPending {
		t.Errorf("an event of another shape made the row %s", row.Status)
	}

	logged := b.Output.Has("landfall.http.status_400", `"_aws":{"CloudWatchMetrics"`)
	log := b.Output.String()
	if n := strings.Count(log, `"message":"attempt"`); !logged || n != 1 {
		t.Errorf("%d lines about attempts, want one, about the refusal, and metrics:\n%s", n, log)
	}
	for _, secret := range []string{"secret payload", "secret-key", "c2VjcmV0"} {
		if strings.Contains(log, secret) {
			t.Errorf("%q is in the function's output:\n%s", secret, log)
		}
	}
}

func TestBuiltFunctionNeedsItsConfigurationToStart(t *testing.T) {
	b := newBench(t, "http://127.0.0.1:1")
	if err := os.WriteFile(b.Folder+"/"+schema.ConfigFile, []byte(`{"destinations": {}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if result := b.Raw(`{"part": 0, "of": 1}`); result.FunctionError == "" || !b.Output.Has("landfall.json") {
		t.Errorf("%s %s; output:\n%s", result.FunctionError, result.Payload, b.Output)
	}
}

func newBench(t *testing.T, remote string) *functiontest.Bench {
	t.Helper()
	return functiontest.New(t, "dispatch", fmt.Sprintf(
		"log_successes: 0\ndestinations:\n  charge: {http: %s, deduplicates: never, allow_private: true}\n", remote))
}
