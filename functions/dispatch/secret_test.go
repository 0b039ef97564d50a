package main_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/landfall-dev/landfall/internal/lab/functiontest"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// guarded is a remote that takes requests with one key only, and notes which keys it saw.
type guarded struct {
	mu   sync.Mutex
	key  string
	seen []string
}

func (g *guarded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	key := r.Header.Get("X-Api-Key")
	g.seen = append(g.seen, key)
	if key != g.key {
		w.WriteHeader(http.StatusUnauthorized)
	}
}

func (g *guarded) demand(key string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.key, g.seen = key, nil
}

// TestBuiltFunctionSendsEveryRowAcrossASecretsRotation rotates a secret under a function that has it already.
func TestBuiltFunctionSendsEveryRowAcrossASecretsRotation(t *testing.T) {
	remote := &guarded{key: "hunter2-first"}
	server := httptest.NewServer(remote)
	defer server.Close()
	b := functiontest.New(t, "dispatch", fmt.Sprintf(`
log_successes: 1
defaults: {backoff: {first: 1ms, max: 1ms}, head_start: 0s}
destinations:
  charge:
    http: %[1]s
    deduplicates: never
    allow_private: true
    secret: {name: partner/api, member: key, header: X-Api-Key}
  mail: {http: "%[1]s", deduplicates: never, allow_private: true, attempts: 1, secret: nobody/knows}
`, server.URL))
	vault := secretsmanager.NewFromConfig(b.Desk.SDK("test"))
	name := aws.String("partner/api")

	b.Put("mail", "too-early", "{}")
	if got := b.Invoke(`{"part": 0, "of": 1}`); !strings.Contains(got, `"failed":1`) || len(remote.seen) != 0 {
		t.Errorf("without a secret: %s, and the remote saw %q", got, remote.seen)
	}
	if row := b.Row("mail", "too-early"); row.Code != outbox.CodeAttemptsExhausted || row.MayHaveArrived() {
		t.Errorf("without a secret the row is %s, %s", row.Status, row.Code)
	}

	_, err := vault.CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{Name: name, SecretString: aws.String(`{"key": "hunter2-first"}`)})
	if err != nil {
		t.Fatal(err)
	}
	b.Put("charge", "order-1", "{}")
	if got := b.Invoke(`{"part": 0, "of": 1}`); !strings.Contains(got, `"completed":1`) {
		t.Errorf("with a secret: %s", got)
	}

	_, err = vault.PutSecretValue(t.Context(), &secretsmanager.PutSecretValueInput{SecretId: name, SecretString: aws.String(`{"key": "hunter2-second"}`)})
	if err != nil {
		t.Fatal(err)
	}
	remote.demand("hunter2-second")
	b.Put("charge", "order-2", "{}")
	got := b.Invoke(`{"part": 0, "of": 1}`)
	if row := b.Row("charge", "order-2"); row.Status != outbox.StatusCompleted || row.AttemptCount != 2 {
		t.Errorf("rotated: %s; the row is %s after %d attempts", got, row.Status, row.AttemptCount)
	}
	if want := []string{"hunter2-first", "hunter2-second"}; !slices.Equal(remote.seen, want) {
		t.Errorf("the remote saw %q, want %q", remote.seen, want)
	}

	remote.demand("hunter2-third") // Secrets Manager does not have it
	b.Put("charge", "order-3", "{}")
	b.Invoke(`{"part": 0, "of": 1}`)
	if row := b.Row("charge", "order-3"); row.Status != outbox.StatusFailed || row.Code != "landfall.http.status_401" || len(remote.seen) != 1 {
		t.Errorf("refused for good: the row is %s, %s, and the remote saw %q", row.Status, row.Code, remote.seen)
	}
	if !b.Output.Has("landfall.http.secret_missing", "landfall.http.status_401") || strings.Contains(b.Output.String(), "hunter2") {
		t.Errorf("want a line about the missing secret, and no secret:\n%s", b.Output)
	}
	b.NothingStored("hunter2")
}
