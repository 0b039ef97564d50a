package sqs_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"github.com/landfall-dev/landfall/internal/lab/localaws"
	. "github.com/landfall-dev/landfall/internal/lab/localaws/conformance"
	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
	"github.com/landfall-dev/landfall/internal/lab/localaws/ledger"
)

// bundle is an account, and a client that never tries twice.
type bundle struct {
	*localaws.Account
	client *sqs.Client
	fault  func(faults.Request) faults.Fault // nil for none
}

func setup(o localaws.Options) *bundle {
	b := &bundle{}
	o.Faults = func(r faults.Request) faults.Fault {
		if b.fault == nil {
			return faults.Fault{}
		}
		return b.fault(r)
	}
	b.Account = localaws.New(o)
	b.client = sqs.NewFromConfig(b.Config("test"), func(o *sqs.Options) { o.Retryer = aws.NopRetryer{} })
	return b
}

// on is a plan that does a fault to one operation.
func on(operation string, f faults.Fault) func(faults.Request) faults.Fault {
	return func(r faults.Request) faults.Fault {
		if r.Operation == operation {
			return f
		}
		return faults.Fault{}
	}
}

func code(err error) string {
	var e smithy.APIError
	if errors.As(err, &e) {
		return e.ErrorCode()
	}
	return fmt.Sprint(err)
}

func TestErrorOnDemandReplacesTheWork(t *testing.T) {
	t.Parallel()
	b := setup(localaws.Options{})
	q := NewQueue(t, b.client, nil)
	for kind, want := range map[faults.Error]string{faults.Throttle: "RequestThrottled", faults.Internal: "InternalFailure", faults.Unavailable: "ServiceUnavailable"} {
		b.fault = on("SendMessage", faults.Fault{Error: kind})
		if _, err := b.client.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &q.URL, MessageBody: aws.String("m")}); code(err) != want {
			t.Errorf("%s: %v, want %s", kind, err, want)
		}
		if q.Counts() != "0 0 0" {
			t.Errorf("%s: the message was taken", kind)
		}
	}
}

func TestLostAnswerKeepsTheMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(localaws.Options{})
		q := NewQueue(t, b.client, nil)
		for name, f := range map[string]faults.Fault{"lost": {LoseAnswer: true}, "spoilt": {SpoilAnswer: true}} {
			b.fault = on("SendMessage", f)
			if _, err := b.client.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &q.URL, MessageBody: &name}); err == nil {
				t.Errorf("%s: there was an answer", name)
			}
		}
		b.fault = on("ReceiveMessage", faults.Fault{LoseAnswer: true})
		if _, err := b.client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &q.URL, MaxNumberOfMessages: 10}); err == nil {
			t.Error("receive: there was an answer")
		}
		if q.Counts() != "0 2 0" {
			t.Errorf("after the lost receive: %s", q.Counts())
		}
		b.fault = nil
		if got := q.Receive(10, 20); len(got) != 0 {
			t.Errorf("received while in flight: %v", Bodies(got))
		}
		if got := q.Receive(10, 20); len(got) != 2 || got[0].Attributes["ApproximateReceiveCount"] != "2" {
			t.Errorf("after the timeout: %v", Bodies(got))
		}
	})
}

func TestUnprocessedEntriesAreReturned(t *testing.T) {
	t.Parallel()
	b := setup(localaws.Options{})
	q := NewQueue(t, b.client, nil)
	b.fault = func(faults.Request) faults.Fault { return faults.Fault{Unprocessed: 1} }
	out, err := b.client.SendMessageBatch(t.Context(), &sqs.SendMessageBatchInput{QueueUrl: &q.URL, Entries: []types.SendMessageBatchRequestEntry{
		{Id: aws.String("a"), MessageBody: aws.String("a")}, {Id: aws.String("b"), MessageBody: aws.String("b")}}})
	if err != nil || len(out.Successful) != 1 || len(out.Failed) != 1 || aws.ToString(out.Failed[0].Id) != "b" || out.Failed[0].SenderFault || q.Counts() != "1 0 0" {
		t.Errorf("%+v, %v, %s", out, err, q.Counts())
	}
	m := q.Take()
	deleted, err := b.client.DeleteMessageBatch(t.Context(), &sqs.DeleteMessageBatchInput{QueueUrl: &q.URL, Entries: []types.DeleteMessageBatchRequestEntry{{Id: aws.String("a"), ReceiptHandle: m.ReceiptHandle}}})
	if err != nil || len(deleted.Failed) != 1 || q.Counts() != "0 1 0" {
		t.Errorf("%+v, %v, %s", deleted, err, q.Counts())
	}
}

