package observe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/landfall-dev/landfall/internal/bounded"
	"github.com/landfall-dev/landfall/internal/lab/memory"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// quiet drops the time, which no test can know.
func quiet(w *bytes.Buffer) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

var order42 = outbox.ID{Destination: "charge", Key: "order-42"}

// Each attempt and the line that it must, or must not, leave.
func TestAttemptLeavesItsLine(t *testing.T) {
	t.Parallel()
	const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	row := fmt.Sprintf(`"row":%q,"destination":"charge"`, order42)
	completed := outbox.Attempt{ID: order42, Number: 1, Sent: true, Outcome: outbox.Completed("ch_1"), Status: outbox.StatusCompleted,
		Latency: 12345678 * time.Nanosecond, Waited: 2 * time.Second}
	with := func(change func(*outbox.Attempt)) outbox.Attempt {
		a := completed
		change(&a)
		return a
	}
	for name, c := range map[string]struct {
		attempt outbox.Attempt
		want    string
	}{
		"plain success": {completed, ""},
		"success after trouble": {with(func(a *outbox.Attempt) { a.Number = 3 }),
			`{"level":"INFO","msg":"attempt","requestId":"req-1",` + row + `,"attempt":3,"sent":true,"outcome":"completed","latency_ms":12.346,"status":"completed","waited_ms":2000}`},
		"success taken over": {with(func(a *outbox.Attempt) { a.TakenOver = true }),
			`{"level":"WARN","msg":"attempt","requestId":"req-1",` + row + `,"attempt":1,"sent":true,"outcome":"completed","latency_ms":12.346,"status":"completed","taken_over":true,"waited_ms":2000}`},
		"put off": {with(func(a *outbox.Attempt) {
			a.Outcome, a.Status, a.Code, a.Trace = outbox.Retryable("http.503", 0), outbox.StatusPending, "http.503", trace
		}), `{"level":"INFO","msg":"attempt","requestId":"req-1",` + row + `,"attempt":1,"sent":true,"outcome":"retryable","latency_ms":12.346,"status":"pending","code":"http.503","waited_ms":2000,"trace":"` + trace + `"}`},
		"connection refused": {with(func(a *outbox.Attempt) {
			a.Outcome, a.Status, a.Code = outbox.Outcome{Kind: outbox.KindRetryable, Code: "http.connect_refused", Unsent: true}, outbox.StatusPending, "http.connect_refused"
		}), `{"level":"INFO","msg":"attempt","requestId":"req-1",` + row + `,"attempt":1,"sent":false,"outcome":"retryable","latency_ms":12.346,"status":"pending","code":"http.connect_refused","waited_ms":2000}`},
		"budget spent": {with(func(a *outbox.Attempt) {
			a.Number, a.Outcome, a.Status, a.Code = 5, outbox.Retryable("http.503", 0), outbox.StatusFailed, outbox.CodeAttemptsExhausted
		}), `{"level":"WARN","msg":"attempt","requestId":"req-1",` + row + `,"attempt":5,"sent":true,"outcome":"retryable","latency_ms":12.346,"outcome_code":"http.503","status":"failed","code":"landfall.dispatch.attempts_exhausted","waited_ms":2000}`},
		"unknown": {with(func(a *outbox.Attempt) {
			a.Outcome, a.Status, a.Code = outbox.Unknown("", "http.cut"), outbox.StatusOutcomeUnknown, "http.cut"
		}), `{"level":"WARN","msg":"attempt","requestId":"req-1",` + row + `,"attempt":1,"sent":true,"outcome":"unknown","latency_ms":12.346,"status":"outcome_unknown","code":"http.cut","waited_ms":2000}`},
		"panicked": {with(func(a *outbox.Attempt) {
			a.Outcome, a.Status, a.Code = outbox.Unknown("", outbox.CodeSenderPanicked), outbox.StatusOutcomeUnknown, outbox.CodeSenderPanicked
			a.Panic = &bounded.Panic{Type: "*url.Error", Stack: []string{"sender.(*HTTP).Send http.go:88"}}
		}), `{"level":"WARN","msg":"attempt","requestId":"req-1",` + row + `,"attempt":1,"sent":true,"outcome":"unknown","latency_ms":12.346,"panic":"*url.Error","stack":["sender.(*HTTP).Send http.go:88"],"status":"outcome_unknown","code":"landfall.sender.panicked","waited_ms":2000}`},
		"not settled": {with(func(a *outbox.Attempt) { a.Status, a.Err = "", errors.New("update row: throttled") }),
			`{"level":"ERROR","msg":"attempt","requestId":"req-1",` + row + `,"attempt":1,"sent":true,"outcome":"completed","latency_ms":12.346,"status":"unsettled","waited_ms":2000,"error":"update row: throttled"}`},
		"ended without a claim": {outbox.Attempt{ID: order42, Status: outbox.StatusFailed, Code: outbox.CodeExpired, Trace: "order-42"},
			`{"level":"WARN","msg":"attempt","requestId":"req-1",` + row + `,"attempt":0,"sent":false,"status":"failed","code":"landfall.dispatch.expired"}`},
	} {
		var log bytes.Buffer
		o := New(Config{Logger: quiet(&log), Destinations: []string{"charge"}, RequestID: "req-1"})
		o.Attempted(c.attempt)
		if got := strings.TrimSpace(log.String()); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, c.want)
		}
	}
}

