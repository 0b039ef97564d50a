package observe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/memory"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// Each look and the line that it leaves.
func TestLookupLeavesItsLine(t *testing.T) {
	t.Parallel()
	row := fmt.Sprintf(`"row":%q,"destination":"charge"`, order42)
	asked := outbox.Look{ID: order42, Step: outbox.Ask, Latency: 12 * time.Millisecond, Age: 90 * time.Second, Lookups: 1}
	with := func(change func(*outbox.Look)) outbox.Look {
		l := asked
		change(&l)
		return l
	}
	for name, c := range map[string]struct {
		look outbox.Look
		want string
	}{
		"completed": {with(func(l *outbox.Look) { l.Answer.Kind, l.Status = outbox.AnswerCompleted, outbox.StatusCompleted }),
			`{"level":"INFO","msg":"lookup",` + row + `,"lookup":2,"asked":true,"answer":"completed","latency_ms":12,"status":"completed","age_s":90}`},
		"never arrived, budget spent": {with(func(l *outbox.Look) {
			l.Answer.Kind, l.Status, l.Code = outbox.AnswerNotFound, outbox.StatusFailed, outbox.CodeAttemptsExhausted
		}), `{"level":"WARN","msg":"lookup",` + row + `,"lookup":2,"asked":true,"answer":"not_found","latency_ms":12,"status":"failed","age_s":90,"code":"landfall.dispatch.attempts_exhausted"}`},
		"unresolved": {with(func(l *outbox.Look) {
			l.Answer.Code, l.Code, l.Status = "http.503", "http.503", outbox.StatusOutcomeUnknown
		}),
			`{"level":"WARN","msg":"lookup",` + row + `,"lookup":2,"asked":true,"answer":"unresolved","latency_ms":12,"status":"outcome_unknown","age_s":90,"code":"http.503"}`},
		"another process was faster": {with(func(l *outbox.Look) { l.Answer.Kind, l.Err = outbox.AnswerNotFound, outbox.ErrConflict }),
			`{"level":"INFO","msg":"lookup",` + row + `,"lookup":2,"asked":true,"answer":"not_found","latency_ms":12,"status":"unsettled","age_s":90,"error":"the row has changed since it was read"}`},
		"not settled": {with(func(l *outbox.Look) { l.Answer.Kind, l.Err = outbox.AnswerCompleted, errors.New("throttled") }),
			`{"level":"ERROR","msg":"lookup",` + row + `,"lookup":2,"asked":true,"answer":"completed","latency_ms":12,"status":"unsettled","age_s":90,"error":"throttled"}`},
		"ended unasked": {outbox.Look{ID: order42, Step: outbox.End, Status: outbox.StatusFailed, Code: outbox.CodeRowInvalid, Trace: "order-42"},
			`{"level":"WARN","msg":"lookup",` + row + `,"lookup":1,"asked":false,"status":"failed","age_s":0,"code":"landfall.row.invalid"}`},
	} {
		var log bytes.Buffer
		New(Config{Logger: quiet(&log), Destinations: []string{"charge"}}).Looked(c.look)
		if got := strings.TrimSpace(log.String()); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, c.want)
		}
	}
}

func TestOnlyASettledLookupCountsAsReconciled(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	o := New(Config{Metrics: &out, Destinations: []string{"charge"}})
	for i, status := range []outbox.Status{outbox.StatusCompleted, outbox.StatusFailed, outbox.StatusPending, outbox.StatusOutcomeUnknown, ""} {
		o.Looked(outbox.Look{ID: order42, Step: outbox.Ask, Status: status, Latency: time.Duration(i+1) * time.Millisecond})
	}
	o.Looked(outbox.Look{ID: order42, Step: outbox.End, Status: outbox.StatusFailed})
	if err := o.Flush(); err != nil {
		t.Fatal(err)
	}
	want := []map[string]any{{"Destination": "charge", "Completed": 1.0, "Failed": 2.0, "Resent": 1.0, "Reconciled": 3.0,
		"Lookups": 5.0, "LookupTime": []any{1.0, 2.0, 3.0, 4.0, 5.0}}}
	got := checked(t, out.Bytes())
	delete(got[0], "_aws")
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

type asker func(outbox.Row) outbox.Answer

func (a asker) Look(_ context.Context, row outbox.Row) outbox.Answer { return a(row) }

// A run of the reconciler itself, over a row whose every part is a secret.
func TestLogsAndMetricsOfLookupsAreFreeOfSecrets(t *testing.T) {
	t.Parallel()
	store := &memory.Store{}
	past := time.Now().Add(-time.Hour).Truncate(time.Millisecond)
	var log, metrics bytes.Buffer
	o := New(Config{Logger: quiet(&log), Metrics: &metrics, Destinations: []string{"says", "panics"}})
	r := outbox.Reconciler{Store: store, Observer: o, Destinations: []outbox.Destination{
		{Name: "says", Lookup: asker(func(outbox.Row) outbox.Answer { return outbox.Answer{Kind: outbox.AnswerCompleted, Ref: "alice-ref"} })},
		{Name: "panics", Lookup: asker(func(row outbox.Row) outbox.Answer { panic(string(row.Payload)) })},
	}}
	for _, d := range r.Destinations {
		row := outbox.Row{ID: outbox.ID{Destination: d.Name, Key: "alice@example.com"}, Status: outbox.StatusOutcomeUnknown,
			Lane: outbox.Lane{Kind: outbox.UnknownLane, Destination: d.Name}, LaneAt: past, Until: past, MaybeSince: past, CreatedAt: past,
			Token: "alice-token", Payload: []byte("alice-payload"), RemoteRef: "alice-ref", Trace: "alice-trace"}
		if err := store.Put(t.Context(), row); err != nil {
			t.Fatal(err)
		}
	}
	report, err := r.RunOnce(t.Context())
	if err != nil || len(report.Completed) != 1 || len(report.Unresolved) != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	if err := o.Flush(); err != nil {
		t.Fatal(err)
	}
	if text := log.String() + metrics.String(); strings.Contains(text, "alice") {
		t.Errorf("a secret got out:\n%s", text)
	}
}
