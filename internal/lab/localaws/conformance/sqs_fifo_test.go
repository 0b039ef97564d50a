package conformance

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
)

func fifo(t *testing.T, more Attributes) *Queue {
	t.Helper()
	attributes := Attributes{"FifoQueue": "true"}
	for name, value := range more {
		attributes[name] = value
	}
	return NewQueue(t, QueueClient(), attributes)
}

func expect(t *testing.T, when string, got []types.Message, want ...string) {
	t.Helper()
	if want == nil {
		want = []string{}
	}
	if diff := cmp.Diff(want, Bodies(got)); diff != "" {
		t.Fatalf("%s: %s", when, diff)
	}
}

func TestSQSGroupWaitsForItsFirstMessageInFlight(t *testing.T) {
	t.Parallel()
	q := fifo(t, nil)
	q.SendTo("g1", "g1-m1")
	q.SendTo("g2", "g2-m1")
	q.SendTo("g1", "g1-m2", "g1-m3")
	q.SendTo("g2", "g2-m2")
	first := q.Receive(2, 1)
	expect(t, "as much of a group as possible", first, "g1-m1", "g1-m2")
	expect(t, "the others while it is in flight", q.Receive(10, 1), "g2-m1", "g2-m2")
	expect(t, "all in flight", q.Receive(10, 0))
	q.SendTo("g1", "g1-m4")
	expect(t, "a message more", q.Receive(10, 0))
	if err := q.Delete(first[1].ReceiptHandle); err != nil {
		t.Fatal(err)
	}
	expect(t, "the second is deleted, the first still in flight", q.Receive(10, 0))
	if err := q.Delete(first[0].ReceiptHandle); err != nil {
		t.Fatal(err)
	}
	expect(t, "both are deleted", q.Receive(10, 1), "g1-m3", "g1-m4")
}

func TestSQSGroupKeepsItsOrderWhenMessagesComeBack(t *testing.T) {
	t.Parallel()
	q := fifo(t, nil)
	q.SendTo("g", "1", "2", "3")
	got := q.Receive(10, 1)
	expect(t, "at first", got, "1", "2", "3")
	if err := q.Change(got[2].ReceiptHandle, 0); err != nil {
		t.Fatal(err)
	}
	expect(t, "the last is given back", q.Receive(10, 0))
	if err := q.Change(got[0].ReceiptHandle, 0); err != nil {
		t.Fatal(err)
	}
	expect(t, "the first is given back, too", q.Receive(10, 1), "1")
	if err := q.Change(got[1].ReceiptHandle, 0); err != nil {
		t.Fatal(err)
	}
	expect(t, "and the second", q.Receive(10, 0))
}

func TestSQSGroupComesBackInOrderAfterItsTimeout(t *testing.T) {
	t.Parallel()
	OverTime(t, func(t *testing.T) {
		q := fifo(t, Attributes{"VisibilityTimeout": "1"})
		q.SendTo("g", "1", "2", "3")
		for range 3 {
			got := q.Receive(10, 5)
			expect(t, "each time", got, "1", "2", "3")
			if err := q.Change(got[1].ReceiptHandle, 4); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second)
			again := q.Receive(10, 0)
			expect(t, "up to the one that is extended", again, "1")
			time.Sleep(3 * time.Second)
		}
	})
}

func TestSQSExpiredHandleIsRefusedByAFIFOQueue(t *testing.T) {
	t.Parallel()
	OverTime(t, func(t *testing.T) {
		q := fifo(t, Attributes{"VisibilityTimeout": "1"})
		q.SendTo("g", "m")
		old := q.Take().ReceiptHandle
		time.Sleep(2 * time.Second)
		if err := q.Delete(old); code(err) != "InvalidParameterValue" || !strings.Contains(err.Error(), "The receipt handle has expired") {
			t.Errorf("delete: %v", err)
		}
		again := q.ReceiveFor(1, 1, 30)
		if len(again) != 1 {
			t.Fatal("not received again")
		}
		if err := q.Delete(old); code(err) != "InvalidParameterValue" {
			t.Errorf("delete after the next receipt: %v", err)
		}
		if err := q.Change(old, 0); code(err) != "InvalidParameterValue" {
			t.Errorf("change after the next receipt: %v", err)
		}
		if err := q.Delete(again[0].ReceiptHandle); err != nil || q.Counts() != "0 0 0" {
			t.Errorf("delete by the last handle: %v, %s", err, q.Counts())
		}
	})
}

func TestSQSDuplicateIsDroppedForFiveMinutes(t *testing.T) {
	t.Parallel()
	OverTime(t, func(t *testing.T) {
		q := fifo(t, Attributes{"ContentBasedDeduplication": "true"})
		send := func(body, group string, id *string) *sqs.SendMessageOutput {
			t.Helper()
			out, err := q.c.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &q.URL, MessageBody: &body, MessageGroupId: &group, MessageDeduplicationId: id})
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		first := send("body", "g", nil)
		got := q.Take()
		if err := q.Delete(got.ReceiptHandle); err != nil {
			t.Fatal(err)
		}
		if got.Attributes["MessageDeduplicationId"] == "" || got.Attributes["MessageGroupId"] != "g" || got.Attributes["SequenceNumber"] != aws.ToString(first.SequenceNumber) {
			t.Errorf("%v", got.Attributes)
		}
		if again := send("body", "another", nil); aws.ToString(again.MessageId) != aws.ToString(first.MessageId) || q.Counts() != "0 0 0" {
			t.Errorf("the same content: taken again, %s", q.Counts())
		}
		if other := send("body", "g", aws.String("id")); aws.ToString(other.MessageId) == aws.ToString(first.MessageId) || aws.ToString(other.SequenceNumber) <= aws.ToString(first.SequenceNumber) {
			t.Error("the same content under another id: not taken")
		}
		send("other", "g", aws.String("id"))
		if q.Counts() != "1 0 0" {
			t.Errorf("other content under the same id: %s", q.Counts())
		}
		time.Sleep(5*time.Minute + time.Second)
		if again := send("body", "g", nil); aws.ToString(again.MessageId) == aws.ToString(first.MessageId) || q.Counts() != "2 0 0" {
			t.Errorf("after five minutes: %s", q.Counts())
		}
	})
}

