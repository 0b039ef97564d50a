package routing_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/landfall-dev/landfall/internal/routing"
)

// function is a routing function made of what it does.
type function func(ctx context.Context, q routing.Question) (string, error)

func (function) Hash() string { return strings.Repeat("f", 64) }

func (f function) Select(ctx context.Context, q routing.Question) (string, error) { return f(ctx, q) }

func TestFailingRoutingFunctionKeepsTheMessage(t *testing.T) {
	evaluation := func(failure routing.EvaluationFailure) func(error) bool {
		return func(err error) bool {
			var e *routing.EvaluationError
			return errors.As(err, &e) && e.Failure == failure && e.Function == strings.Repeat("f", 64)
		}
	}
	for name, c := range map[string]struct {
		function function
		says     func(error) bool
	}{
		"panics": {func(context.Context, routing.Question) (string, error) { panic("secret payload") }, evaluation(routing.Crashed)},
		"fails": {func(context.Context, routing.Question) (string, error) { return "b", errors.New("secret payload") },
			evaluation(routing.Crashed)},
		"says how it failed": {func(context.Context, routing.Question) (string, error) {
			return "", &routing.EvaluationError{Failure: routing.NotStarted, Cause: errors.New("secret payload")}
		}, evaluation(routing.NotStarted)},
		"hangs": {func(ctx context.Context, _ routing.Question) (string, error) { <-ctx.Done(); return "b", ctx.Err() },
			evaluation(routing.TimedOut)},
		"ignores its deadline": {func(context.Context, routing.Question) (string, error) { pass(10 * time.Second); return "b", nil },
			evaluation(routing.TimedOut)},
		"names nobody": {func(context.Context, routing.Question) (string, error) { return "", nil },
			func(err error) bool { return errors.Is(err, routing.ErrNoConsumerAvailable) }},
		"names one that does not exist (R7)": {func(context.Context, routing.Question) (string, error) { return "secret payload", nil },
			func(err error) bool {
				var e *routing.UnknownConsumerSelectedError
				return errors.As(err, &e) && e.ID == "secret payload" && !e.Member
			}},
		"names one that was tried (R7)": {func(context.Context, routing.Question) (string, error) { return "a", nil },
			func(err error) bool {
				var e *routing.UnknownConsumerSelectedError
				return errors.As(err, &e) && e.ID == "a" && e.Member
			}},
		"changes what it was asked": {func(_ context.Context, q routing.Question) (string, error) {
			for i := range q.Candidates {
				q.Candidates[i].ID = "secret payload"
			}
			return "secret payload", nil
		}, func(err error) bool { var e *routing.UnknownConsumerSelectedError; return errors.As(err, &e) }},
	} {
		onRig(t, name, func(w *rig) {
			w.consumer("a", w.ignores())
			w.consumer("b", w.accepts(0))
			w.send("m1")
			w.invoke(w.receive())
			w.function(c.function)
			pass(31 * time.Second)
			h := w.invoke(w.receive())[0]
			if !c.says(h.Err) {
				w.Errorf("err = %#v", h.Err)
			}
			if strings.Contains(fmt.Sprintf("%v", h.Err), "secret") || strings.Contains(fmt.Sprintf("%v %+v", h, w.queue[0].Incoming), "secret") {
				w.Errorf("content of the message in %v", h)
			}
			if r := w.receipt("m1"); !h.Kept || h.Held < time.Second || r.Attempt != 1 || len(r.Tried()) != 0 {
				w.Errorf("kept %v, held for %v, receipt %+v", h.Kept, h.Held, r)
			}
			if name == "panics" { // bounded even if nobody mends it
				w.drive(2 * time.Hour)
				w.expect("reason", w.end("m1").Reason, routing.ReasonMaxWait)
				return
			}
			w.function(first{})
			w.drive(5 * time.Minute)
			w.expect("accepted by", w.end("m1").Consumer, "b")
		})
	}
}