func TestDuplicateIsDeliveredAgainEvenWhenTheFirstIsDeleted(t *testing.T) {
	t.Parallel()
	b := setup(localaws.Options{})
	q := NewQueue(t, b.client, nil)
	q.Send("1", "2")
	b.fault = on("ReceiveMessage", faults.Fault{Duplicates: 1})
	first := q.Receive(10, 0)
	b.fault = nil
	for _, m := range first {
		if err := q.Delete(m.ReceiptHandle); err != nil {
			t.Fatal(err)
		}
	}
	again := q.Receive(10, 0)
	if !slices.Equal(Bodies(first), []string{"1", "2"}) || !slices.Equal(Bodies(again), []string{"1"}) || *again[0].MessageId != *first[0].MessageId || *again[0].ReceiptHandle == *first[0].ReceiptHandle {
		t.Errorf("%v, then %v", Bodies(first), Bodies(again))
	}
}

func TestShuffledReceiptsAreCompleteAndFollowTheirSeed(t *testing.T) {
	t.Parallel()
	drain := func(seed uint64) []string {
		b := setup(localaws.Options{})
		q := NewQueue(t, b.client, nil)
		for i := range 30 {
			q.Send(fmt.Sprintf("%02d", i))
		}
		b.fault = func(r faults.Request) faults.Fault {
			if r.Operation == "ReceiveMessage" {
				return faults.Fault{Shuffle: seed}
			}
			return faults.Fault{}
		}
		var got []string
		for range 3 {
			got = append(got, Bodies(q.Receive(10, 0))...)
		}
		return got
	}
	one, same, other := drain(1), drain(1), drain(2)
	if diff := cmp.Diff(one, same); diff != "" {
		t.Errorf("the same seed: %s", diff)
	}
	if slices.Equal(one, other) || slices.IsSorted(one) {
		t.Error("not shuffled")
	}
	slices.Sort(one)
	if one = slices.Compact(one); len(one) != 30 {
		t.Errorf("%d of 30", len(one))
	}
}

func TestMessagesInFlightStopAtTheLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(localaws.Options{InFlight: 3})
		q := NewQueue(t, b.client, nil)
		q.Send("1", "2", "3", "4", "5")
		got := q.Receive(10, 0)
		if len(got) != 3 {
			t.Fatalf("%d in flight", len(got))
		}
		var over *types.OverLimit
		if _, err := b.client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &q.URL}); !errors.As(err, &over) {
			t.Errorf("short poll: %v", err)
		}
		start := time.Now()
		if n := q.Receive(1, 5); len(n) != 0 || time.Since(start) != 5*time.Second {
			t.Errorf("long poll: %v after %s", Bodies(n), time.Since(start))
		}
		if err := q.Delete(got[0].ReceiptHandle); err != nil {
			t.Fatal(err)
		}
		if n := q.Receive(10, 0); len(n) != 1 {
			t.Errorf("after one was deleted: %v", Bodies(n))
		}
	})
}

func TestReceiverThatGaveUpLeavesMessagesToOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(localaws.Options{})
		q := NewQueue(t, b.client, nil)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		start := time.Now()
		_, err := b.client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &q.URL, WaitTimeSeconds: 20})
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 3*time.Second {
			t.Fatalf("%v after %s", err, time.Since(start))
		}
		q.Send("m")
		if q.Counts() != "1 0 0" {
			t.Errorf("no receiver took it: %s", q.Counts())
		}
		polls := b.Ledger().Sum(func(k ledger.Key) bool { return k.Operation == "ReceiveMessage" })
		if polls.Requests != 1 || polls.Billed != 1 {
			t.Errorf("%+v", polls)
		}
	})
}

func TestLongPollEndsAtItsVeryTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(localaws.Options{})
		q := NewQueue(t, b.client, Attributes{"VisibilityTimeout": "7"})
		q.Send("m")
		q.Receive(1, 0)
		start := time.Now()
		first := make(chan time.Duration)
		go func() {
			q.Receive(1, 20)
			first <- time.Since(start)
		}()
		synctest.Wait() // the first one waits already
		if n := q.Receive(1, 6); len(n) != 0 || time.Since(start) != 6*time.Second {
			t.Errorf("the second: %v after %s", Bodies(n), time.Since(start))
		}
		if after := <-first; after != 7*time.Second {
			t.Errorf("the first: after %s", after)
		}
		q.Send("late")
		b.fault = on("ReceiveMessage", faults.Fault{Before: 2 * time.Second, After: time.Second})
		start = time.Now()
		if n := q.Receive(1, 20); len(n) != 1 || time.Since(start) != 3*time.Second {
			t.Errorf("with latency: after %s", time.Since(start))
		}
	})
}

