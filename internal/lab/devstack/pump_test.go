package devstack

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
)

func TestHandledMessagesAreDeleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, nil, nil)
		p.start(QueueMapping{}, handled)
		p.send("a")
		time.Sleep(5 * time.Minute) // virtual
		p.invoked("0s a")
		if left := p.left(); left != "0 0" {
			t.Errorf("%s messages are left", left)
		}
	})
}

// What becomes of three messages, by what the function does the first time; later it handles all.
func TestUnhandledMessagesStayInTheQueue(t *testing.T) {
	t.Parallel()
	payload := func(text string) func(context.Context, events.SQSEvent) answer {
		return always(answer{result: Result{Payload: []byte(text)}})
	}
	fails := func(errorType string) func(context.Context, events.SQSEvent) answer {
		return always(answer{result: fault("id", errorType, "")})
	}
	all := []string{"0s a b c", "1m0s a b c"}
	for name, c := range map[string]struct {
		off   bool // ReportBatchItemFailures
		first func(context.Context, events.SQSEvent) answer
		calls []string
	}{
		"handled":                    {first: handled, calls: all[:1]},
		"one reported":               {first: report("b"), calls: []string{"0s a b c", "1m0s b"}},
		"two reported":               {first: report("a", "c"), calls: []string{"0s a b c", "1m0s a c"}},
		"all reported":               {first: report("a", "b", "c"), calls: all},
		"report is no JSON":          {first: payload("{"), calls: all},
		"report names a stranger":    {first: payload(`{"batchItemFailures":[{"itemIdentifier":"x"}]}`), calls: all},
		"error":                      {first: fails("Broken"), calls: all},
		"timeout":                    {first: fails("Sandbox.Timedout"), calls: all},
		"crash":                      {first: fails("Runtime.ExitError"), calls: all},
		"error that says no type":    {first: always(answer{result: Result{FunctionError: Unhandled, Payload: []byte("{}")}}), calls: all},
		"error beside a report":      {first: always(answer{result: Result{FunctionError: Unhandled, Payload: []byte(`{"batchItemFailures":[]}`)}}), calls: all},
		"not run":                    {first: always(answer{err: ErrRequestTooLarge}), calls: all},
		"off, handled":               {off: true, first: handled, calls: all[:1]},
		"off, reported all the same": {off: true, first: report("a", "b", "c"), calls: all[:1]},
		"off, answer of any kind":    {off: true, first: payload(`"ok"`), calls: all[:1]},
		"off, error":                 {off: true, first: fails("Broken"), calls: all},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPlant(t, nil, nil)
				p.send("a", "b", "c")
				p.start(QueueMapping{ReportBatchItemFailures: !c.off}, func(ctx context.Context, e events.SQSEvent) answer {
					if e.Records[0].Attributes["ApproximateReceiveCount"] == "1" {
						return c.first(ctx, e)
					}
					return handled(ctx, e)
				})
				time.Sleep(5 * time.Minute) // virtual
				p.invoked(c.calls...)
				if left := p.left(); left != "0 0" {
					t.Errorf("%s messages are left", left)
				}
			})
		})
	}
}

func TestVisibilityThatTheFunctionSetStays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, nil, nil)
		p.send("a", "b")
		p.start(QueueMapping{ReportBatchItemFailures: true}, func(ctx context.Context, e events.SQSEvent) answer {
			_, err := p.client.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{QueueUrl: &p.url, ReceiptHandle: &e.Records[0].ReceiptHandle, VisibilityTimeout: 7})
			if err != nil {
				t.Error(err)
			}
			return report("a")(ctx, e)
		})
		time.Sleep(20 * time.Second) // virtual
		p.invoked("0s a b", "7s a", "14s a")
	})
}

func TestThrottledBatchComesBackAtItsTime(t *testing.T) {
	t.Parallel()
	throttled := answer{err: fmt.Errorf("invoke fn: %w", ErrThrottled)}
	for name, c := range map[string]struct {
		times int
		calls []string
	}{
		"throttled twice":    {2, []string{"0s a", "1s a", "3s a"}},
		"throttled for long": {7, []string{"0s a", "1s a", "3s a", "7s a", "15s a", "31s a", "1m0s a", "1m1s a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPlant(t, nil, nil)
				p.send("a")
				times := 0
				var count string
				p.start(QueueMapping{}, func(ctx context.Context, e events.SQSEvent) answer {
					count = e.Records[0].Attributes["ApproximateReceiveCount"]
					if times++; times <= c.times {
						return throttled
					}
					return handled(ctx, e)
				})
				time.Sleep(3 * time.Minute) // virtual
				p.invoked(c.calls...)
				if want := fmt.Sprint(1 + c.times/6); count != want || p.left() != "0 0" {
					t.Errorf("received %s times, want %s; %s left", count, want, p.left())
				}
			})
		})
	}
}

func TestEndedMappingSettlesWhatRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, nil, nil)
		p.send("a")
		end := p.start(QueueMapping{}, func(ctx context.Context, e events.SQSEvent) answer {
			time.Sleep(10 * time.Second) // virtual
			if ctx.Err() != nil {
				t.Error("the invocation's context has ended")
			}
			return handled(ctx, e)
		})
		time.Sleep(time.Second) // virtual
		end()
		if took := time.Since(p.began); took != 10*time.Second {
			t.Errorf("it ended after %v", took)
		}
		p.send("b")
		time.Sleep(time.Minute) // virtual
		p.invoked("0s a")
		if left := p.left(); left != "1 0" {
			t.Errorf("%s messages are left", left)
		}
	})
}

// Whatever it waits for: a long poll, a batch that is not full, a pause after a failed poll, a throttled batch.
func TestMappingEndsAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		plan  faults.Plan
		sends []string
		calls answer
		log   string
	}{
		"long poll": {},
		"window":    {sends: []string{"a"}},
		"pause": {plan: func(r faults.Request) faults.Fault {
			if r.Operation == "ReceiveMessage" {
				return faults.Fault{Error: faults.Throttle}
			}
			return faults.Fault{}
		}, log: "poll failed, next try in 1s: "},
		"throttled": {sends: []string{"a", "b"}, calls: answer{err: ErrThrottled}, log: "batch of 2 kept: rate exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPlant(t, c.plan, nil)
				p.send(c.sends...)
				end := p.start(QueueMapping{BatchingWindow: time.Minute, BatchSize: 2}, always(c.calls))
				time.Sleep(50 * time.Second) // virtual
				end()
				if took := time.Since(p.began); took != 50*time.Second {
					t.Errorf("it ended after %v", took)
				}
				if log := p.text(); !strings.HasPrefix(log, c.log) || c.log == "" && (log != "" || p.count() != 0) {
					t.Errorf("invoked %d times, log says %q", p.count(), log)
				}
			})
		})
	}
}

func TestMessageThatCannotBeDeletedLeavesTheOthersDeleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		deletes := 0
		p := newPlant(t, func(r faults.Request) faults.Fault {
			if r.Operation == "DeleteMessageBatch" {
				deletes++
				if deletes == 1 {
					return faults.Fault{Unprocessed: 1}
				}
			}
			return faults.Fault{}
		}, nil)
		p.send("a", "b")
		p.start(QueueMapping{}, handled)
		time.Sleep(5 * time.Minute) // virtual
		p.invoked("0s a b", "1m0s b")
		if left := p.left(); left != "0 0" {
			t.Errorf("%s messages are left", left)
		}
		if log := p.log.lines(); len(log) != 1 || log[0] != "deleting a handled message failed, it may be delivered again: InternalError" {
			t.Errorf("log says %q", log)
		}
	})
}
