package routing_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/landfall-dev/landfall/internal/routing"
)

func TestTimeLeft(t *testing.T) {
	onRig(t, "a batch that cannot be finished is given back, not started", func(w *rig) {
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
	onRig(t, "a slow routing function does not eat up the time that consumers have to accept", func(w *rig) {
		w.consumer("a", w.accepts(0))
		w.function(function(func(context.Context, routing.Question) (string, error) { pass(4 * time.Second); return "a", nil }))
		for i := range 10 {
			w.send(fmt.Sprint("m", i))
		}
		w.invoke(w.receive())
		for _, f := range w.forwards {
			if left := time.Until(f.Envelope.Deadline); left < routing.DefaultAcceptTimeout {
				w.Errorf("%s was forwarded with %v left to accept it", f.Message.ID, left)
			}
		}
		w.expect("forwards", len(w.forwards), 10)
	})
	onRig(t, "a refusal without time for more is not followed by another choice", func(w *rig) {
		asked := 0
		w.function(function(func(_ context.Context, q routing.Question) (string, error) { asked++; return q.Candidates[0].ID, nil }))
		w.consumer("a", func(context.Context, routing.Forward) routing.Answer {
			pass(2 * time.Second)
			return routing.Answer{Kind: routing.NotTaken}
		})
		w.consumer("b", w.accepts(0))
		w.send("m1")
		ctx, cancel := context.WithTimeout(w.Context(), routing.DefaultReserve+time.Second)
		defer cancel()
		if h := w.router.Route(ctx, w.receive())[0]; asked != 1 || !h.Kept || h.Held < time.Second || h.Receipt.Attempt != 1 {
			w.Errorf("asked %d times: %+v", asked, h)
		}
		w.drive(time.Minute)
		w.end("m1")
	})
	onRig(t, "an invocation that is over begins nothing", func(w *rig) {
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
	onRig(t, "a message of a group that nobody configured stops no other and is not lost", func(w *rig) {
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
	onRig(t, "two copies of a message in one batch are not both forwarded", func(w *rig) {
		w.consumer("a", w.accepts(time.Second))
		w.consumer("b", w.accepts(time.Second))
		w.send("m1", "m1")
		w.queue[1].Handle = "copy"
		w.drive(time.Hour)
		w.expect("forwards", len(w.forwarded("m1")), 1)
		w.end("m1")
	})
	onRig(t, "a copy that arrives after the end brings nothing back", func(w *rig) {
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
	onRig(t, "what another router has taken is not held against a consumer", func(w *rig) {
		w.consumer("a", w.accepts(0), func(c *routing.Consumer) { c.MaxInFlight = 1 })
		w.send("m1", "m2")
		other := routing.Move{ID: routing.ID{Group: "couriers", Message: "m1"}, Kind: routing.Assign, Token: "other", At: time.Now(),
			Consumer: "z", Deadline: time.Now().Add(time.Minute)}
		if _, err := w.receipts.Write(w.Context(), other); err != nil {
			t.Fatal(err)
		}
		w.consumer("b", refuses())
		w.invoke(w.receive()) // m1 for a, but it is z's; m2 for b, which refuses
		w.expect("m2 forwarded to", w.forwarded("m2"), []string{"b", "a"})
	})
	onRig(t, "two routers with the same message do not both forward it (R6)", func(w *rig) {
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
	onRig(t, "an expired handle stops nothing (Q13, Q14)", func(w *rig) {
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
	onRig(t, "nothing of a message is printed with it", func(w *rig) {
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

func TestOutcomeListsReroutes(t *testing.T) {
	onRig(t, "no end is silent (R8)", func(w *rig) {
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

// stubborn is a store that refuses everything and says that nothing has changed.
type stubborn struct{ routing.Receipts }

func (s stubborn) Write(ctx context.Context, m routing.Move) (routing.Receipt, error) {
	receipt, err := s.Get(ctx, m.ID)
	if err != nil {
		return routing.Receipt{}, err
	}
	return routing.Receipt{}, &routing.RefusedError{Receipt: receipt}
}

func TestContradictoryStoreEndsTheRound(t *testing.T) {
	onRig(t, "assignment", func(w *rig) {
		w.consumer("a", w.accepts(0))
		w.send("m1")
		w.router.Receipts = stubborn{&w.receipts}
		h := w.invoke(w.receive())[0]
		if h.Err == nil || !h.Kept || h.Held < time.Second || h.Forwards != 0 {
			t.Errorf("%+v", h)
		}
	})
}
