package main_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/landfall-dev/landfall/internal/lab/functiontest"
	"github.com/landfall-dev/landfall/internal/routing"
)

const couriers = `
groups:
  couriers:
    accept: explicit
    accept_timeout: 2s
    route: first_with_capacity
    consumers: {north: {sqs: north}, south: {sqs: south}}
`

// TestBuiltFunctionForwardsMessagesUnchanged: from the ingress queue to the first consumer,
// on to the second when the first does not accept in time, and out of the ingress queue when that one does.
func TestBuiltFunctionForwardsMessagesUnchanged(t *testing.T) {
	t.Parallel()
	r := functiontest.NewRouter(t, "acme", couriers, "north", "south")
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	attributes := map[string]types.MessageAttributeValue{
		"tenant": {DataType: aws.String("String"), StringValue: aws.String("tenant-7")},
		"key":    {DataType: aws.String("Binary.aes"), BinaryValue: every},
		"weight": {DataType: aws.String("Number"), StringValue: aws.String("1.50")},
	}
	const body = "{\"order\": 7, \"note\": \"secret \u2028 ü\t\"}\n"
	id := r.Send("acme-ingress-couriers", body, attributes)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	r.Map(ctx, "acme-ingress-couriers")

	received := func(queue string) routing.Envelope {
		t.Helper()
		got := r.Receive(queue, 10)
		if len(got) != 1 || *got[0].Body != body || len(got[0].MessageAttributes) != len(attributes)+1 {
			t.Fatalf("%s has %d messages: %+v\n%s", queue, len(got), got, r.Output)
		}
		for name, want := range attributes {
			a := got[0].MessageAttributes[name]
			if *a.DataType != *want.DataType || aws.ToString(a.StringValue) != aws.ToString(want.StringValue) || string(a.BinaryValue) != string(want.BinaryValue) {
				t.Errorf("attribute %s is %v", name, a)
			}
		}
		envelope, err := routing.ParseEnvelope(*got[0].MessageAttributes[routing.EnvelopeAttribute].StringValue)
		if err != nil || envelope.ID != (routing.ID{Group: "couriers", Message: id}) {
			t.Fatalf("envelope of %v: %v", envelope.ID, err)
		}
		return envelope
	}
	first := received("north")
	second := received("south")
	if _, err := r.Receipts.Write(t.Context(), routing.AcceptMove(first.ID, first.Attempt, first.Token, time.Now())); err == nil {
		t.Error("north accepted what had moved on")
	}
	if _, err := r.Receipts.Write(t.Context(), routing.AcceptMove(second.ID, second.Attempt, second.Token, time.Now())); err != nil {
		t.Fatal(err)
	}
	ingress := r.URL("acme-ingress-couriers")
	if _, err := r.SQS.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: &ingress, ReceiptHandle: &second.Handle}); err != nil {
		t.Fatal(err)
	}
	outcome := r.Receipt("couriers", id).Outcome()
	if outcome.DeliveredTo != "south" || len(outcome.Reroutes) != 1 || outcome.Reroutes[0].End != routing.EndLapsed {
		t.Errorf("outcome %+v", outcome)
	}
	if late := outcome.Reroutes[0].Written.Sub(outcome.Reroutes[0].Deadline); late < 0 || late > 3*time.Second {
		t.Errorf("rerouted %v after the deadline", late)
	}
	r.Stop()
	log := r.Output.String()
	if !strings.Contains(log, `"message":"routed"`) || !strings.Contains(log, `"Lapsed":1`) {
		t.Errorf("no line or metric about the reroute:\n%s", log)
	}
	for _, secret := range []string{"secret", "tenant-7", first.Token, second.Token, first.Handle, second.Handle} {
		if strings.Contains(log, secret) {
			t.Errorf("%q is in the output:\n%s", secret, log)
		}
	}
}

// TestBuiltFunctionNeedsGroups: it would fail every event.
func TestBuiltFunctionNeedsGroups(t *testing.T) {
	t.Parallel()
	r := functiontest.NewRouter(t, "landfall", "destinations:\n  charge: {http: https://api.example.com, deduplicates: never}\n")
	if result := r.Invoke(`{"Records": []}`); result.FunctionError == "" || !r.Output.Has("landfall.json: no groups") {
		t.Errorf("%s %s; output:\n%s", result.FunctionError, result.Payload, r.Output)
	}
}
