package main_test

import (
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
	"github.com/landfall-dev/landfall/internal/outboxdb"
)

// TestBuiltFunctionLeavesPausedRowsToTheSweep has a destination paused, and then controls that cannot be read.
func TestBuiltFunctionLeavesPausedRowsToTheSweep(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	remote := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	defer remote.Close()
	sample, err := os.ReadFile("../../events/stream.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		forbid func(*functiontest.Bench) error
		log    string
	}{
		"paused": {func(b *functiontest.Bench) error {
			return outboxdb.NewControls(b.Desk.DynamoDB("test"), b.Desk.ControlTable()).Pause(t.Context(), "charge", "moving", "ann")
		}, "the destination is paused"},
		"unknown": {func(b *functiontest.Bench) error {
			_, err := b.Desk.DynamoDB("test").DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String(b.Desk.ControlTable())})
			return err
		}, "rows are left to the sweep"},
	} {
		t.Run(name, func(t *testing.T) {
			b := functiontest.New(t, "stream", "destinations: {charge: {http: \""+remote.URL+"\", deduplicates: never, allow_private: true}}")
			if err := tt.forbid(b); err != nil {
				t.Fatal(err)
			}
			b.Put("charge", "order-42", "{}")
			if got := b.Invoke(string(sample)); !strings.Contains(got, `"completed":0`) || requests.Load() != 0 {
				t.Errorf("%s, %d requests", got, requests.Load())
			}
			if row := b.Row("charge", "order-42"); row.Status != outbox.StatusPending || row.AttemptCount != 0 {
				t.Errorf("the row is %s after %d attempts", row.Status, row.AttemptCount)
			}
			if !b.Output.Has(tt.log) {
				t.Errorf("not logged: %s\n%s", tt.log, b.Output)
			}
		})
	}
}
