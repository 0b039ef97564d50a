package main_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/landfall-dev/landfall/internal/lab/functiontest"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// TestBuiltFunctionRefusesEventsOfAnotherShape sends raw events to the function's own binary over the runtime API.
func TestBuiltFunctionRefusesEventsOfAnotherShape(t *testing.T) {
	var bodies atomic.Pointer[string]
	requests := atomic.Int32{}
	remote := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		text := string(body)
		bodies.Store(&text)
		requests.Add(1)
	}))
	defer remote.Close()
	b := functiontest.New(t, "stream", fmt.Sprintf(
		"log_successes: 0\ndestinations:\n  charge: {http: %s, deduplicates: never, allow_private: true}\n", remote.URL))

	b.Put("charge", "order-42", "secret payload, as stored")
	sample, err := os.ReadFile("../../events/stream.json")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := b.Invoke(string(sample)), `{"completed":1,"retried":0,"failed":0,"unknown":0,"unsettled":0,"taken_over":0}`; got != want {
		t.Errorf("the sample: %s, want %s", got, want)
	}
	if got := *bodies.Load(); got != "secret payload, as stored" {
		t.Errorf("the remote got %q: the image, not the claimed row", got)
	}
	if got := b.Invoke(string(sample)); !strings.Contains(got, `"completed":0`) || requests.Load() != 1 {
		t.Errorf("the sample again: %s, %d requests", got, requests.Load())
	}

	// Records that cannot be used leave their neighbours alone.
	b.Put("charge", "neighbour", "x")
	good := `{"eventSource":"aws:dynamodb","eventName":"INSERT","dynamodb":{"NewImage":{"pk":{"S":"charge#neighbour"},"status":{"S":"pending"},"lane_at":{"N":"1"}}}}`
	var records []string
	for _, change := range []string{
		``, `"dynamodb":null`, `"dynamodb":7`, `"dynamodb":{"NewImage":null}`, `"dynamodb":{"NewImage":{"pk":"charge#x"}}`,
		`"dynamodb":{"NewImage":{"pk":{"N":"1"},"status":{"S":"pending"},"lane_at":{"N":"1"}}}`,
		`"dynamodb":{"NewImage":{"pk":{"S":"charge#x"},"status":{"NULL":true},"lane_at":{"N":"1"}}}`,
		`"dynamodb":{"NewImage":{"pk":{"S":"charge#x"},"status":{"S":"pending"},"lane_at":{"S":"1"}}}`,
		`"dynamodb":{"NewImage":{"pk":{"S":"charge#x"},"status":{"S":"pending"},"lane_at":{"N":"1e99"}}}`,
		`"dynamodb":{"NewImage":{"pk":{"S":""},"status":{"S":"pending"},"lane_at":{"N":"1"}}}`,
		`"dynamodb":{"NewImage":{"pk":{"S":"no separator"},"status":{"S":"pending"},"lane_at":{"N":"1"}}}`,
		`"dynamodb":{"NewImage":{"pk":{"S":"elsewhere#x"},"status":{"S":"pending"},"lane_at":{"N":"1"}}}`,
		`"dynamodb":{"NewImage":{"pk":{"S":"charge#not-there"},"status":{"S":"pending"},"lane_at":{"N":"-9223372036854775808"}}}`,
	} {
		records = append(records, strings.Replace(`{"eventSource":"aws:dynamodb","eventName":"INSERT",`+change+`}`, `,}`, `}`, 1))
	}
	stray := func(lane string) string {
		return strings.Replace(good, `"status"`, `"lane":{"S":"`+lane+`"},"status"`, 1)
	}
	records = append(records, strings.Replace(good, "INSERT", "MODIFY", 1), stray("due#charge#1"), stray("due#charge#0"), stray("no lane"), good)
	if got := b.Invoke(`{"Records":[` + strings.Join(records, ",") + `]}`); !strings.Contains(got, `"completed":1`) {
		t.Errorf("a batch with unusable records: %s", got)
	}
	if !b.Output.Has(`"rows":3,"row":"invalid/`) {
		t.Errorf("no line about rows that no sweep finds:\n%s", b.Output)
	}

	// A record of something else than the insertion of a pending row is passed over.
	b.Put("charge", "changed", "x")
	changed := strings.Replace(good, "neighbour", "changed", 1)
	for is, other := range map[string]string{`"INSERT"`: `"MODIFY"`, `"pending"`: `"dispatching"`} {
		if got := b.Invoke(`{"Records":[` + strings.Replace(changed, is, other, 1) + `]}`); !strings.Contains(got, `"completed":0`) {
			t.Errorf("%s instead of %s: %s", other, is, got)
		}
	}

	b.Put("charge", "order-3", "x")
	b.RefusesOtherEvents("not a batch of a DynamoDB stream",
		`{"Records":[{"eventSource":"aws:sqs"}]}`, `{"Records":[null]}`, `{"Records":[`+good+`,{"eventSource":"aws:s3"}]}`)
	if row := b.Row("charge", "order-3"); row.Status != outbox.StatusPending {
		t.Errorf("an event of another shape made the row %s", row.Status)
	}

	// A batch that failed for want of the table would be repeated, and hold up the others.
	if _, err := b.Desk.DynamoDB("test").DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String(b.Desk.OutboxTable())}); err != nil {
		t.Fatal(err)
	}
	if got := b.Invoke(string(sample)); !strings.Contains(got, `"completed":0`) {
		t.Errorf("without the table: %s", got)
	}
	if !b.Output.Has("rows are left to the sweep") {
		t.Errorf("no line about the batch without a table:\n%s", b.Output)
	}
	log := b.Output.String()
	if n := strings.Count(log, `"rows":3,"row":"invalid/`); n != 1 {
		t.Errorf("%d lines about the rows that no sweep finds, want 1:\n%s", n, log)
	}
	if strings.Contains(log, "secret payload") || strings.Contains(log, "order-42") {
		t.Errorf("payload or key in the function's output:\n%s", log)
	}
}
