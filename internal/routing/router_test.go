package routing_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/landfall-dev/landfall/internal/routing"
)

func TestAccepting(t *testing.T) {
	inWorld(t, "a message that is accepted at once costs no second forward", func(w *world) {
		w.consumer("a", w.accepts(time.Second))
		w.send("m1", "m2", "m3")
		w.drive(time.Hour)
		for _, m := range []string{"m1", "m2", "m3"} {
			o := w.end(m).Outcome()
			if o.DeliveredTo != "a" || !o.DeliveredFirstTry || len(o.ReroutedFrom) != 0 {
				w.Errorf("outcome = %+v", o)
			}
			w.expect("forwards", w.forwarded(m), []string{"a"})
		}
	})
	inWorld(t, "a lapse is not left beyond the deadline, and the outcome tells when what happened", func(w *world) {
		w.consumer("a", w.ignores())
		w.consumer("b", w.accepts(time.Second))
		begun := time.Now()
		w.send("m1")
		w.drive(time.Hour)
		o := w.end("m1").Outcome()
		want := routing.Reroute{From: "a", To: "b", End: routing.EndLapsed, Deadline: begun.Add(30 * time.Second),
			Seen: begun.Add(30 * time.Second), Written: begun.Add(30 * time.Second)}
		if o.DeliveredTo != "b" || o.DeliveredFirstTry || len(o.Reroutes) != 1 || o.Reroutes[0] != want {
			w.Errorf("outcome = %+v, want the reroute %+v", o, want)
		}
		w.expect("the router's own account", w.handled[1].Reroutes, []routing.Reroute{want})
	})
	inWorld(t, "a zombie that accepts after the reroute does not get the message", func(w *world) {
		var zombie atomic.Value
		w.consumer("a", w.worker(func(f routing.Forward) { pass(31 * time.Second); zombie.Store(w.accept(f)) }))
		w.consumer("b", w.accepts(5*time.Second))
		w.send("m1")
		w.drive(time.Hour)
		w.expect("accepted by", w.end("m1").Consumer, "b")
		var refused *routing.RefusedError
		if err, _ := zombie.Load().(error); !errors.As(err, &refused) {
			w.Errorf("the zombie was told %v, want a refusal", err)
		}
	})
	inWorld(t, "an acceptance after the deadline that nobody has acted on is not refused", func(w *world) {
		w.consumer("a", w.ignores())
		w.send("m1")
		w.invoke(w.receive())
		pass(time.Minute)
		if err := w.accept(w.forwards[0]); err != nil {
			t.Error(err)
		}
		w.drive(time.Hour)
		w.end("m1")
	})
	inWorld(t, "a decline does not cost the full hold time", func(w *world) {
		w.consumer("a", w.declines())
		w.consumer("b", w.accepts(0))
		begun := time.Now()
		w.send("m1")
		w.drive(time.Hour)
		r := w.end("m1")
		w.expect("rerouted from", r.Outcome().ReroutedFrom, []string{"a"})
		if took := r.AssignedAt.Sub(begun); took > time.Second {
			w.Errorf("the decline was acted on after %v", took)
		}
	})
	inWorld(t, "a message in flight is not touched by who joins and leaves (R2), and who joins gets the next one (R3)", func(w *world) {
		w.consumer("b", w.accepts(20*time.Second))
		w.send("m1")
		w.invoke(w.receive())
		w.consumer("a", w.accepts(0))
		w.remove("b")
		w.send("m2")
		w.drive(time.Hour)
		w.expect("m1 accepted by", w.end("m1").Consumer, "b")
		w.expect("m2 accepted by", w.end("m2").Consumer, "a")
	})
	inWorld(t, "a consumer that is tried is never picked again, not even by another process and another function", func(w *world) {
		w.consumer("a", w.ignores())
		w.consumer("b", w.declines())
		w.consumer("c", w.ignores())
		w.consumer("d", w.accepts(0))
		w.send("m1")
		for range 20 {
			w.router = w.newRouter()
			w.function(first{})
			w.drive(31 * time.Second)
		}
		w.expect("forwarded to", w.forwarded("m1"), []string{"a", "b", "c", "d"})
		w.end("m1")
	})
	inWorld(t, "a consumer that lapsed is not given the next messages while others are there (R5), and is again later", func(w *world) {
		w.consumer("a", w.ignores())
		w.consumer("b", w.accepts(0))
		w.send("m1")
		w.drive(35 * time.Second)
		w.send("m2")
		w.drive(10 * time.Second)
		w.expect("m2 forwarded to", w.forwarded("m2"), []string{"b"})
		pass(routing.LapseMemory + time.Millisecond)
		w.send("m3")
		w.invoke(w.receive())
		w.expect("m3 forwarded to", w.forwarded("m3"), []string{"a"})
		w.remove("b")
		w.drive(time.Hour) // lapsed, and nobody else
		w.send("m4")
		w.invoke(w.receive())
		w.expect("m4, nobody else there, forwarded to", w.forwarded("m4"), []string{"a"})
	})
	inWorld(t, "a batch does not give a consumer more than it may have", func(w *world) {
		w.consumer("a", w.ignores(), func(c *routing.Consumer) { c.MaxInFlight, c.CurrentInFlight = 5, 2 })
		w.consumer("b", w.ignores(), func(c *routing.Consumer) { c.MaxInFlight = 4 })
		for i := range 10 {
			w.send(fmt.Sprint("m", i))
		}
		w.invoke(w.receive())
		given := map[string]int{}
		for _, f := range w.forwards {
			given[f.Consumer.ID]++
		}
		w.expect("given", given, map[string]int{"a": 3, "b": 4})
		waiting := 0
		for _, h := range w.handled {
			if errors.Is(h.Err, routing.ErrNoConsumerAvailable) && h.Kept && h.Receipt.State == "" {
				waiting++
			}
		}
		w.expect("waiting", waiting, 3)
	})
}