func TestSQSDeduplicationByGroupStaysInItsGroup(t *testing.T) {
	t.Parallel()
	for scope, want := range map[string]string{"queue": "1 0 0", "messageGroup": "2 0 0"} {
		q := fifo(t, Attributes{"DeduplicationScope": scope})
		q.SendTo("g1", "m", "m")
		q.SendTo("g2", "m", "m")
		if q.Counts() != want {
			t.Errorf("%s: %s, want %s", scope, q.Counts(), want)
		}
	}
}

func TestSQSParameterOfTheOtherKindOfQueueIsRefused(t *testing.T) {
	t.Parallel()
	c := QueueClient()
	standard, by := NewQueue(t, c, nil), NewQueue(t, c, Attributes{"FifoQueue": "true"})
	id := func(s string) *string { return &s }
	const value = "InvalidParameterValue"
	for name, tc := range map[string]struct {
		q    *Queue
		in   sqs.SendMessageInput
		want string
	}{
		"standard, group":              {standard, sqs.SendMessageInput{MessageGroupId: id("g")}, ""},
		"standard, deduplication":      {standard, sqs.SendMessageInput{MessageDeduplicationId: id("d")}, value},
		"standard, bad group":          {standard, sqs.SendMessageInput{MessageGroupId: id("a b")}, value},
		"fifo, nothing":                {by, sqs.SendMessageInput{}, "MissingParameter"},
		"fifo, no group":               {by, sqs.SendMessageInput{MessageDeduplicationId: id("d")}, "MissingParameter"},
		"fifo, no deduplication":       {by, sqs.SendMessageInput{MessageGroupId: id("g")}, value},
		"fifo, both":                   {by, sqs.SendMessageInput{MessageGroupId: id("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"), MessageDeduplicationId: id(strings.Repeat("d", 128))}, ""},
		"fifo, empty deduplication":    {by, sqs.SendMessageInput{MessageGroupId: id("g"), MessageDeduplicationId: id("")}, value},
		"fifo, long deduplication":     {by, sqs.SendMessageInput{MessageGroupId: id("g"), MessageDeduplicationId: id(strings.Repeat("d", 129))}, value},
		"fifo, deduplication of words": {by, sqs.SendMessageInput{MessageGroupId: id("g"), MessageDeduplicationId: id("a b")}, value},
		"fifo, delay":                  {by, sqs.SendMessageInput{MessageGroupId: id("g"), MessageDeduplicationId: id("d"), DelaySeconds: 2}, value},
	} {
		tc.in.QueueUrl, tc.in.MessageBody = &tc.q.URL, aws.String("b")
		if _, err := c.SendMessage(t.Context(), &tc.in); code(err) != tc.want {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
	batch := entries(2, "b")
	batch[0].MessageGroupId, batch[0].MessageDeduplicationId = id("g"), id("d")
	before := by.Counts()
	if _, err := c.SendMessageBatch(t.Context(), &sqs.SendMessageBatchInput{QueueUrl: &by.URL, Entries: batch}); code(err) != value || by.Counts() != before {
		t.Errorf("batch with an entry without group: %v, %s", err, by.Counts())
	}
}

func TestSQSFIFOQueueDelaysByItsOwnSettingAlone(t *testing.T) {
	t.Parallel()
	OverTime(t, func(t *testing.T) {
		q := fifo(t, Attributes{"DelaySeconds": "2"})
		q.SendTo("g", "1", "2")
		if q.Counts() != "0 0 2" {
			t.Errorf("before: %s", q.Counts())
		}
		start := time.Now()
		expect(t, "after the delay", q.Receive(10, 20), "1", "2")
		if passed := time.Since(start); passed < time.Second || passed > 4*time.Second {
			t.Errorf("after %s", passed)
		}
	})
}

func TestSQSReceiverIsServedWhileAnotherGroupIsBlocked(t *testing.T) {
	t.Parallel()
	OverTime(t, func(t *testing.T) {
		q := fifo(t, nil)
		q.SendTo("g", "1", "2")
		first := q.Receive(1, 5)
		got := make(chan []types.Message)
		go func() { got <- q.Receive(1, 20) }()
		time.Sleep(2 * time.Second)
		start := time.Now()
		if err := q.Delete(first[0].ReceiptHandle); err != nil {
			t.Fatal(err)
		}
		expect(t, "after the first is deleted", <-got, "2")
		if time.Since(start) > 2*time.Second {
			t.Errorf("after %s", time.Since(start))
		}
	})
}

func TestSQSGroupsAreIndependent(t *testing.T) {
	t.Parallel()
	q := fifo(t, nil)
	for i := range 12 {
		q.SendTo(fmt.Sprint("g", i), fmt.Sprint(i))
	}
	expect(t, "a batch", q.Receive(10, 1), "0", "1", "2", "3", "4", "5", "6", "7", "8", "9")
	expect(t, "the rest", q.Receive(10, 1), "10", "11")
}
