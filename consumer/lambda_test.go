package consumer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/landfall-dev/landfall/consumer"
)

// record turns a message into a record of an event.
func record(msg types.Message) events.SQSMessage {
	r := events.SQSMessage{
		MessageId: *msg.MessageId, ReceiptHandle: *msg.ReceiptHandle, Body: *msg.Body, EventSource: "aws:sqs", Attributes: msg.Attributes,
		MessageAttributes: map[string]events.SQSMessageAttribute{},
	}
	for name, a := range msg.MessageAttributes {
		r.MessageAttributes[name] = events.SQSMessageAttribute{DataType: *a.DataType, StringValue: a.StringValue, BinaryValue: a.BinaryValue}
	}
	return r
}

// invoke passes an event to a handler as JSON, as Lambda does, and returns the answer as JSON.
func invoke(t *testing.T, handler consumer.LambdaHandler, records ...events.SQSMessage) (string, error) {
	t.Helper()
	text, err := json.Marshal(events.SQSEvent{Records: records})
	if err != nil {
		t.Fatal(err)
	}
	var event events.SQSEvent
	if err := json.Unmarshal(text, &event); err != nil {
		t.Fatal(err)
	}
	response, failure := handler(t.Context(), event)
	if text, err = json.Marshal(response); err != nil {
		t.Fatal(err)
	}
	return string(text), failure
}

// TestLambdaReportsExactlyWhatMustComeBack, for a batch of every kind. One request deletes all from the ingress queue.
func TestLambdaReportsExactlyWhatMustComeBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorkplace(t)
		var records []events.SQSMessage
		var want []string
		kinds := []string{"good", "stale", "busy", "fails", "panics", "direct", "unreadable", "good"}
		for _, kind := range kinds {
			switch kind {
			case "direct":
				w.put(kind, map[string]types.MessageAttributeValue{"b": {DataType: aws.String("Binary"), BinaryValue: []byte{0, 255}}})
			case "unreadable":
				w.put(kind, map[string]types.MessageAttributeValue{"landfall": {DataType: aws.String("String"), StringValue: aws.String("?")}})
			case "stale":
				w.moveOn(w.send(kind))
			default:
				w.send(kind)
			}
			r := record(w.copy())
			records = append(records, r)
			if kind == "fails" || kind == "panics" || kind == "unreadable" {
				want = append(want, r.MessageId)
			}
		}
		cfg := w.config()
		cfg.Concurrency = 3
		cfg.Busy = func(_ context.Context, msg types.Message) bool { return *msg.Body == "busy" }
		var worked calls
		handler := consumer.New(w.Receipts, w.queues(), cfg).Lambda(func(_ context.Context, msg types.Message) error {
			worked.note(msg)
			switch *msg.Body {
			case "fails":
				return errors.New("no tea")
			case "panics":
				panic("no tea")
			case "direct":
				if got := msg.MessageAttributes["b"].BinaryValue; string(got) != "\x00\xff" {
					t.Errorf("binary attribute %q", got)
				}
			}
			return nil
		})
		got, err := invoke(t, handler, records...)
		wanted := `{"batchItemFailures":[{"itemIdentifier":"` + strings.Join(want, `"},{"itemIdentifier":"`) + `"}]}`
		if err != nil || got != wanted {
			t.Errorf("%s, %v, want %s", got, err, wanted)
		}
		if got := fmt.Sprint(worked.count); got != "map[direct:1 fails:1 good:2 panics:1]" {
			t.Errorf("worked %s", got)
		}
		if n := w.network.count["DeleteMessageBatch"]; n != 1 || w.counts(w.Ingress) != "1+1" { // busy, and stale
			t.Errorf("%d requests to delete, the ingress queue holds %s", n, w.counts(w.Ingress))
		}
	})
}

// TestLambdaReportsAnEmptyListOnSuccess, as Lambda expects it.
func TestLambdaReportsAnEmptyListOnSuccess(t *testing.T) {
	t.Parallel()
	w := newWorkplace(t)
	w.send("x")
	got, err := invoke(t, w.Lambda(func(context.Context, types.Message) error { return nil }), record(w.copy()))
	if err != nil || got != `{"batchItemFailures":[]}` {
		t.Errorf("%s, %v", got, err)
	}
}

// TestLambdaFailsForWhatItCannotReport: an event without records, a record without an id, an invalid configuration.
func TestLambdaFailsForWhatItCannotReport(t *testing.T) {
	t.Parallel()
	w := newWorkplace(t)
	handler := w.Lambda(func(context.Context, types.Message) error { return errors.New("no tea") })
	if got, err := invoke(t, handler); err == nil {
		t.Errorf("an event without records: %s", got)
	}
	if got, err := invoke(t, handler, events.SQSMessage{ReceiptHandle: "h", Body: "x"}); err == nil {
		t.Errorf("a record without an id: %s", got)
	}
	invalid := consumer.New(w.Receipts, w.Queues, consumer.Config{Concurrency: -1}).Lambda(nil)
	if got, err := invoke(t, invalid, events.SQSMessage{MessageId: "m"}); err == nil {
		t.Errorf("an invalid configuration: %s", got)
	}
}

// TestFunctionWithoutAQueueAcceptsAfterTheWork: no copy would come back if the work failed.
func TestFunctionWithoutAQueueAcceptsAfterTheWork(t *testing.T) {
	t.Parallel()
	w := newWorkplace(t)
	id := w.send("x")
	r := record(w.copy())
	r.ReceiptHandle = ""
	fails := errors.New("no tea")
	handler := w.Lambda(func(context.Context, types.Message) error {
		if state := w.state(id); state != "pending" {
			t.Errorf("worked while it is %s", state)
		}
		return fails
	})
	if got, err := invoke(t, handler, r); err != nil || !strings.Contains(got, r.MessageId) || w.state(id) != "pending" {
		t.Errorf("%s, %v, then it is %s", got, err, w.state(id))
	}
	fails = nil
	if got, err := invoke(t, handler, r); err != nil || got != `{"batchItemFailures":[]}` || w.state(id) != "accepted" {
		t.Errorf("%s, %v, then it is %s", got, err, w.state(id))
	}
	late := w.send("y")
	r = record(w.copy())
	r.ReceiptHandle = ""
	handler = w.Lambda(func(context.Context, types.Message) error { w.moveOn(late); return nil })
	if got, err := invoke(t, handler, r); err != nil || got != `{"batchItemFailures":[]}` || !strings.Contains(w.log.String(), "acceptance was refused") {
		t.Errorf("moved on meanwhile: %s, %v\n%s", got, err, w.log.String())
	}
}