func TestNobodyThere(t *testing.T) {
	inWorld(t, "an empty group does not kill a message before max_wait, and its letter says why", func(w *world) {
		begun := time.Now()
		w.send("m1")
		w.drive(2 * time.Hour)
		r := w.end("m1")
		w.expect("reason", r.Reason, routing.ReasonMaxWait)
		if waited := r.EndedAt.Sub(begun); waited < time.Hour || waited > time.Hour+time.Second {
			w.Errorf("dead after %v, want an hour", waited)
		}
		w.expect("tried", len(r.Tried()), 0)
		if n := w.queue[0].Receives; n > 100 {
			w.Errorf("received %d times in an hour of nobody there", n)
		}
	})
	inWorld(t, "everybody timed out: no deadlock, but a dead letter with history (R4)", func(w *world) {
		w.consumer("a", w.ignores())
		w.consumer("b", w.ignores())
		w.send("m1")
		w.drive(2 * time.Hour)
		r := w.end("m1")
		w.expect("reason", r.Reason, routing.ReasonMaxWait)
		w.expect("tried", r.Tried(), []string{"a"})
		w.expect("history in the letter", len(w.letters[0].Receipt.History), 1)
		w.expect("forwards: b once more for want of others, and no third time", w.forwarded("m1"), []string{"a", "b", "b"})
	})
	inWorld(t, "everybody declined: it does not wait for max_wait", func(w *world) {
		w.consumer("a", w.declines())
		w.consumer("b", w.declines())
		begun := time.Now()
		w.send("m1")
		w.drive(2 * time.Hour)
		r := w.end("m1")
		w.expect("reason", r.Reason, routing.ReasonNobodyLeft)
		if took := r.EndedAt.Sub(begun); took > 5*time.Second {
			w.Errorf("dead after %v", took)
		}
	})
	inWorld(t, "the last consumer that lapsed and left does not hold the message up", func(w *world) {
		w.consumer("a", w.ignores())
		w.send("m1")
		w.invoke(w.receive())
		w.remove("a")
		w.drive(time.Minute)
		w.expect("reason", w.end("m1").Reason, routing.ReasonNobodyLeft)
	})
	inWorld(t, "a draining consumer gets nothing new, and may accept what it has", func(w *world) {
		w.consumer("a", w.accepts(50*time.Second))
		w.send("m1")
		w.invoke(w.receive())
		w.consumer("a", w.accepts(0), func(c *routing.Consumer) { c.Draining = true })
		w.send("m2")
		w.drive(5 * time.Minute)
		w.expect("m1 accepted by", w.end("m1").Consumer, "a")
		w.expect("m2 forwarded to", len(w.forwarded("m2")), 0)
	})
	inWorld(t, "a consumer whose lease is over is not picked", func(w *world) {
		w.consumer("a", w.accepts(0), func(c *routing.Consumer) { c.LeaseUntil = time.Now() })
		w.consumer("b", w.accepts(0), func(c *routing.Consumer) { c.LeaseUntil = time.Now().Add(time.Millisecond) })
		w.send("m1")
		w.drive(time.Minute)
		w.expect("accepted by", w.end("m1").Consumer, "b")
	})
	inWorld(t, "who joins is found by a message that waits for somebody", func(w *world) {
		w.consumer("a", w.accepts(0), func(c *routing.Consumer) { c.MaxInFlight = 0 })
		w.send("m1")
		w.drive(5 * time.Minute)
		w.consumer("b", w.accepts(0))
		w.drive(5 * time.Minute)
		w.expect("accepted by", w.end("m1").Consumer, "b")
	})
	inWorld(t, "throttling that inflates the receive count does not kill a message before the backstop (Q11)", func(w *world) {
		w.consumer("a", w.accepts(0))
		w.send("m1", "m2")
		w.queue[0].Receives, w.queue[1].Receives = 898, 899
		w.drive(time.Minute)
		w.expect("m1", w.end("m1").State, routing.Accepted)
		w.expect("m2", w.end("m2").Reason, routing.ReasonReceiveCount)
	})
	inWorld(t, "an oversize message is not forwarded with a cut envelope", func(w *world) {
		w.consumer("a", w.accepts(0))
		w.send("m1", "m2", "m3")
		w.queue[0].Bytes = routing.MaxIncomingBytes + 1
		w.queue[1].AttributeCount = routing.MaxIncomingAttributes + 1
		w.queue[2].Bytes, w.queue[2].AttributeCount = routing.MaxIncomingBytes, routing.MaxIncomingAttributes
		w.drive(time.Minute)
		w.expect("m1", w.end("m1").Reason, routing.ReasonOversize)
		w.expect("m2", w.end("m2").Reason, routing.ReasonOversize)
		w.expect("m3", w.end("m3").State, routing.Accepted)
	})
}

