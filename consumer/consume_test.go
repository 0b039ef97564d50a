package consumer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/landfall-dev/landfall/consumer"
)

// TestConsumeAcceptsBeforeTheWork, leaves nothing in the queues, and deletes in batches.
func TestConsumeAcceptsBeforeTheWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorkplace(t)
		var worked calls
		for i := range 20 {
			w.send(fmt.Sprint(i))
		}
		w.consume(30*time.Second, w.config(), func(_ context.Context, msg types.Message) error {
			if state := w.state(consumer.MessageID(msg)); state != "accepted" {
				t.Errorf("worked while it is %s", state)
			}
			worked.note(msg)
			return nil
		})
		w.rests(w.Queue, w.Ingress)
		if len(worked.count) != 20 || w.log.Len() > 0 {
			t.Errorf("worked %v\n%s", worked.count, w.log.String())
		}
		if got := w.network.count; got["DeleteMessageBatch"] > 4 || got["ReceiveMessage"] > 4 || got["GetQueueUrl"] > 10 || got["ChangeMessageVisibility"] > 0 {
			t.Errorf("%v requests for 20 messages", got)
		}
	})
}

// TestConsumeWorksOnlyItsOwnMessages: not those that are stale, unreadable, unknown or declined.
func TestConsumeWorksOnlyItsOwnMessages(t *testing.T) {
	t.Parallel()
	envelope := func(text string) map[string]types.MessageAttributeValue {
		return map[string]types.MessageAttributeValue{"landfall": {DataType: aws.String("String"), StringValue: &text}}
	}
	for _, c := range []struct {
		name       string
		busy       bool
		arrange    func(w *workplace)
		worked     int
		left       string // in the consumer's queue
		state, log string
	}{
		{name: "stale", arrange: func(w *workplace) { w.moveOn(w.send("x")) }, left: "0+0", log: "dropped a copy"},
		{name: "stale, and busy", busy: true, arrange: func(w *workplace) { w.moveOn(w.send("x")) }, left: "0+0", log: "dropped a copy"},
		{name: "busy", busy: true, arrange: func(w *workplace) { w.send("x") }, left: "0+0"},
		{name: "busy, but its own", busy: true, arrange: func(w *workplace) {
			w.send("x")
			msg := w.copy()
			w.must(w.Accept(w.Context(), msg))
			_, err := w.Queues.ChangeMessageVisibility(w.Context(), &sqs.ChangeMessageVisibilityInput{QueueUrl: &w.Queue, ReceiptHandle: msg.ReceiptHandle})
			w.must(err)
		}, worked: 1, left: "0+0"},
		{name: "unreadable", arrange: func(w *workplace) { w.put("x", envelope("{}")) }, left: "0+1", log: "not accepted and not worked"},
		{name: "unknown", arrange: func(w *workplace) {
			w.put("x", envelope(`{"group":"couriers","message_id":"m","attempt":1,"token":"t","deadline":1,"ingress_handle":"h"}`))
		}, left: "0+1", log: "not accepted and not worked"},
		{name: "sent directly", arrange: func(w *workplace) { w.put("x", nil) }, worked: 1, left: "0+0"},
		{name: "sent directly, though busy", busy: true, arrange: func(w *workplace) { w.put("x", nil) }, worked: 1, left: "0+0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorkplace(t)
				c.arrange(w)
				cfg := w.config()
				cfg.Busy = func(context.Context, types.Message) bool { return c.busy }
				var worked calls
				w.consume(20*time.Second, cfg, func(_ context.Context, msg types.Message) error {
					worked.note(msg)
					return nil
				})
				if worked.count["x"] != c.worked || w.counts(w.Queue) != c.left || !strings.Contains(w.log.String(), c.log) || (c.log == "") != (w.log.Len() == 0) {
					t.Errorf("worked %d times, left %s, log %s", worked.count["x"], w.counts(w.Queue), w.log.String())
				}
			})
		})
	}
}