func TestForwarding(t *testing.T) {
	for name, c := range map[string]struct {
		answer routing.Answer
		end    routing.End
	}{
		"a queue that refuses":  {routing.Answer{Kind: routing.NotTaken, Text: "QueueDoesNotExist"}, routing.EndRefused},
		"a function that fails": {routing.Answer{Kind: routing.Failed, Text: "FunctionError"}, routing.EndErrored},
	} {
		onRig(t, name+" does not cost the hold time", func(w *rig) {
			w.consumer("a", answers(c.answer))
			w.consumer("b", answers(c.answer))
			w.consumer("c", w.accepts(0))
			begun := time.Now()
			w.send("m1")
			w.drive(time.Hour)
			r := w.end("m1")
			if took := r.AssignedAt.Sub(begun); took != 0 || r.Consumer != "c" || r.History[1].End != c.end {
				w.Errorf("assigned to %s after %v, history %+v", r.Consumer, took, r.History)
			}
			var delivery *routing.ForwardError
			if !errors.As(w.handled[0].Err, &delivery) || delivery.Consumer != "b" || delivery.Text != c.answer.Text {
				w.Errorf("err = %v", w.handled[0].Err)
			}
		})
		onRig(t, name+" does not lose the message where no other consumer is", func(w *rig) {
			w.consumer("a", answers(c.answer))
			w.send("m1")
			w.drive(10 * time.Second)
			if r := w.receipt("m1"); r.Attempt != 1 || len(r.Tried()) != 0 {
				w.Errorf("receipt = %+v, want the same attempt", r)
			}
			w.consumer("a", w.accepts(0))
			w.drive(time.Minute)
			w.end("m1")
		})
	}
	onRig(t, "no consumer is passed over because the router could reach none", func(w *rig) {
		out := answers(routing.Answer{Kind: routing.NotSent, Text: "NotConnected"})
		w.consumer("a", out)
		w.consumer("b", out)
		w.send("m1")
		w.drive(10 * time.Second)
		w.consumer("a", w.accepts(0))
		w.consumer("b", w.accepts(0))
		w.drive(time.Minute)
		if r := w.end("m1"); r.Consumer != "a" || len(r.History) != 0 {
			w.Errorf("it went to %s, after %+v", r.Consumer, r.History)
		}
	})
	onRig(t, "a function that times out is not given up before the deadline", func(w *rig) {
		w.consumer("a", func(ctx context.Context, f routing.Forward) routing.Answer {
			w.working.Go(func() { pass(25 * time.Second); _ = w.accept(f) })
			<-ctx.Done()
			return routing.Answer{}
		})
		w.consumer("b", w.accepts(0))
		w.send("m1")
		w.drive(time.Hour)
		w.expect("accepted by", w.end("m1").Consumer, "a")
	})
	onRig(t, "a forward whose answer is lost is not made to another consumer", func(w *rig) {
		w.consumer("a", w.takesSilently(w.accepts(20*time.Second)))
		w.consumer("b", w.accepts(0))
		w.send("m1")
		w.drive(time.Hour)
		w.expect("forwarded to", w.forwarded("m1"), []string{"a"})
		w.end("m1")
	})
	onRig(t, "a forward that was never answered is not believed", func(w *rig) {
		w.consumer("a", w.ignores())
		w.consumer("b", w.accepts(0))
		w.router.Forwarder = forwarder(func(context.Context, []routing.Forward) []routing.Answer { return nil })
		w.send("m1")
		w.invoke(w.receive())
		w.router.Forwarder = w
		w.drive(time.Hour)
		w.expect("rerouted from", w.end("m1").Tried(), []string{"a"})
	})
}

type forwarder func(context.Context, []routing.Forward) []routing.Answer

func (f forwarder) Forward(ctx context.Context, forwards []routing.Forward) []routing.Answer {
	return f(ctx, forwards)
}

