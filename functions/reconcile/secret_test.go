package main_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/landfall-dev/landfall/internal/lab/functiontest"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// TestBuiltFunctionAsksAgainWithTheNewSecret rotates the secret that a lookup has from its destination. To
// its remote, a refused question looks like one that found nothing.
func TestBuiltFunctionAsksAgainWithTheNewSecret(t *testing.T) {
	var key atomic.Value
	key.Store("Bearer hunter2-first")
	remote := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != key.Load() {
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	defer remote.Close()
	b := functiontest.New(t, "reconcile", fmt.Sprintf(`
destinations:
  charge:
    http: %[1]s/charges
    deduplicates: never
    allow_private: true
    late_arrival: 1ms
    secret: partner
    lookup:
      http: %[1]s/by-key/{idempotency_key}
      rules:
        - {status: 200, then: completed}
        - {status: 403, then: not_found}
`, remote.URL))
	vault := secretsmanager.NewFromConfig(b.Desk.SDK("test"))
	_, err := vault.CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{Name: aws.String("partner"), SecretString: aws.String("hunter2-first")})
	if err != nil {
		t.Fatal(err)
	}
	reconcile := func(key string, want outbox.Status, code string) {
		t.Helper()
		doubt(b, "charge", key)
		got := b.Invoke(`{"part": 0, "of": 1}`)
		if row := b.Row("charge", key); row.Status != want || row.Code != code || row.LookupCount != 1 {
			t.Errorf("%s: %s; the row is %s, %q, after %d lookups", key, got, row.Status, row.Code, row.LookupCount)
		}
	}
	reconcile("order-1", outbox.StatusCompleted, "")
	_, err = vault.PutSecretValue(t.Context(), &secretsmanager.PutSecretValueInput{SecretId: aws.String("partner"), SecretString: aws.String("hunter2-second")})
	if err != nil {
		t.Fatal(err)
	}
	key.Store("Bearer hunter2-second")
	reconcile("order-2", outbox.StatusOutcomeUnknown, "landfall.lookup.http.status_403")
	reconcile("order-3", outbox.StatusCompleted, "")
	if strings.Contains(b.Output.String(), "hunter2") {
		t.Errorf("the secret is in the function's output:\n%s", b.Output)
	}
	b.NothingStored("hunter2")
}
