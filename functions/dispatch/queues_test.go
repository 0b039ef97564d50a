package main_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/landfall-dev/landfall/internal/lab/functiontest"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/schema"
)

// TestBuiltFunctionSendsEveryRowToItsQueue sweeps rows of kinds sqs and group, and one for a queue that is not
// there.
func TestBuiltFunctionSendsEveryRowToItsQueue(t *testing.T) {
	b := functiontest.New(t, "dispatch", `
destinations:
  mail: {sqs: mail-queue, deduplicates: never}
  nowhere: {sqs: no-queue, deduplicates: never}
  jobs: {group: couriers}
groups:
  couriers: {accept: explicit, route: least_loaded}
`)
	client := b.Desk.SQS("test")
	gone, err := b.Desk.QueueURL(t.Context(), "no-queue")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.DeleteQueue(t.Context(), &sqs.DeleteQueueInput{QueueUrl: &gone}); err != nil {
		t.Fatal(err)
	}
	b.Put("mail", "order-1", `{"to": "ann"}`)
	b.Put("jobs", "order-2", `{"from": "here"}`)
	b.Put("nowhere", "order-3", `{}`)
	if got := b.Invoke(`{"part": 0, "of": 1}`); !strings.Contains(got, `"completed":2`) || !strings.Contains(got, `"unknown":0`) {
		t.Errorf("%s\n%s", got, b.Output)
	}
	for queue, want := range map[string][2]string{
		"mail-queue": {`{"to": "ann"}`, "Idempotency-Key"},
		schema.IngressQueue(b.Desk.Prefix, "couriers"): {`{"from": "here"}`, schema.MessageIDAttribute},
	} {
		url, err := b.Desk.QueueURL(t.Context(), queue)
		if err != nil {
			t.Fatal(err)
		}
		out, err := client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 10, MessageAttributeNames: []string{"All"}})
		if err != nil || len(out.Messages) != 1 || *out.Messages[0].Body != want[0] {
			t.Fatalf("%s: %+v, %v", queue, out, err)
		}
		if _, there := out.Messages[0].MessageAttributes[want[1]]; !there {
			t.Errorf("%s: no attribute %s", queue, want[1])
		}
		destination, key := "mail", "order-1"
		if queue != "mail-queue" {
			destination, key = "jobs", "order-2"
		}
		if row := b.Row(destination, key); row.Status != outbox.StatusCompleted || row.RemoteRef != *out.Messages[0].MessageId {
			t.Errorf("%s is %s, called %q; want completed, by the message's id", destination, row.Status, row.RemoteRef)
		}
	}
	if row := b.Row("nowhere", "order-3"); row.Code != "landfall.sqs.non_existent_queue" || !row.MaybeSince.IsZero() {
		t.Errorf("nowhere: %s, %s, perhaps since %v", row.Status, row.Code, row.MaybeSince)
	}
	if log := b.Output.String(); strings.Contains(log, "ann") {
		t.Errorf("a payload is in the function's output:\n%s", log)
	}
}
