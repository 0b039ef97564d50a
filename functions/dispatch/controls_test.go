package main_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/landfall-dev/landfall/internal/lab/functiontest"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outboxdb"
)

// TestBuiltFunctionSendsNothingToAPausedDestination pauses one of two, then goes on.
func TestBuiltFunctionSendsNothingToAPausedDestination(t *testing.T) {
	t.Parallel()
	var paused, atOnce, most atomic.Int32
	remote := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/paused" {
			paused.Add(1)
			return
		}
		n := atOnce.Add(1)
		defer atOnce.Add(-1)
		for was := most.Load(); n > was && !most.CompareAndSwap(was, n); was = most.Load() {
		}
	}))
	defer remote.Close()
	b := functiontest.New(t, "dispatch", fmt.Sprintf(`
defaults: {head_start: 0s}
destinations:
  charge: {http: %[1]s/paused, deduplicates: never, allow_private: true}
  mail: {http: %[1]s/mail, deduplicates: never, allow_private: true}
`, remote.URL))
	controls := outboxdb.NewControls(b.Desk.DynamoDB("test"), b.Desk.ControlTable())
	if err := controls.Pause(t.Context(), "charge", "the remote is being moved", "ann"); err != nil {
		t.Fatal(err)
	}
	if err := controls.Limit(t.Context(), "mail", 1, "slow", "ann"); err != nil {
		t.Fatal(err)
	}
	b.Put("charge", "order-1", "{}")
	const mails = 12
	for i := range mails {
		b.Put("mail", fmt.Sprint("order-", i), "{}")
	}
	if got := b.Invoke(`{"part": 0, "of": 1}`); !strings.Contains(got, fmt.Sprintf(`"completed":%d`, mails)) || most.Load() != 1 {
		t.Errorf("%s, %d at once; want all mails, one at a time", got, most.Load())
	}
	if row := b.Row("charge", "order-1"); row.Status != outbox.StatusPending || row.AttemptCount != 0 || paused.Load() != 0 {
		t.Errorf("paused: %s after %d attempts, %d requests", row.Status, row.AttemptCount, paused.Load())
	}
	if !b.Output.Has(`"message":"the destination is paused"`, `"max_concurrency":1`) {
		t.Errorf("not logged:\n%s", b.Output)
	}

	if err := controls.Resume(t.Context(), "charge", "", "ann"); err != nil {
		t.Fatal(err)
	}
	for resumed := time.Now(); b.Row("charge", "order-1").Status != outbox.StatusCompleted; {
		if late := time.Since(resumed) > outboxdb.ControlsFor; b.Invoke(`{"part": 0, "of": 1}`) != "" && late {
			break // begun when it had to be honoured
		}
	}
	if row := b.Row("charge", "order-1"); row.Status != outbox.StatusCompleted || paused.Load() != 1 {
		t.Errorf("resumed: %s, %d requests", row.Status, paused.Load())
	}
}

func TestBuiltFunctionSendsNothingIfControlsCannotBeRead(t *testing.T) {
	t.Parallel()
	b := functiontest.New(t, "dispatch", "destinations: {charge: {http: \"http://127.0.0.1:1\", deduplicates: never, allow_private: true}}")
	if _, err := b.Desk.DynamoDB("test").DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String(b.Desk.ControlTable())}); err != nil {
		t.Fatal(err)
	}
	b.Put("charge", "order-1", "{}")
	if got := b.Raw(`{"part": 0, "of": 1}`); got.FunctionError == "" || !strings.Contains(string(got.Payload), "read the controls of destinations") {
		t.Errorf("%s %s, want a visible failure", got.FunctionError, got.Payload)
	}
	if row := b.Row("charge", "order-1"); row.Status != outbox.StatusPending || row.AttemptCount != 0 {
		t.Errorf("the row is %s after %d attempts", row.Status, row.AttemptCount)
	}
}
