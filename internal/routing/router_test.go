package routing_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/landfall-dev/landfall/internal/routing"
)

func TestAccepting(t *testing.T) {
	onRig(t, "a message that is accepted at once costs no second forward", func(w *rig) {
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
	onRig(t, "a lapse is not left beyond the deadline, and the outcome tells when what happened", func(w *rig) {
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
	onRig(t, "a zombie that accepts after the reroute does not get the message", func(w *rig) {
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
	onRig(t, "an acceptance after the deadline that nobody has acted on is not refused", func(w *rig) {
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
	onRig(t, "a decline does not cost the full hold time", func(w *rig) {
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
	onRig(t, "a message in flight is not touched by who joins and leaves (R2), and who joins gets the next one (R3)", func(w *rig) {
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
	onRig(t, "a consumer that is tried is never picked again, not even by another process and another function", func(w *rig) {
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
	onRig(t, "a consumer that lapsed is not given the next messages while others are there (R5), and is again later", func(w *rig) {
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
		w.drive(time.Hour) // lapsed, and no other consumer
		w.send("m4")
		w.invoke(w.receive())
		w.expect("m4, no other consumer there, forwarded to", w.forwarded("m4"), []string{"a"})
	})
	onRig(t, "a lapse that is seen again and again does not stay a new one", func(w *rig) {
		w.consumer("a", w.ignores())
		w.consumer("b", w.ignores(), func(c *routing.Consumer) { c.MaxInFlight = 0 })
		w.send("m1")
		begun := time.Now()
		w.drive(58 * time.Second)
		pass(time.Until(begun.Add(30*time.Second + routing.LapseMemory + time.Millisecond)))
		w.send("m2")
		w.invoke(w.receive())
		w.expect("m2 forwarded to", w.forwarded("m2"), []string{"a"})
	})
	onRig(t, "a batch does not give a consumer more than it may have", func(w *rig) {
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

func TestMessageWaitsForAConsumer(t *testing.T) {
	onRig(t, "an empty group does not kill a message before max_wait, and its letter says why", func(w *rig) {
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
	onRig(t, "everybody timed out: no deadlock, but a dead letter with history (R4)", func(w *rig) {
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
	onRig(t, "everybody declined: it does not wait for max_wait", func(w *rig) {
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
	onRig(t, "the last consumer that lapsed and left does not hold the message up", func(w *rig) {
		w.consumer("a", w.ignores())
		w.send("m1")
		w.invoke(w.receive())
		w.remove("a")
		w.drive(time.Minute)
		w.expect("reason", w.end("m1").Reason, routing.ReasonNobodyLeft)
	})
	onRig(t, "a draining consumer gets nothing new, and may accept what it has", func(w *rig) {
		w.consumer("a", w.accepts(50*time.Second))
		w.send("m1")
		w.invoke(w.receive())
		w.consumer("a", w.accepts(0), func(c *routing.Consumer) { c.Draining = true })
		w.send("m2")
		w.drive(5 * time.Minute)
		w.expect("m1 accepted by", w.end("m1").Consumer, "a")
		w.expect("m2 forwarded to", len(w.forwarded("m2")), 0)
	})
	onRig(t, "a consumer whose lease is over is not picked", func(w *rig) {
		w.consumer("a", w.accepts(0), func(c *routing.Consumer) { c.LeaseUntil = time.Now() })
		w.consumer("b", w.accepts(0), func(c *routing.Consumer) { c.LeaseUntil = time.Now().Add(time.Millisecond) })
		w.send("m1")
		w.drive(time.Minute)
		w.expect("accepted by", w.end("m1").Consumer, "b")
	})
	onRig(t, "who joins is found by a message that waits for somebody", func(w *rig) {
		w.consumer("a", w.accepts(0), func(c *routing.Consumer) { c.MaxInFlight = 0 })
		w.send("m1")
		w.drive(5 * time.Minute)
		w.consumer("b", w.accepts(0))
		w.drive(5 * time.Minute)
		w.expect("accepted by", w.end("m1").Consumer, "b")
	})
	onRig(t, "throttling that inflates the receive count does not kill a message before the backstop (Q11)", func(w *rig) {
		w.consumer("a", w.accepts(0))
		w.send("m1", "m2")
		w.queue[0].Receives, w.queue[1].Receives = 898, 899
		w.drive(time.Minute)
		w.expect("m1", w.end("m1").State, routing.Accepted)
		w.expect("m2", w.end("m2").Reason, routing.ReasonReceiveCount)
	})
	onRig(t, "an oversize message is not forwarded with a cut envelope", func(w *rig) {
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

// TestDeadMessageIsBuriedWithoutAReceiveCount: who gave it up died before it was buried, and the queue says of no message
// how often it was handed out.
func TestDeadMessageIsBuriedWithoutAReceiveCount(t *testing.T) {
	onRig(t, "the receipt alone tells", func(w *rig) {
		w.send("m1")
		id := routing.ID{Group: "couriers", Message: "m1"}
		kill := routing.Move{ID: id, Kind: routing.Kill, Token: "t", At: time.Now(), Reason: routing.ReasonMaxWait}
		if _, err := w.receipts.Write(w.Context(), kill); err != nil {
			w.Fatal(err)
		}
		batch := w.receive()
		batch[0].Receives = 0
		w.invoke(batch)
		w.end("m1")
	})
}