func TestDeletedQueueReleasesItsReceivers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(localaws.Options{})
		q := NewQueue(t, b.client, nil)
		failed := make(chan error)
		start := time.Now()
		go func() {
			_, err := b.client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &q.URL, WaitTimeSeconds: 20})
			failed <- err
		}()
		time.Sleep(time.Second)
		if _, err := b.client.DeleteQueue(t.Context(), &sqs.DeleteQueueInput{QueueUrl: &q.URL}); err != nil {
			t.Fatal(err)
		}
		var gone *types.QueueDoesNotExist
		if err := <-failed; !errors.As(err, &gone) || time.Since(start) != time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
	})
}

func TestDeadLettersAndMovesWakeTheReceiversThatWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(localaws.Options{})
		dead := NewQueue(t, b.client, nil)
		q := NewQueue(t, b.client, Attributes{"VisibilityTimeout": "1", "RedrivePolicy": fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":1}`, dead.ARN)})
		q.Send("m")
		q.Receive(1, 0)
		buried := waiting(dead, 20)
		q.Receive(1, 5)
		if got := <-buried; got != "[m] 1s" { // the receive of q waits, and buries when the message comes back
			t.Errorf("dead letter: %s", got)
		}
		time.Sleep(time.Minute)
		moved := waiting(q, 20)
		if _, err := b.client.StartMessageMoveTask(t.Context(), &sqs.StartMessageMoveTaskInput{SourceArn: &dead.ARN}); err != nil {
			t.Fatal(err)
		}
		if got := <-moved; got != "[m] 0s" {
			t.Errorf("moved: %s", got)
		}
	})
}

// waiting starts a receive that waits, and gives what it got and when.
func waiting(q *Queue, wait int32) chan string {
	got := make(chan string, 1)
	start := time.Now()
	go func() { got <- fmt.Sprint(Bodies(q.Receive(10, wait)), " ", time.Since(start)) }()
	synctest.Wait()
	return got
}

func TestReceiverThatWaitedLongestIsServedFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(t, setup(localaws.Options{}).client, nil)
		first, second := waiting(q, 20), waiting(q, 5)
		q.Send("m")
		if a, b := <-first, <-second; a != "[m] 0s" || b != "[] 5s" {
			t.Errorf("%s, %s", a, b)
		}
	})
}

