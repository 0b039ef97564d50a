package conformance

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

func redrive(target string, receives any) Attributes {
	return Attributes{"RedrivePolicy": fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":%v}`, target, receives)}
}

// bury makes messages received once, of a queue that allows no more, dead letters.
func bury(t *testing.T, q *Queue, n int) {
	t.Helper()
	var got []types.Message
	for i := 0; i < 20 && len(got) < n; i++ {
		got = append(got, q.Receive(10, 1)...)
	}
	for _, m := range got {
		if err := q.Change(m.ReceiptHandle, 0); err != nil {
			t.Fatal(err)
		}
	}
	for i := 0; i < 20 && q.Counts() != "0 0 0"; i++ {
		if late := q.Receive(10, 1); len(late) != 0 {
			t.Fatalf("received twice: %v", Bodies(late))
		}
	}
}

func TestSQSMessageReceivedTooOftenIsDeadLettered(t *testing.T) {
	t.Parallel()
	for _, kind := range []Attributes{nil, {"FifoQueue": "true", "ContentBasedDeduplication": "true"}} {
		c := QueueClient()
		dead := NewQueue(t, c, kind)
		policy := redrive(dead.ARN, 2)
		for name, value := range kind {
			policy[name] = value
		}
		q := NewQueue(t, c, policy)
		in := &sqs.SendMessageInput{QueueUrl: &q.URL, MessageBody: aws.String("m"), MessageAttributes: map[string]types.MessageAttributeValue{"a": text("String", "v")}}
		if kind != nil {
			in.MessageGroupId = aws.String("g")
		}
		sent, err := c.SendMessage(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			got := q.Receive(10, 1)
			if len(got) != 1 || got[0].Attributes["ApproximateReceiveCount"] != fmt.Sprint(i+1) {
				t.Fatalf("receipt %d: %v", i+1, got)
			}
			if err := q.Change(got[0].ReceiptHandle, 0); err != nil {
				t.Fatal(err)
			}
		}
		if q.Counts() != "1 0 0" || dead.Counts() != "0 0 0" {
			t.Errorf("before the next receive: %s, %s", q.Counts(), dead.Counts())
		}
		if got := q.Receive(10, 1); len(got) != 0 || q.Counts() != "0 0 0" {
			t.Errorf("received a third time, or kept: %v, %s", Bodies(got), q.Counts())
		}
		got := dead.Receive(10, 2)
		if len(got) != 1 || aws.ToString(got[0].MessageId) != aws.ToString(sent.MessageId) || got[0].Attributes["DeadLetterQueueSourceArn"] != q.ARN ||
			got[0].Attributes["ApproximateReceiveCount"] != "3" || len(got[0].MessageAttributes) != 1 {
			t.Errorf("%+v", got)
		}
	}
}

func TestSQSDeadLettersLeaveRoomForMessages(t *testing.T) {
	t.Parallel()
	c := QueueClient()
	dead := NewQueue(t, c, nil)
	q := NewQueue(t, c, redrive(dead.ARN, 1))
	q.Send("1", "2", "3")
	for _, m := range q.Receive(3, 1) {
		if err := q.Change(m.ReceiptHandle, 0); err != nil {
			t.Fatal(err)
		}
	}
	q.Send("4")
	got := Bodies(q.Receive(1, 5))
	if !slices.Equal(got, []string{"4"}) || dead.Counts() != "3 0 0" || q.Counts() != "0 1 0" {
		t.Errorf("%v, %s, %s", got, dead.Counts(), q.Counts())
	}
}

func TestSQSMovedDeadLetterKeepsItsAge(t *testing.T) {
	t.Parallel()
	OverTime(t, func(t *testing.T) {
		c := QueueClient()
		dead := NewQueue(t, c, Attributes{"MessageRetentionPeriod": "60"})
		q := NewQueue(t, c, redrive(dead.ARN, 1))
		q.Send("m")
		time.Sleep(40 * time.Second)
		bury(t, q, 1)
		if dead.Counts() != "1 0 0" {
			t.Fatalf("not buried: %s", dead.Counts())
		}
		time.Sleep(25 * time.Second)
		if dead.Counts() != "0 0 0" {
			t.Errorf("65 s after it was sent: %s", dead.Counts())
		}
	})
}

func TestSQSRedrivePolicyThatLeadsNowhereIsRefused(t *testing.T) {
	t.Parallel()
	c := QueueClient()
	q, dead, ordered := NewQueue(t, c, nil), NewQueue(t, c, nil), NewQueue(t, c, Attributes{"FifoQueue": "true"})
	set := func(policy string) error {
		_, err := c.SetQueueAttributes(t.Context(), &sqs.SetQueueAttributesInput{QueueUrl: &q.URL, Attributes: Attributes{"RedrivePolicy": policy}})
		return err
	}
	for name, policy := range map[string]string{
		"no JSON": "{", "no target": `{"maxReceiveCount":1}`, "no count": fmt.Sprintf(`{"deadLetterTargetArn":%q}`, dead.ARN),
		"0": redrive(dead.ARN, 0)["RedrivePolicy"], "1001": redrive(dead.ARN, 1001)["RedrivePolicy"], "text": redrive(dead.ARN, `"often"`)["RedrivePolicy"], "1.5": redrive(dead.ARN, 1.5)["RedrivePolicy"],
		"no queue": redrive(dead.ARN+"x", 1)["RedrivePolicy"], "no ARN": redrive("dummy", 1)["RedrivePolicy"], "other kind": redrive(ordered.ARN, 1)["RedrivePolicy"],
	} {
		if err := set(policy); code(err) != "InvalidParameterValue" || q.Attribute("RedrivePolicy") != "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, count := range []any{1, 1000, `"42"`} {
		if err := set(redrive(dead.ARN, count)["RedrivePolicy"]); err != nil || q.Attribute("RedrivePolicy") == "" {
			t.Errorf("%v: %v", count, err)
		}
	}
	sources, err := c.ListDeadLetterSourceQueues(t.Context(), &sqs.ListDeadLetterSourceQueuesInput{QueueUrl: &dead.URL})
	if err != nil || !slices.Equal(sources.QueueUrls, []string{q.URL}) {
		t.Errorf("sources: %v, %v", sources, err)
	}
	if err := set(""); err != nil || q.Attribute("RedrivePolicy") != "" {
		t.Errorf("none: %v", err)
	}
}

func TestSQSMovedDeadLettersArriveOnce(t *testing.T) {
	t.Parallel()
	OverTime(t, func(t *testing.T) {
		c := QueueClient()
		dead, elsewhere := NewQueue(t, c, nil), NewQueue(t, c, nil)
		q := NewQueue(t, c, redrive(dead.ARN, 1))
		for name, tc := range map[string]struct {
			target *string
			to     *Queue
		}{"to where they came from": {nil, q}, "elsewhere": {&elsewhere.ARN, elsewhere}} {
			q.Send("1", "2")
			bury(t, q, 2)
			if _, err := c.StartMessageMoveTask(t.Context(), &sqs.StartMessageMoveTaskInput{SourceArn: &dead.ARN, DestinationArn: tc.target}); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			var got []string
			for start := time.Now(); len(got) < 2 && time.Since(start) < 20*time.Second; {
				for _, m := range tc.to.Receive(10, 5) {
					got = append(got, aws.ToString(m.Body))
					if m.Attributes["ApproximateReceiveCount"] != "1" {
						t.Errorf("%s: a moved message is not new: %v", name, m.Attributes)
					}
					if err := tc.to.Delete(m.ReceiptHandle); err != nil {
						t.Fatal(err)
					}
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, []string{"1", "2"}) {
				t.Errorf("%s: %v", name, got)
			}
			for _, m := range dead.Receive(10, 1) {
				t.Errorf("%s: %s is still in the dead-letter queue", name, aws.ToString(m.Body))
			}
			list, err := c.ListMessageMoveTasks(t.Context(), &sqs.ListMessageMoveTasksInput{SourceArn: &dead.ARN})
			if err != nil || len(list.Results) != 1 || aws.ToString(list.Results[0].Status) != "COMPLETED" || list.Results[0].ApproximateNumberOfMessagesMoved != 2 {
				t.Errorf("%s: %+v, %v", name, list, err)
			}
		}
	})
}

func TestSQSMoveTaskKeepsItsRate(t *testing.T) {
	t.Parallel()
	OverTime(t, func(t *testing.T) {
		c := QueueClient()
		dead, target := NewQueue(t, c, nil), NewQueue(t, c, nil)
		NewQueue(t, c, redrive(dead.ARN, 1))
		dead.Send("1", "2", "3", "4", "5", "6")
		start := func() (*sqs.StartMessageMoveTaskOutput, error) {
			return c.StartMessageMoveTask(t.Context(), &sqs.StartMessageMoveTaskInput{SourceArn: &dead.ARN, DestinationArn: &target.ARN, MaxNumberOfMessagesPerSecond: aws.Int32(1)})
		}
		task, err := start()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := start(); code(err) != "InvalidParameterValue" {
			t.Errorf("a second task: %v", err)
		}
		began := time.Now()
		for n := 0; n < 3; n += len(target.Receive(1, 20)) {
			if time.Since(began) > 20*time.Second {
				t.Fatalf("%d messages after %s", n, time.Since(began))
			}
		}
		if passed := time.Since(began); passed < 1500*time.Millisecond {
			t.Errorf("3 messages after %s", passed)
		}
		out, err := c.CancelMessageMoveTask(t.Context(), &sqs.CancelMessageMoveTaskInput{TaskHandle: task.TaskHandle})
		if err != nil || out.ApproximateNumberOfMessagesMoved < 3 || out.ApproximateNumberOfMessagesMoved == 6 {
			t.Errorf("cancel: %+v, %v", out, err)
		}
		time.Sleep(10 * time.Second)
		if dead.Counts() == "0 0 0" {
			t.Error("a cancelled task went on")
		}
	})
}

func TestSQSMoveTaskFromOrToNowhereIsRefused(t *testing.T) {
	t.Parallel()
	c := QueueClient()
	dead, plain := NewQueue(t, c, nil), NewQueue(t, c, nil)
	NewQueue(t, c, redrive(dead.ARN, 1))
	for name, tc := range map[string]struct {
		in   sqs.StartMessageMoveTaskInput
		want string
	}{
		"no source":               {sqs.StartMessageMoveTaskInput{SourceArn: aws.String(dead.ARN + "x")}, "ResourceNotFoundException"},
		"no target":               {sqs.StartMessageMoveTaskInput{SourceArn: &dead.ARN, DestinationArn: aws.String(dead.ARN + "x")}, "ResourceNotFoundException"},
		"no dead-letter queue":    {sqs.StartMessageMoveTaskInput{SourceArn: &plain.ARN, DestinationArn: &dead.ARN}, "InvalidParameterValue"},
		"501 messages a second":   {sqs.StartMessageMoveTaskInput{SourceArn: &dead.ARN, MaxNumberOfMessagesPerSecond: aws.Int32(501)}, "InvalidParameterValue"},
		"nothing, which is fine:": {sqs.StartMessageMoveTaskInput{SourceArn: &dead.ARN}, ""},
	} {
		if _, err := c.StartMessageMoveTask(t.Context(), &tc.in); code(err) != tc.want {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
	if _, err := c.CancelMessageMoveTask(t.Context(), &sqs.CancelMessageMoveTaskInput{TaskHandle: aws.String("garbage")}); code(err) != "InvalidParameterValue" {
		t.Errorf("cancel nothing: %v", err)
	}
}
