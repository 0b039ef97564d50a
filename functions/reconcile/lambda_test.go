package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/landfall-dev/landfall/internal/lab/devstack"
	"github.com/landfall-dev/landfall/internal/lab/functiontest"
	"github.com/landfall-dev/landfall/internal/lookup"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// TestBuiltFunctionUnderstandsTheAnswersOfALookupFunction has a function of a user's say what became of four rows.
func TestBuiltFunctionUnderstandsTheAnswersOfALookupFunction(t *testing.T) {
	ask := filepath.Join(t.TempDir(), "bootstrap")
	build := exec.CommandContext(t.Context(), "go", "build", "-tags=lambda.norpc", "-o", ask, "./testdata/ask")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b := functiontest.New(t, "reconcile", `
destinations:
  charge: {http: "https://api.example.com/charges", deduplicates: never, late_arrival: 1ms, lookup: {lambda: ask}}
  mail: {http: "https://api.example.com/mails", deduplicates: never, late_arrival: 1ms, lookup: {lambda: nobody}}
`, devstack.Function{Name: "ask", Path: ask})
	for _, key := range []string{"completed", "failed", "not_found", "crash"} {
		doubt(b, "charge", key)
	}
	doubt(b, "mail", "completed")
	want := `{"completed":1,"failed":1,"resent":1,"unresolved":2,"without_lookup":0,"skipped":0}`
	if got := b.Invoke(`{"part": 0, "of": 1}`); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if row := b.Row("charge", "completed"); row.Status != outbox.StatusCompleted || row.RemoteRef != "ref of completed" {
		t.Errorf("the row is %s, called %q", row.Status, row.RemoteRef)
	}
	for id, code := range map[[2]string]string{{"charge", "crash"}: lookup.CodeFunctionError, {"mail", "completed"}: lookup.CodeInvoke} {
		if row := b.Row(id[0], id[1]); row.Status != outbox.StatusOutcomeUnknown || row.Code != code {
			t.Errorf("%s: the row is %s, %s, want %s", id[0], row.Status, row.Code, code)
		}
	}
}