func TestReceiverHearsOfWhatAnotherBuries(t *testing.T) {
	t.Parallel()
	for name, second := range map[string]string{"and receives nothing": "", "and receives another": "m2"} {
		synctest.Test(t, func(t *testing.T) {
			b := setup(localaws.Options{})
			dead := NewQueue(t, b.client, nil)
			q := NewQueue(t, b.client, Attributes{"RedrivePolicy": fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":2}`, dead.ARN)})
			q.Send("m1")
			if err := q.Change(q.Take().ReceiptHandle, 0); err != nil {
				t.Fatal(err)
			}
			handles := []*string{q.Take().ReceiptHandle}
			if second != "" {
				q.Send(second)
				handles = append(handles, q.Take().ReceiptHandle)
			}
			buried, received := waiting(dead, 20), waiting(q, 10)
			time.Sleep(3 * time.Second)
			var entries []types.ChangeMessageVisibilityBatchRequestEntry
			for i, h := range handles {
				entries = append(entries, types.ChangeMessageVisibilityBatchRequestEntry{Id: aws.String(fmt.Sprint(i)), ReceiptHandle: h})
			}
			if _, err := b.client.ChangeMessageVisibilityBatch(t.Context(), &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: &q.URL, Entries: entries}); err != nil {
				t.Fatal(err)
			}
			want := "[] 10s"
			if second != "" {
				want = "[m2] 3s"
			}
			if a, b := <-buried, <-received; a != "[m1] 3s" || b != want {
				t.Errorf("%s: buried %s, received %s, want %s", name, a, b, want)
			}
		})
	}
}

func TestQueueThatIsItsOwnDeadLetterQueueKeepsItsMessages(t *testing.T) {
	t.Parallel()
	b := setup(localaws.Options{})
	q := NewQueue(t, b.client, nil)
	_, err := b.client.SetQueueAttributes(t.Context(), &sqs.SetQueueAttributesInput{QueueUrl: &q.URL,
		Attributes: Attributes{"RedrivePolicy": fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":1}`, q.ARN)}})
	if err != nil {
		t.Fatal(err)
	}
	q.Send("m")
	for range 3 {
		if err := q.Change(q.Take().ReceiptHandle, 0); err != nil {
			t.Fatal(err)
		}
	}
}

func TestQueueIsRecreatedAndPurgedOnlyAfterAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(localaws.Options{})
		q := NewQueue(t, b.client, nil)
		purge := func() error {
			_, err := b.client.PurgeQueue(t.Context(), &sqs.PurgeQueueInput{QueueUrl: &q.URL})
			return err
		}
		create := func() error {
			_, err := b.client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String(q.URL[strings.LastIndex(q.URL, "/")+1:])})
			return err
		}
		old := func() *string {
			q.Send("m")
			return q.Take().ReceiptHandle
		}()
		if err := purge(); err != nil {
			t.Fatal(err)
		}
		var busy *types.PurgeQueueInProgress
		if err := purge(); !errors.As(err, &busy) {
			t.Errorf("purge: %v", err)
		}
		time.Sleep(time.Minute)
		if err := purge(); err != nil {
			t.Errorf("purge after a minute: %v", err)
		}
		if _, err := b.client.DeleteQueue(t.Context(), &sqs.DeleteQueueInput{QueueUrl: &q.URL}); err != nil {
			t.Fatal(err)
		}
		var recent *types.QueueDeletedRecently
		if err := create(); !errors.As(err, &recent) {
			t.Errorf("create: %v", err)
		}
		time.Sleep(time.Minute)
		if err := create(); err != nil || q.Counts() != "0 0 0" {
			t.Errorf("create after a minute: %v", err)
		}
		var invalid *types.ReceiptHandleIsInvalid
		if err := q.Delete(old); !errors.As(err, &invalid) {
			t.Errorf("a handle of the queue that was: %v", err)
		}
	})
}

func TestLedgerBillsABigMessageByItsSize(t *testing.T) {
	t.Parallel()
	b := setup(localaws.Options{})
	q := NewQueue(t, b.client, nil)
	q.Send("small", strings.Repeat("b", 64<<10), strings.Repeat("b", 64<<10+1), strings.Repeat("b", 1<<20))
	q.Receive(1, 0)
	q.Receive(3, 0)
	q.Receive(1, 0)
	sum := func(operation string) string {
		s := b.Ledger().Sum(func(k ledger.Key) bool {
			return k.Service == "sqs" && k.Operation == operation && strings.HasSuffix(q.URL, k.Resource) && k.Caller == "test"
		})
		return fmt.Sprint(s.Requests, " ", s.Billed)
	}
	if got := sum("SendMessage"); got != "4 20" { // 1 + 1 + 2 + 16
		t.Errorf("sent: %s", got)
	}
	if got := sum("ReceiveMessage"); got != "3 21" { // 1 + (1 MiB + 128 KiB + 1 B: 19) + 1
		t.Errorf("received: %s", got)
	}
}

func TestUnknownOperationIsRefusedByName(t *testing.T) {
	t.Parallel()
	b := setup(localaws.Options{})
	_, err := b.client.AddPermission(t.Context(), &sqs.AddPermissionInput{QueueUrl: aws.String("q"), Label: aws.String("l"), AWSAccountIds: []string{"1"}, Actions: []string{"*"}})
	if code(err) != "UnknownOperationException" || !strings.Contains(err.Error(), "AddPermission") {
		t.Errorf("%v", err)
	}
}

func TestTraceOfARequestReachesTheReceiver(t *testing.T) {
	t.Parallel()
	b := setup(localaws.Options{})
	q := NewQueue(t, b.client, nil)
	cfg := b.Config("traced")
	cfg.HTTPClient = &http.Client{Transport: traced{b.Account}}
	if _, err := sqs.NewFromConfig(cfg).SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &q.URL, MessageBody: aws.String("m")}); err != nil {
		t.Fatal(err)
	}
	if got := q.Take().Attributes["AWSTraceHeader"]; got != "Root=1-67891233-abcdef012345678912345678" {
		t.Errorf("%q", got)
	}
}

type traced struct{ http.RoundTripper }

func (t traced) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header.Set("X-Amzn-Trace-Id", "Root=1-67891233-abcdef012345678912345678")
	return t.RoundTripper.RoundTrip(r)
}