func TestOnDelivery(t *testing.T) {
	onDelivery := func(name string, test func(w *rig)) {
		onRig(t, name, func(w *rig) {
			w.policy.Accept = routing.OnDelivery
			test(w)
		})
	}
	onDelivery("a delivered message is not left pending", func(w *rig) {
		w.consumer("a", w.ignores())
		w.send("m1")
		w.invoke(w.receive())
		o := w.end("m1").Outcome()
		if o.DeliveredTo != "a" || !o.DeliveredFirstTry {
			w.Errorf("outcome = %+v", o)
		}
	})
	onDelivery("a refusal that this invocation alone has seen reroutes at once", func(w *rig) {
		w.consumer("a", refuses())
		w.consumer("b", refuses())
		w.consumer("c", w.ignores())
		w.send("m1")
		w.invoke(w.receive())
		w.expect("rerouted from", w.end("m1").Tried(), []string{"a", "b"})
	})
	onDelivery("a refusal is not forgotten because all others were full", func(w *rig) {
		w.consumer("a", refuses())
		w.consumer("b", w.ignores(), func(c *routing.Consumer) { c.MaxInFlight = 0 })
		w.send("m1")
		w.drive(time.Minute)
		w.consumer("b", w.ignores())
		w.drive(time.Minute)
		r := w.end("m1")
		w.expect("accepted by", r.Consumer, "b")
		w.expect("moved on because", r.History[0].End, routing.EndRefused)
	})
	onDelivery("a refusal is not forgotten because no other consumer was there", func(w *rig) {
		w.consumer("a", refuses())
		w.send("m1")
		w.drive(time.Minute)
		if n := len(w.forwarded("m1")); n < 3 {
			w.Errorf("it was tried %d times in a minute", n)
		}
		w.consumer("b", w.ignores())
		w.drive(time.Minute)
		w.expect("accepted by", w.end("m1").Consumer, "b")
	})
	onDelivery("a line that was down does not tie the message to a consumer that refuses, nor away from one that does not", func(w *rig) {
		for _, id := range []string{"a", "b"} {
			w.consumer(id, answers(routing.Answer{Kind: routing.NotSent, Text: "NotConnected"}))
		}
		w.send("m1")
		w.drive(10 * time.Second)
		w.consumer("a", w.ignores())
		w.send("m2")
		w.drive(time.Minute)
		w.expect("the line is up again", w.end("m1").Consumer, "a")
		w.consumer("a", answers(routing.Answer{Kind: routing.NotSent, Text: "NotConnected"}))
		w.send("m3")
		w.drive(10 * time.Second)
		w.consumer("a", refuses())
		w.consumer("b", w.ignores())
		w.drive(time.Minute)
		w.expect("its queue is gone", w.end("m3").Consumer, "b")
		w.end("m2")
	})
	onDelivery("a refusal is not forgotten with the consumer that refused", func(w *rig) {
		w.consumer("a", refuses())
		w.send("m1")
		w.invoke(w.receive())
		w.remove("a")
		w.consumer("b", w.ignores())
		w.drive(time.Minute)
		w.expect("accepted by", w.end("m1").Consumer, "b")
	})
	onDelivery("a refusal says nothing any more once the consumer was given it again", func(w *rig) {
		w.consumer("a", refuses())
		w.send("m1")
		w.invoke(w.receive()) // refused
		w.consumer("a", func(_ context.Context, f routing.Forward) routing.Answer { w.copied(f); return routing.Answer{} })
		pass(time.Second)
		w.invoke(w.receive()) // nobody knows
		w.consumer("a", refuses())
		w.consumer("b", w.ignores())
		w.drive(2 * time.Hour)
		w.expect("reason", w.end("m1").Reason, routing.ReasonDeliveryUnknown)
		w.expect("has copies", w.took["m1"], []string{"a"})
	})
	for name, answer := range map[string]routing.Answer{"unknown": {}, "errored": {Kind: routing.Failed}} {
		onDelivery("a delivery that is "+name+" never goes to another consumer", func(w *rig) {
			w.consumer("a", func(ctx context.Context, f routing.Forward) routing.Answer { w.copied(f); return answer })
			w.consumer("b", w.ignores())
			w.send("m1")
			w.drive(2 * time.Hour)
			w.expect("reason", w.end("m1").Reason, routing.ReasonDeliveryUnknown)
			w.expect("has copies", w.took["m1"], []string{"a"})
		})
	}
	onDelivery("a refusal after another invocation may have delivered never reroutes", func(w *rig) {
		w.consumer("a", w.takesSilently(w.ignores()))
		w.consumer("b", w.ignores())
		w.send("m1")
		w.invoke(w.receive())
		pass(31 * time.Second)
		w.consumer("a", refuses())
		w.invoke(w.receive())
		w.drive(2 * time.Hour)
		w.expect("reason", w.end("m1").Reason, routing.ReasonDeliveryUnknown)
		w.expect("has copies", w.took["m1"], []string{"a"})
	})
	onDelivery("an attempt that another invocation marked is not rerouted by the one that wrote it", func(w *rig) {
		w.consumer("b", w.ignores())
		var other sync.Once
		w.consumer("a", func(ctx context.Context, f routing.Forward) routing.Answer {
			refused := routing.Answer{Kind: routing.NotTaken}
			other.Do(func() { // while this forward is on its way, another invocation delivers
				pass(31 * time.Second)
				w.consumer("a", w.takesSilently(w.ignores()))
				w.invoke(w.receive())
			})
			return refused
		})
		w.send("m1")
		w.invoke(w.receive())
		w.expect("has copies", w.took["m1"], []string{"a"})
		w.drive(2 * time.Hour)
		w.end("m1")
	})
	onDelivery("the mode of an attempt is not changed by a deployment", func(w *rig) {
		w.consumer("a", w.takesSilently(w.ignores()))
		w.consumer("b", w.accepts(0))
		w.send("m1")
		w.invoke(w.receive())
		w.policy.Accept = routing.Explicit
		w.function(first{})
		pass(31 * time.Second)
		w.consumer("a", w.ignores())
		w.drive(time.Hour)
		w.expect("accepted by", w.end("m1").Consumer, "a")
	})
}