// TestFailedWorkIsRetried: after an error or a panic the message comes back when its visibility timeout has passed. The log
// gives the reason without the value of a panic.
func TestFailedWorkIsRetried(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorkplace(t)
		w.send("x")
		var worked calls
		var times []time.Duration
		began := time.Now()
		w.consume(5*time.Minute, w.config(), func(_ context.Context, msg types.Message) error {
			times = append(times, time.Since(began).Truncate(time.Second))
			switch worked.note(msg) {
			case 1:
				return errors.New("no tea")
			case 2:
				panic("secret " + *msg.Body)
			case 3:
				return []error{}[worked.count["x"]]
			}
			return nil
		})
		w.rests(w.Queue, w.Ingress)
		if got := fmt.Sprint(times); got != "[0s 30s 1m0s 1m30s]" {
			t.Errorf("worked at %s", got)
		}
		for _, want := range []string{"no tea", "a string", "index out of range"} {
			if !strings.Contains(w.log.String(), want) {
				t.Errorf("the log does not contain %q:\n%s", want, w.log.String())
			}
		}
		if strings.Contains(w.log.String(), "secret") {
			t.Errorf("the log contains a secret:\n%s", w.log.String())
		}
	})
}

// TestMessageStaysHiddenWhileItIsWorked from the other workers of its queue.
func TestMessageStaysHiddenWhileItIsWorked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorkplace(t)
		w.send("x")
		var worked calls
		work := func(ctx context.Context, msg types.Message) error {
			worked.note(msg)
			<-time.After(10 * time.Minute)
			return ctx.Err()
		}
		var both sync.WaitGroup
		for range 2 {
			c := consumer.New(w.Receipts, w.Queues, w.config())
			both.Go(func() {
				ctx, stop := context.WithTimeout(t.Context(), 15*time.Minute)
				defer stop()
				if err := c.Consume(ctx, w.Queue, work); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		w.rests(w.Queue, w.Ingress)
		if worked.count["x"] != 1 || w.log.Len() > 0 {
			t.Errorf("worked %d times\n%s", worked.count["x"], w.log.String())
		}
	})
}

// TestWorkStopsWhenTheMessageCannotBeHidden: its context ends, because another worker may have the message.
func TestWorkStopsWhenTheMessageCannotBeHidden(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorkplace(t)
		w.send("x")
		w.network.fails = "ChangeMessageVisibility"
		var took time.Duration
		w.consume(20*time.Second, consumer.Config{Log: w.config().Log, Grace: time.Hour}, func(ctx context.Context, _ types.Message) error {
			began := time.Now()
			<-ctx.Done()
			took = time.Since(began)
			return context.Cause(ctx)
		})
		if took < 30*time.Second || took > 75*time.Second || !strings.Contains(w.log.String(), "could not be extended") {
			t.Errorf("it went on for %v\n%s", took, w.log.String())
		}
	})
}

// TestWorkGoesOnAfterOneFailedRequest: the message stays hidden for longer than that.
func TestWorkGoesOnAfterOneFailedRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorkplace(t)
		w.send("x")
		time.AfterFunc(2*time.Minute, func() { w.network.fail("ChangeMessageVisibility") })
		time.AfterFunc(2*time.Minute+15*time.Second, func() { w.network.fail("") })
		w.consume(5*time.Minute, w.config(), func(ctx context.Context, _ types.Message) error {
			<-time.After(4 * time.Minute)
			return ctx.Err()
		})
		w.rests(w.Queue, w.Ingress)
		if w.log.Len() > 0 {
			t.Error(w.log.String())
		}
	})
}

// TestConsumeReceivesOnlyWhatItCanBegin: a message that waits here may reach its deadline.
func TestConsumeReceivesOnlyWhatItCanBegin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorkplace(t)
		for i := range 5 {
			w.send(fmt.Sprint(i))
		}
		var worked calls
		cfg := w.config()
		cfg.Concurrency = 1
		w.consume(time.Minute, cfg, func(_ context.Context, msg types.Message) error {
			n, counts := worked.note(msg), w.counts(w.Queue)
			if n > 1 || !strings.HasSuffix(counts, "+1") && !strings.HasSuffix(counts, "+2") { // one waits to be deleted
				t.Errorf("worked %d times, the queue holds %s", n, counts)
			}
			<-time.After(time.Second)
			return nil
		})
		w.rests(w.Queue, w.Ingress)
		if len(worked.count) != 5 {
			t.Errorf("worked %v", worked.count)
		}
	})
}

// TestConsumeLetsWorkFinishWithinTheGrace, and stops it afterwards.
func TestConsumeLetsWorkFinishWithinTheGrace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		needs time.Duration
		left  string
	}{{20 * time.Second, "1+0"}, {40 * time.Second, "1+1"}} {
		t.Run(c.needs.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorkplace(t)
				w.send("x")
				time.AfterFunc(6*time.Second, func() { w.put("later", nil) })
				began := time.Now()
				w.consume(5*time.Second, w.config(), func(ctx context.Context, _ types.Message) error {
					select {
					case <-time.After(c.needs):
						return nil
					case <-ctx.Done():
						return ctx.Err()
					}
				})
				if took := time.Since(began); took > 31*time.Second {
					t.Errorf("it took %v", took)
				}
				if got := w.counts(w.Queue); got != c.left {
					t.Errorf("the queue holds %s, want %s", got, c.left)
				}
			})
		})
	}
}

