package conformance

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
)

func TestSQSMessageInFlightIsHiddenUntilItsTimeout(t *testing.T) {
	t.Parallel()
	OverTime(t, func(t *testing.T) {
		q := NewQueue(t, QueueClient(), Attributes{"VisibilityTimeout": "3"})
		q.Send("m")
		first := q.Receive(10, 0)
		if len(first) != 1 || len(q.Receive(10, 0)) != 0 || q.Counts() != "0 1 0" {
			t.Fatalf("%v, %s", Bodies(first), q.Counts())
		}
		start := time.Now()
		second := q.ReceiveFor(10, 20, 6)
		if passed := time.Since(start); len(second) != 1 || passed < 2*time.Second || passed > 4*time.Second {
			t.Fatalf("%v after %s", Bodies(second), passed)
		}
		if aws.ToString(first[0].ReceiptHandle) == aws.ToString(second[0].ReceiptHandle) || aws.ToString(first[0].MessageId) != aws.ToString(second[0].MessageId) ||
			second[0].Attributes["ApproximateReceiveCount"] != "2" || second[0].Attributes["ApproximateFirstReceiveTimestamp"] != first[0].Attributes["ApproximateFirstReceiveTimestamp"] {
			t.Errorf("%+v then %+v", first[0], second[0])
		}
		start = time.Now()
		if n := q.Receive(10, 20); len(n) != 1 || time.Since(start) < 5*time.Second {
			t.Errorf("a timeout of its own: after %s", time.Since(start))
		}
	})
}

func TestSQSChangedVisibilityCountsForOneReceipt(t *testing.T) {
	t.Parallel()
	OverTime(t, func(t *testing.T) {
		q := NewQueue(t, QueueClient(), Attributes{"VisibilityTimeout": "2"})
		q.Send("m")
		m := q.Take()
		for range 3 { // a heartbeat
			time.Sleep(time.Second)
			if err := q.Change(m.ReceiptHandle, 2); err != nil {
				t.Fatal(err)
			}
			if n := q.Receive(1, 0); len(n) != 0 {
				t.Fatal("received while its visibility is extended")
			}
		}
		if err := q.Change(m.ReceiptHandle, 0); err != nil {
			t.Fatal(err)
		}
		if n := q.Receive(1, 1); len(n) != 1 {
			t.Fatal("given back, and not received")
		}
		start := time.Now()
		if n := q.Receive(1, 10); len(n) != 1 || time.Since(start) < time.Second {
			t.Errorf("after %s", time.Since(start))
		}
	})
}

// Old handles of standard queues go on working, https://github.com/getmoto/moto/pull/4655.
func TestSQSOldHandleWorksInAStandardQueue(t *testing.T) {
	t.Parallel()
	OverTime(t, func(t *testing.T) {
		q := NewQueue(t, QueueClient(), Attributes{"VisibilityTimeout": "1"})
		q.Send("m")
		old := q.Take().ReceiptHandle
		time.Sleep(2 * time.Second)
		if err := q.Change(old, 100); err != nil || len(q.Receive(1, 1)) != 1 {
			t.Errorf("changing a visible message hides it, or is refused: %v", err)
		}
		if err := q.Change(old, 100); err != nil {
			t.Errorf("changing the next receipt: %v", err)
		}
		time.Sleep(2 * time.Second)
		if len(q.Receive(1, 0)) != 0 {
			t.Error("the next receipt was not extended")
		}
		for range 2 {
			if err := q.Delete(old); err != nil || q.Counts() != "0 0 0" {
				t.Errorf("delete: %v, %s", err, q.Counts())
			}
		}
		if err := q.Change(old, 1); code(err) != "InvalidParameterValue" {
			t.Errorf("changing what is deleted: %v", err)
		}
	})
}

func TestSQSMadeUpHandleIsRefused(t *testing.T) {
	t.Parallel()
	c := QueueClient()
	q, other := NewQueue(t, c, nil), NewQueue(t, c, nil)
	q.Send("m")
	other.Send("m")
	foreign := other.Take().ReceiptHandle
	for name, handle := range map[string]*string{"garbage": aws.String("garbage"), "base64": aws.String("Z2FyYmFnZQ=="), "of another queue": foreign} {
		var invalid *types.ReceiptHandleIsInvalid
		if err := q.Delete(handle); !errors.As(err, &invalid) {
			t.Errorf("delete, %s: %v", name, err)
		}
		if err := q.Change(handle, 1); !errors.As(err, &invalid) {
			t.Errorf("change, %s: %v", name, err)
		}
	}
	if q.Counts() != "1 0 0" || other.Counts() != "0 1 0" {
		t.Errorf("%s, %s", q.Counts(), other.Counts())
	}
}