// function is a routing function made of what it does.
type function func(ctx context.Context, q routing.Question) (string, error)

func (function) Hash() string { return strings.Repeat("f", 64) }

func (f function) Select(ctx context.Context, q routing.Question) (string, error) { return f(ctx, q) }

func TestRoutingFunctionInTroubleLosesNothingAndTriesNobody(t *testing.T) {
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
		inWorld(t, name, func(w *world) {
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
		inWorld(t, name+" does not cost the hold time", func(w *world) {
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
			var delivery *routing.DeliveryError
			if !errors.As(w.handled[0].Err, &delivery) || delivery.Consumer != "b" || delivery.Text != c.answer.Text {
				w.Errorf("err = %v", w.handled[0].Err)
			}
		})
		inWorld(t, name+" does not lose the message where nobody else is", func(w *world) {
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
	inWorld(t, "a function that times out is not given up before the deadline", func(w *world) {
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
	inWorld(t, "a forward whose answer is lost is not made to another consumer", func(w *world) {
		w.consumer("a", w.takesSilently(w.accepts(20*time.Second)))
		w.consumer("b", w.accepts(0))
		w.send("m1")
		w.drive(time.Hour)
		w.expect("forwarded to", w.forwarded("m1"), []string{"a"})
		w.end("m1")
	})
	inWorld(t, "a forward that was never answered is not believed", func(w *world) {
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
	onDelivery := func(name string, test func(w *world)) {
		inWorld(t, name, func(w *world) {
			w.policy.Accept = routing.OnDelivery
			test(w)
		})
	}
	onDelivery("a delivered message is not left pending", func(w *world) {
		w.consumer("a", w.ignores())
		w.send("m1")
		w.invoke(w.receive())
		o := w.end("m1").Outcome()
		if o.DeliveredTo != "a" || !o.DeliveredFirstTry {
			w.Errorf("outcome = %+v", o)
		}
	})
	onDelivery("a refusal that this invocation alone has seen reroutes at once", func(w *world) {
		w.consumer("a", refuses())
		w.consumer("b", refuses())
		w.consumer("c", w.ignores())
		w.send("m1")
		w.invoke(w.receive())
		w.expect("rerouted from", w.end("m1").Tried(), []string{"a", "b"})
	})
	for name, answer := range map[string]routing.Answer{"unknown": {}, "errored": {Kind: routing.Failed}} {
		onDelivery("a delivery that is "+name+" never goes to another consumer", func(w *world) {
			w.consumer("a", func(ctx context.Context, f routing.Forward) routing.Answer { w.copied(f); return answer })
			w.consumer("b", w.ignores())
			w.send("m1")
			w.drive(2 * time.Hour)
			w.expect("reason", w.end("m1").Reason, routing.ReasonDeliveryUnknown)
			w.expect("has copies", w.took["m1"], []string{"a"})
		})
	}
	onDelivery("a refusal after another invocation may have delivered never reroutes", func(w *world) {
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
	onDelivery("an attempt that another invocation marked is not rerouted by the one that wrote it", func(w *world) {
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
	onDelivery("the mode of an attempt is not changed by a deployment", func(w *world) {
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

func TestTimeLeft(t *testing.T) {
	inWorld(t, "a batch that cannot be finished is given back, not started", func(w *world) {
		w.consumer("a", w.accepts(time.Second))
		w.function(function(func(context.Context, routing.Question) (string, error) { pass(4 * time.Second); return "a", nil }))
		for i := range 10 {
			w.send(fmt.Sprint("m", i))
		}
		ctx, cancel := context.WithTimeout(w.Context(), 30*time.Second)
		defer cancel()
		handled := w.router.Route(ctx, w.receive())
		begun := 0
		for i, h := range handled {
			if h.ID.Message != fmt.Sprint("m", i) {
				w.Errorf("handled[%d] is %s", i, h.ID)
			}
			if h.GivenBack != (h.Receipt.State == "") || h.GivenBack != (h.Forwards == 0) || !h.Kept {
				w.Errorf("%+v", h)
			}
			if !h.GivenBack {
				begun++
			}
		}
		w.expect("begun", begun, 4) // at 0, 4, 8 and 12 s of the 15 that leave a reserve
		if len(w.receive()) != 6 {
			w.Error("what was given back is not there again at once")
		}
	})
	inWorld(t, "an invocation that is over begins nothing", func(w *world) {
		w.consumer("a", w.accepts(0))
		w.send("m1")
		ctx, cancel := context.WithCancel(w.Context())
		cancel()
		if h := w.router.Route(ctx, w.receive())[0]; !h.GivenBack || !h.Kept || len(w.forwards) != 0 {
			w.Errorf("%+v", h)
		}
		w.drive(time.Minute)
		w.end("m1")
	})
}

func TestIsolation(t *testing.T) {
	inWorld(t, "a message of a group that nobody configured stops no other and is not lost", func(w *world) {
		w.consumer("a", w.accepts(0))
		w.send("m1", "m2")
		w.queue[0].Group = "nobody"
		handled := w.invoke(w.receive())
		if !errors.Is(handled[0].Err, routing.ErrNoGroup) || !handled[0].Kept || handled[0].Held < time.Second {
			w.Errorf("%+v", handled[0])
		}
		w.drive(time.Second)
		w.end("m2")
	})
	inWorld(t, "two copies of a message in one batch are not both forwarded", func(w *world) {
		w.consumer("a", w.accepts(time.Second))
		w.consumer("b", w.accepts(time.Second))
		w.send("m1", "m1")
		w.queue[1].Handle = "copy"
		w.drive(time.Hour)
		w.expect("forwards", len(w.forwarded("m1")), 1)
		w.end("m1")
	})
	inWorld(t, "a copy that arrives after the end brings nothing back", func(w *world) {
		w.consumer("a", w.accepts(0))
		w.consumer("b", w.declines())
		w.send("m1")
		w.drive(time.Minute)
		pass(24 * time.Hour)
		w.send("m1")
		w.drive(time.Minute)
		w.expect("forwards", len(w.forwarded("m1")), 1)
		w.end("m1")
	})
	inWorld(t, "two routers with the same message do not both forward it (R6)", func(w *world) {
		for _, id := range []string{"a", "b", "c"} {
			w.consumer(id, w.ignores())
		}
		w.send("m1")
		for range 4 { // the assignment, and three lapses: two reroutes and an extension
			batch := w.receive()
			before := len(w.forwarded("m1"))
			var both sync.WaitGroup
			for range 2 {
				router := w.newRouter()
				router.Receipts = slowly{&w.receipts}
				both.Go(func() {
					ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
					defer cancel()
					router.Route(ctx, batch)
				})
			}
			both.Wait()
			w.expect("forwards of one step", len(w.forwarded("m1"))-before, 1)
			pass(31 * time.Second)
		}
		w.expect("forwarded to", w.forwarded("m1"), []string{"a", "b", "c", "c"})
		w.drive(2 * time.Hour)
		w.end("m1")
	})
	inWorld(t, "an expired handle stops nothing (Q13, Q14)", func(w *world) {
		w.consumer("a", w.accepts(0))
		w.send("m1")
		batch := w.receive()
		pass(w.visibility)
		w.receive()
		h := w.invoke(batch)[0]
		if h.Err == nil || !h.Kept {
			w.Errorf("%+v", h)
		}
		w.drive(time.Hour)
		w.end("m1")
	})
	inWorld(t, "nothing of a message is printed with it", func(w *world) {
		w.send("m1")
		for _, format := range []string{"%v", "%+v", "%#v", "%s", "%d"} {
			if text := fmt.Sprintf(format, w.queue[0].Incoming); strings.Contains(text, "payload") {
				w.Errorf("%s prints %s", format, text)
			}
		}
	})
}

// slowly is a store whose answers to readings are a while under way, so that two readers see the same.
type slowly struct{ routing.Receipts }

func (s slowly) Get(ctx context.Context, id routing.ID) (routing.Receipt, error) {
	receipt, err := s.Receipts.Get(ctx, id)
	pass(time.Millisecond)
	return receipt, err
}

func TestEndsAreTold(t *testing.T) {
	inWorld(t, "no end is silent (R8)", func(w *world) {
		w.consumer("a", w.ignores())
		w.send("m1", "m2")
		w.queue[1].Bytes = routing.MaxIncomingBytes + 1
		w.drive(2 * time.Hour)
		var told []string
		for _, h := range w.handled {
			if o := h.Receipt.Outcome(); o.Reason != "" {
				told = append(told, h.ID.Message+" "+string(o.Reason))
			}
		}
		slices.Sort(told)
		w.expect("told", told, []string{"m1 max_wait", "m2 oversize"})
	})
}