// TestConsumeRetriesUntilTheQueueAnswers. It ends for a missing queue and for an invalid configuration only.
func TestConsumeRetriesUntilTheQueueAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorkplace(t)
		w.network.fails = "ReceiveMessage"
		w.send("x")
		began := time.Now()
		for at, operation := range map[time.Duration]string{3 * time.Minute: "", 4 * time.Minute: "ReceiveMessage", 5 * time.Minute: ""} {
			time.AfterFunc(at, func() { w.network.fail(operation) })
		}
		var worked time.Duration
		w.consume(6*time.Minute, w.config(), func(context.Context, types.Message) error {
			worked = time.Since(began)
			return nil
		})
		if n := w.network.count["ReceiveMessage"]; worked < 3*time.Minute || worked > 3*time.Minute+45*time.Second || n > 90 {
			t.Errorf("worked after %v, %d requests", worked, n)
		}
		if n := strings.Count(w.log.String(), "again_in=1s"); n != 2 || !strings.Contains(w.log.String(), "receiving messages failed") {
			t.Errorf("it began to wait %d times, want twice\n%s", n, w.log.String())
		}
		never := func(context.Context, types.Message) error { return nil }
		if err := w.Consume(t.Context(), w.Queue+"-gone", never); err == nil || !strings.Contains(err.Error(), "does not exist") {
			t.Errorf("a missing queue: %v", err)
		}
		if err := w.Consume(t.Context(), "", never); err == nil || !strings.Contains(err.Error(), "queueURL is empty") {
			t.Errorf("no queue: %v", err)
		}
		for want, cfg := range map[string]consumer.Config{
			"Concurrency is -1": {Concurrency: -1}, "Grace is -1s": {Grace: -time.Second}, "Visibility is 2s": {Visibility: 2 * time.Second}, "Visibility is 13h": {Visibility: 13 * time.Hour},
		} {
			if err := consumer.New(w.Receipts, w.Queues, cfg).Consume(t.Context(), w.Queue, never); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		}
	})
}

// hiccup is an SQS that fails to delete one message of each batch, for a while.
type hiccup struct {
	consumer.QueuesClient
	mu    sync.Mutex
	fails int
}

func (h *hiccup) DeleteMessageBatch(ctx context.Context, in *sqs.DeleteMessageBatchInput, o ...func(*sqs.Options)) (*sqs.DeleteMessageBatchOutput, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fails == 0 {
		return h.QueuesClient.DeleteMessageBatch(ctx, in, o...)
	}
	h.fails--
	failed := types.BatchResultErrorEntry{Id: in.Entries[0].Id, Code: aws.String("InternalError")}
	if in.Entries = in.Entries[1:]; len(in.Entries) == 0 {
		return &sqs.DeleteMessageBatchOutput{Failed: []types.BatchResultErrorEntry{failed}}, nil
	}
	out, err := h.QueuesClient.DeleteMessageBatch(ctx, in, o...)
	if err == nil {
		out.Failed = append(out.Failed, failed)
	}
	return out, err
}

// TestFailedDeletionIsRetried, so that the message is not worked again.
func TestFailedDeletionIsRetried(t *testing.T) {
	t.Parallel()
	for fails, c := range map[int]struct {
		once int // of three
		log  string
	}{2: {3, ""}, 100: {2, "were not deleted and come back"}} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorkplace(t)
			w.put("a", nil)
			w.put("b", nil)
			w.put("c", nil)
			ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
			defer stop()
			var worked calls
			err := consumer.New(w.Receipts, &hiccup{QueuesClient: w.Queues, fails: fails}, w.config()).Consume(ctx, w.Queue,
				func(_ context.Context, msg types.Message) error { worked.note(msg); return nil })
			once := 0
			for _, n := range worked.count {
				if n == 1 {
					once++
				}
			}
			if err != nil || once != c.once {
				t.Errorf("%d failures: %v, worked %v", fails, err, worked.count)
			}
			if !strings.Contains(w.log.String(), c.log) || (c.log == "") != (w.log.Len() == 0) {
				t.Errorf("%d failures: logged %s", fails, w.log.String())
			}
		})
	}
}
