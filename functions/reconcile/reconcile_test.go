package main_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/functiontest"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// TestBuiltFunctionUnderstandsItsEventsAndAnswers sends raw events to the function's own binary over the runtime
// API, while a remote says what became of four rows.
func TestBuiltFunctionUnderstandsItsEventsAndAnswers(t *testing.T) {
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
		doubt(b, "charge", key)
	}
	doubt(b, "mail", "secret-mail")

	b.RefusesOtherEvents("unknown event: want a schedule's")
	if row := b.Row("charge", "landed"); row.Status != outbox.StatusOutcomeUnknown {
		t.Errorf("an event of another shape made the row %s", row.Status)
	}

	sample, err := os.ReadFile("../../events/reconcile.json")
	if err != nil {
		t.Fatal(err)
	}
	want := `{"completed":1,"failed":1,"resent":1,"unresolved":1,"without_lookup":1,"skipped":0}`
	if got := b.Invoke(string(sample)); got != want {
		t.Errorf("EventBridge's own event: %s, want %s", got, want)
	}
	for key, want := range map[string]outbox.Row{
		"landed":      {Status: outbox.StatusCompleted, RemoteRef: "ch_1", LookupCount: 1},
		"declined":    {Status: outbox.StatusFailed, Code: outbox.CodeLookupFailed, LookupCount: 1},
		"unheard-of":  {Status: outbox.StatusPending, LookupCount: 1},
		"secret-open": {Status: outbox.StatusOutcomeUnknown, Code: "landfall.lookup.http.status_200", LookupCount: 1},
	} {
		row := b.Row("charge", key)
		if row.Status != want.Status || row.RemoteRef != want.RemoteRef || row.LookupCount != want.LookupCount || want.Code != "" && row.Code != want.Code {
			t.Errorf("%s is %s, %q, called %q, after %d lookups", key, row.Status, row.Code, row.RemoteRef, row.LookupCount)
		}
		if row.MayHaveArrived() != (key != "unheard-of") {
			t.Errorf("%s: maybe_since = %v", key, row.MaybeSince)
		}
	}
	if row := b.Row("mail", "secret-mail"); row.Status != outbox.StatusOutcomeUnknown || row.LookupCount != 0 {
		t.Errorf("the row that waits for a person is %s after %d lookups", row.Status, row.LookupCount)
	}
	if got := b.Invoke(`{"part": 0, "of": 2}`) + b.Invoke(`{"part": 1, "of": 2}`); strings.Count(got, `"without_lookup":1`) != 1 || strings.Contains(got, `"unresolved":1`) {
		t.Errorf("two parts: %s, want the waiting row in one of them, and nothing asked again so soon", got)
	}

	logged := b.Output.Has(`"Reconciled":3`, `"UnknownAge"`)
	log := b.Output.String()
	if n := strings.Count(log, `"message":"lookup"`); !logged || n != 4 {
		t.Errorf("%d lines about lookups, want 4, and the metrics:\n%s", n, log)
	}
	for _, secret := range []string{"secret", "c2VjcmV0", remote.URL} {
		if strings.Contains(log, secret) {
			t.Errorf("%q is in the function's output:\n%s", secret, log)
		}
	}
}

func newBench(t *testing.T, remote string) *functiontest.Bench {
	t.Helper()
	return functiontest.New(t, "reconcile", fmt.Sprintf(`
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
}

// doubt puts a row and makes an hour ago of the time at which the outcome of its only attempt was lost.
func doubt(b *functiontest.Bench, destination, key string) {
	b.Helper()
	ctx, past := b.Context(), time.Now().Add(-time.Hour)
	b.Put(destination, key, "secret payload")
	id := outbox.ID{Destination: destination, Key: key}
	row, err := b.Store.Claim(ctx, outbox.Claim{ID: id, Token: "token-of-22-characters", At: time.Now(), Until: past, Attempts: 5})
	if err != nil {
		b.Fatal(err)
	}
	row.Lane.Kind = outbox.UnknownLane
	err = b.Store.Settle(ctx, outbox.Settlement{
		ID: id, Token: row.Token, Status: outbox.StatusOutcomeUnknown, Lane: row.Lane, LaneAt: past, MaybeSince: past, Code: "landfall.http.cut",
	})
	if err != nil {
		b.Fatal(err)
	}
}