func TestSampleHasItsSizeAndAlwaysTheSameRows(t *testing.T) {
	t.Parallel()
	const n = 10_000
	logged := func(share float64) []string {
		var log bytes.Buffer
		o := New(Config{Logger: quiet(&log), Destinations: []string{"charge"}, LogSuccesses: share})
		for i := range n {
			o.Attempted(outbox.Attempt{ID: outbox.ID{Destination: "charge", Key: fmt.Sprint(i)}, Number: 1, Sent: true,
				Outcome: outbox.Completed(""), Status: outbox.StatusCompleted})
		}
		return slices.Collect(strings.Lines(log.String()))
	}
	for share, bounds := range map[float64][2]int{0: {0, 0}, 0.01: {60, 140}, 0.5: {4800, 5200}, 1: {n, n}} {
		lines := logged(share)
		if len(lines) < bounds[0] || len(lines) > bounds[1] {
			t.Errorf("share %v: %d lines of %d", share, len(lines), n)
		}
		if !slices.Equal(lines, logged(share)) {
			t.Errorf("share %v: other rows the second time", share)
		}
	}
}

func TestMetricsOfDestinationsAreCountedOnceEach(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	o := New(Config{Metrics: &out, Destinations: []string{"charge", "mail", "idle"}, RequestID: "req-1"})
	walk := func(destination string, kind outbox.LaneKind, shard, due int, oldest time.Duration, held int) {
		o.Walked(outbox.Walk{Lane: outbox.Lane{Kind: kind, Destination: destination, Shard: shard}, Due: due, OldestDue: oldest, Held: held})
	}
	walk("charge", outbox.DueLane, 0, 3, 61*time.Second, 0)
	walk("charge", outbox.DueLane, 1, 4, 1500*time.Millisecond, 2)
	walk("charge", outbox.UnknownLane, 0, 1, time.Hour, 1)
	walk("idle", outbox.DueLane, 0, 0, 0, 0)
	attempt := func(destination string, number int, sent bool, status outbox.Status, takenOver bool, latency time.Duration) {
		o.Attempted(outbox.Attempt{ID: outbox.ID{Destination: destination, Key: "k"}, Number: number, Sent: sent, Status: status,
			TakenOver: takenOver, Latency: latency, Waited: -time.Second})
	}
	attempt("charge", 1, true, outbox.StatusCompleted, false, 10*time.Millisecond)
	attempt("charge", 1, true, outbox.StatusCompleted, false, 20*time.Millisecond)
	attempt("charge", 2, true, outbox.StatusPending, false, 30*time.Millisecond)
	attempt("charge", 3, true, outbox.StatusOutcomeUnknown, true, 40*time.Millisecond)
	attempt("charge", 0, false, outbox.StatusFailed, false, 0)
	attempt("mail", 1, true, "", false, 1500*time.Microsecond)
	attempt("alice@example.com", 1, false, outbox.StatusFailed, false, 0)
	attempt("stray", 0, false, outbox.StatusFailed, false, 0)
	if err := o.Flush(); err != nil {
		t.Fatal(err)
	}
	want := []map[string]any{
		{"Destination": "charge", "requestId": "req-1", "Attempts": 4.0, "Completed": 2.0, "Retried": 1.0, "Failed": 1.0, "Unknown": 1.0,
			"TakenOver": 1.0, "Latency": []any{10.0, 20.0, 30.0, 40.0}, "Wait": []any{0.0, 0.0},
			"DueRows": 7.0, "DueAge": 61.0, "HeldRows": 3.0, "UnknownRows": 1.0, "UnknownAge": 3600.0},
		{"Destination": "idle", "requestId": "req-1", "DueRows": 0.0, "DueAge": 0.0},
		{"Destination": "mail", "requestId": "req-1", "Attempts": 1.0, "Unsettled": 1.0, "Latency": 1.5, "Wait": 0.0},
		{"Destination": "other", "requestId": "req-1", "Failed": 2.0, "Wait": 0.0},
	}
	got := checked(t, out.Bytes())
	for _, root := range got {
		if aws := fmt.Sprint(root["_aws"]); !strings.Contains(aws, "Namespace:Landfall") {
			t.Errorf("metadata %s", aws)
		}
		delete(root, "_aws")
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	out.Reset()
	if err := o.Flush(); err != nil || out.Len() > 0 {
		t.Errorf("flushed again: %s, %v", out.String(), err)
	}
}

func TestConcurrentAttemptsAreAllCounted(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	o := New(Config{Metrics: &out, Destinations: []string{"charge"}})
	var wg sync.WaitGroup
	const n = 1050
	for i := range n {
		wg.Go(func() {
			o.Attempted(outbox.Attempt{ID: order42, Number: 2, Sent: true, Status: outbox.StatusCompleted, Latency: time.Duration(i) * time.Millisecond})
		})
	}
	wg.Wait()
	if err := o.Flush(); err != nil {
		t.Fatal(err)
	}
	var latencies []float64
	documents := checked(t, out.Bytes())
	for _, root := range documents {
		latencies = append(latencies, values(t, root["Latency"])...)
	}
	slices.Sort(latencies)
	if len(documents) != 11 || documents[0]["Attempts"] != float64(n) || len(slices.Compact(latencies)) != n {
		t.Errorf("%d documents, %v attempts, %d latencies", len(documents), documents[0]["Attempts"], len(latencies))
	}
}

type sender func(outbox.Row) outbox.Outcome

func (s sender) Send(_ context.Context, row outbox.Row) outbox.Outcome { return s(row) }

// A run of the dispatcher itself, over rows whose every part is a secret.
func TestLogsAndMetricsOfAttemptsAreFreeOfSecrets(t *testing.T) {
	t.Parallel()
	store := &memory.Store{}
	now := time.Now().Add(-time.Minute).Truncate(time.Millisecond)
	for i, destination := range []string{"lands", "refuses", "cut", "panics"} {
		id := outbox.ID{Destination: destination, Key: fmt.Sprintf("alice@example.com-%d", i)}
		row := outbox.Row{ID: id, Status: outbox.StatusPending, Lane: outbox.Lane{Kind: outbox.DueLane, Destination: destination},
			LaneAt: now, CreatedAt: now, Payload: []byte("alice-payload"), ContentType: "text/alice",
			Headers: map[string]string{"alice": "alice"}, Trace: "alice-trace", CommandID: "alice-command"}
		if err := store.Put(t.Context(), row); err != nil {
			t.Fatal(err)
		}
	}
	var log, metrics bytes.Buffer
	o := New(Config{Logger: quiet(&log), Metrics: &metrics, LogSuccesses: 1, Destinations: []string{"lands", "refuses", "cut", "panics"}})
	outcomes := map[string]sender{
		"lands":   func(outbox.Row) outbox.Outcome { return outbox.Completed("alice-ref") },
		"refuses": func(outbox.Row) outbox.Outcome { return outbox.Permanent("http.422") },
		"cut":     func(outbox.Row) outbox.Outcome { return outbox.Unknown("alice-ref", "http.cut") },
		"panics":  func(row outbox.Row) outbox.Outcome { panic(string(row.Payload)) },
	}
	d := outbox.Dispatcher{Store: store, Observer: o}
	for _, name := range slices.Sorted(maps.Keys(outcomes)) {
		d.Destinations = append(d.Destinations, outbox.Destination{Name: name, Sender: outcomes[name]})
	}
	if _, err := d.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := o.Flush(); err != nil {
		t.Fatal(err)
	}
	if text := log.String() + metrics.String(); strings.Contains(text, "alice") {
		t.Errorf("a secret got out:\n%s", text)
	}
	if n := len(slices.Collect(bytes.Lines(log.Bytes()))); n != len(outcomes) {
		t.Errorf("%d lines:\n%s", n, log.String())
	}
	if n := len(checked(t, metrics.Bytes())); n != len(outcomes) {
		t.Errorf("%d documents:\n%s", n, metrics.String())
	}
}

func TestNameOfAForeignRowIsOther(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	o := New(Config{Logger: quiet(&log), Destinations: []string{"charge"}})
	o.Attempted(outbox.Attempt{ID: outbox.ParsePK("alice@example.com#1"), Status: outbox.StatusFailed})
	o.Attempted(outbox.Attempt{ID: outbox.ParsePK("alice"), Status: outbox.StatusFailed})
	if strings.Contains(log.String(), "alice") || strings.Count(log.String(), `"row":"other/`) != 2 {
		t.Errorf("log says %s", log.String())
	}
}

// failing is standard output that is gone.
type failing struct{}

var errGone = errors.New("gone")

func (failing) Write([]byte) (int, error) { return 0, errGone }

func TestFailureToWriteMetricsIsReported(t *testing.T) {
	t.Parallel()
	o := New(Config{Metrics: failing{}})
	o.Walked(outbox.Walk{Lane: outbox.Lane{Kind: outbox.DueLane}})
	if err := o.Flush(); !errors.Is(err, errGone) {
		t.Errorf("got %v", err)
	}
	zero := New(Config{})
	zero.Attempted(outbox.Attempt{})
	if err := zero.Flush(); err != nil {
		t.Error(err)
	}
}

func ExampleObserver() {
	var out bytes.Buffer
	o := New(Config{Metrics: &out, Destinations: []string{"charge"}})
	o.Attempted(outbox.Attempt{ID: order42, Number: 2, Sent: true, Status: outbox.StatusCompleted, Latency: 80 * time.Millisecond})
	if err := o.Flush(); err != nil {
		fmt.Println(err)
	}
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		fmt.Println(err)
	}
	delete(line, "_aws") // has the time
	fmt.Println(line)
	// Output: map[Attempts:1 Completed:1 Destination:charge Latency:80]
}

func TestClockThatIsOffIsCountedAndLoggedOnceForEachFlush(t *testing.T) {
	t.Parallel()
	var log, out bytes.Buffer
	o := New(Config{Function: "stream", Logger: quiet(&log), Metrics: &out})
	for range 2 {
		o.ClockOff(errors.New("4 s ahead"))
		o.ClockOff(errors.New("4 s ahead"))
		if err := o.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.Flush(); err != nil {
		t.Fatal(err)
	}
	const line = `{"level":"ERROR","msg":"the clock is off","error":"4 s ahead"}` + "\n"
	if log.String() != line+line {
		t.Errorf("logged %s", &log)
	}
	documents := checked(t, out.Bytes())
	if len(documents) != 2 || documents[0]["ClockOff"] != 1.0 || documents[0]["Function"] != "stream" {
		t.Errorf("metrics %v", documents)
	}
}
