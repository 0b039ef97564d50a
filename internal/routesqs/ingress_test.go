package routesqs_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
	"github.com/landfall-dev/landfall/internal/routesqs"
	"github.com/landfall-dev/landfall/internal/routing"
)

func (b *bench) ingress() *routesqs.Ingress {
	return &routesqs.Ingress{Client: b.Client, URL: b.queues.URL}
}

func TestHoldUsesTheGivenTime(t *testing.T) {
	inBubble(t, func(b *bench) {
		times := []time.Duration{0, time.Millisecond, time.Second, 29*time.Second + time.Microsecond, 30 * time.Second, 11 * time.Hour, 100 * time.Hour}
		want := []time.Duration{0, time.Second, time.Second, 30 * time.Second, 30 * time.Second, 11 * time.Hour, 12*time.Hour - 15*time.Minute}
		var holds []routing.Hold
		for i, in := range b.incoming(3 * len(times)) {
			holds = append(holds, routing.Hold{Message: in, For: times[i%len(times)]})
		}
		<-time.After(10 * time.Minute) // of the invocation
		for i, err := range b.ingress().Hold(b.Context(), holds) {
			if err != nil {
				b.Errorf("hold %v: %v", holds[i].For, err)
			}
		}
		if n := b.requests("ChangeMessageVisibilityBatch"); n != 3 {
			b.Errorf("%d requests for %d messages, want 3", n, len(holds))
		}
		held, shown := time.Now(), map[string]time.Duration{}
		looks := slices.Sorted(slices.Values(append([]time.Duration{29 * time.Second, 11*time.Hour - time.Second, 12*time.Hour - 15*time.Minute - time.Second}, want...)))
		for _, looked := range looks {
			<-time.After(time.Until(held.Add(looked)))
			for _, m := range b.all("ingress") {
				shown[*m.MessageId] = looked
				if _, err := b.DeleteMessage(b.Context(), &sqs.DeleteMessageInput{QueueUrl: b.url("ingress"), ReceiptHandle: m.ReceiptHandle}); err != nil {
					b.Fatal(err)
				}
			}
		}
		for i, h := range holds {
			if got, was := shown[h.Message.ID]; !was || got != want[i%len(want)] {
				b.Errorf("held for %v: shown after %v (%v), want %v", h.For, got, was, want[i%len(want)])
			}
		}
	})
}

// TestExpiredHandleIsErrLeaseLost and touches no other message (cases Q13 and Q14).
func TestExpiredHandleIsErrLeaseLost(t *testing.T) {
	inBubble(t, func(b *bench) {
		all := b.incoming(3)
		if _, err := b.DeleteMessage(b.Context(), &sqs.DeleteMessageInput{QueueUrl: b.url("ingress"), ReceiptHandle: &all[0].Handle}); err != nil {
			b.Fatal(err)
		}
		all[1].Handle = "no handle at all"
		var holds []routing.Hold
		for _, in := range all {
			holds = append(holds, routing.Hold{Message: in, For: time.Minute})
		}
		errs := b.ingress().Hold(b.Context(), holds)
		if !errors.Is(errs[0], routing.ErrLeaseLost) || !errors.Is(errs[1], routing.ErrLeaseLost) || errs[2] != nil {
			b.Errorf("%v", errs)
		}
		if n := b.requests("ChangeMessageVisibilityBatch"); n != 1 {
			b.Errorf("%d requests: a lost lease is asked for again", n)
		}
	})
}

// TestFailureOfSQSIsAHoldError: what it could not do is asked for again, three times in all.
func TestFailureOfSQSIsAHoldError(t *testing.T) {
	inBubble(t, func(b *bench) {
		all := b.incoming(2)
		holds := []routing.Hold{{Message: all[0], For: time.Minute}, {Message: all[1], For: time.Minute}}
		b.fault.Store(&faults.Fault{Unprocessed: 1})
		errs := b.ingress().Hold(b.Context(), holds)
		if errs[0] != nil || errs[1] == nil || b.requests("ChangeMessageVisibilityBatch") != 3 {
			b.Errorf("one is never done: %v", errs)
		}
		for name, fault := range map[string]faults.Fault{
			"throttled": {Error: faults.Throttle}, "failing": {Error: faults.Internal}, "answers lost": {LoseAnswer: true},
		} {
			b.fault.Store(&fault)
			for _, err := range b.ingress().Hold(b.Context(), holds) {
				if err == nil || strings.Contains(err.Error(), all[0].Handle) {
					b.Errorf("%s: %v", name, err)
				}
			}
		}
		b.fault.Store(nil)
		if errs := b.ingress().Hold(b.Context(), holds); errs[0] != nil || errs[1] != nil {
			b.Errorf("when all is well again: %v", errs)
		}
		if _, err := b.DeleteQueue(b.Context(), &sqs.DeleteQueueInput{QueueUrl: b.url("ingress")}); err != nil {
			b.Fatal(err)
		}
		for _, in := range []*routesqs.Ingress{b.ingress(), {Client: b.Client, URL: newQueues(b).URL}} {
			for _, err := range in.Hold(b.Context(), holds) {
				if err == nil {
					b.Error("held in a queue that is gone")
				}
			}
		}
	})
}

// TestDeletingCostsNoRequest: it is the mapping's.
func TestDeletingCostsNoRequest(t *testing.T) {
	inBubble(t, func(b *bench) {
		all := b.incoming(2)
		before := b.account.Ledger().Sum(nil).Requests
		errs := b.ingress().Delete(b.Context(), all)
		if len(errs) != 2 || errs[0] != nil || errs[1] != nil || b.account.Ledger().Sum(nil).Requests != before {
			b.Errorf("%v", errs)
		}
	})
}