func TestSQSVisibilityEndsTwelveHoursAfterTheReceipt(t *testing.T) {
	t.Parallel()
	OverTime(t, func(t *testing.T) {
		q := NewQueue(t, QueueClient(), nil)
		q.Send("m")
		m := q.Take()
		for _, timeout := range []int32{-1, 43_201} {
			if err := q.Change(m.ReceiptHandle, timeout); code(err) != "InvalidParameterValue" {
				t.Errorf("%d: %v", timeout, err)
			}
		}
		time.Sleep(5 * time.Second)
		if err := q.Change(m.ReceiptHandle, 43_200); code(err) != "InvalidParameterValue" {
			t.Errorf("12 h, 5 s after the receipt: %v", err)
		}
		if err := q.Change(m.ReceiptHandle, 43_190); err != nil {
			t.Errorf("less than what is left: %v", err)
		}
	})
}

func TestSQSLongPollReturnsAtOnceWhatIsThere(t *testing.T) {
	t.Parallel()
	OverTime(t, func(t *testing.T) {
		q := NewQueue(t, QueueClient(), nil)
		start := time.Now()
		if n := q.Receive(10, 2); len(n) != 0 || time.Since(start) < 2*time.Second || time.Since(start) > 4*time.Second {
			t.Errorf("an empty queue: after %s", time.Since(start))
		}
		q.Send("m")
		start = time.Now()
		if n := q.Receive(10, 20); len(n) != 1 || time.Since(start) > time.Second {
			t.Errorf("%d messages after %s", len(n), time.Since(start))
		}
	})
}

func TestSQSQueueWaitsByItselfWhenItIsToldSo(t *testing.T) {
	t.Parallel()
	OverTime(t, func(t *testing.T) {
		q := NewQueue(t, QueueClient(), Attributes{"ReceiveMessageWaitTimeSeconds": "2"})
		start := time.Now()
		if n := q.Receive(1, 0); len(n) != 0 || time.Since(start) < 2*time.Second {
			t.Errorf("after %s", time.Since(start))
		}
	})
}

func TestSQSLongPollReturnsWhatComesMeanwhile(t *testing.T) {
	t.Parallel()
	for name, happen := range map[string]func(q *Queue, m types.Message){
		"sent":       func(q *Queue, _ types.Message) { q.Send("new") },
		"given back": func(q *Queue, m types.Message) { _ = q.Change(m.ReceiptHandle, 0) },
		"sooner":     func(q *Queue, m types.Message) { _ = q.Change(m.ReceiptHandle, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			OverTime(t, func(t *testing.T) {
				q := NewQueue(t, QueueClient(), nil)
				q.Send("old")
				m := q.Take()
				start := time.Now()
				got := make(chan []types.Message)
				go func() { got <- q.Receive(10, 20) }()
				time.Sleep(3 * time.Second)
				happen(q, m)
				if n := <-got; len(n) != 1 || time.Since(start) < 3*time.Second || time.Since(start) > 6*time.Second {
					t.Errorf("%v after %s", Bodies(n), time.Since(start))
				}
			})
		})
	}
}

func TestSQSReceiversThatWaitGetDifferentMessages(t *testing.T) {
	t.Parallel()
	OverTime(t, func(t *testing.T) {
		q := NewQueue(t, QueueClient(), nil)
		const receivers = 8
		var mu sync.Mutex
		var got []string
		var all sync.WaitGroup
		for range receivers {
			all.Go(func() {
				m := Bodies(q.Receive(1, 20))
				mu.Lock()
				defer mu.Unlock()
				got = append(got, m...)
			})
		}
		time.Sleep(time.Second)
		var want []string
		for i := range receivers {
			want = append(want, fmt.Sprint(i))
			q.Send(fmt.Sprint(i))
		}
		all.Wait()
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestSQSReceiveOutOfBoundsIsRefused(t *testing.T) {
	t.Parallel()
	c := QueueClient()
	q := NewQueue(t, c, nil)
	for name, in := range map[string]*sqs.ReceiveMessageInput{
		"-1 messages": {MaxNumberOfMessages: -1}, "11 messages": {MaxNumberOfMessages: 11}, "wait of -1 s": {WaitTimeSeconds: -1}, "wait of 21 s": {WaitTimeSeconds: 21},
		"timeout of -1 s": {VisibilityTimeout: -1}, "timeout of 12 h and 1 s": {VisibilityTimeout: 43_201},
	} {
		in.QueueUrl = &q.URL
		if _, err := c.ReceiveMessage(t.Context(), in); code(err) != "InvalidParameterValue" {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := c.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &q.URL, MessageSystemAttributeNames: []types.MessageSystemAttributeName{"NoSuchThing"}})
	if code(err) != "InvalidAttributeName" {
		t.Errorf("an unknown attribute: %v", err)
	}
}
