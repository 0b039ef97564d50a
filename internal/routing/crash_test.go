package routing_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/landfall-dev/landfall/internal/routing"
)

// faults stands between a router and its ports, counts the calls and spoils some.
type faults struct {
	*rig
	mu    sync.Mutex
	calls int
	// cut is the call after which the process is dead: none after it has any effect. 0: it lives.
	cut int
	// lost are the calls whose effect happens and whose answer is lost.
	lost map[int]bool
	// failed are the calls that fail without effect.
	failed map[int]bool
}

var errDead = errors.New("no answer")

// call makes a call, unless the process is dead, and reports whether its answer arrives.
func (f *faults) call(do func()) (answered bool) {
	f.mu.Lock()
	f.calls++
	n := f.calls
	failed, lost := f.cut > 0 && n > f.cut || f.failed[n], f.lost[n]
	f.mu.Unlock()
	if failed {
		return false
	}
	do()
	return !lost
}

func (f *faults) Get(ctx context.Context, id routing.ID) (receipt routing.Receipt, err error) {
	if !f.call(func() { receipt, err = f.receipts.Get(ctx, id) }) {
		return routing.Receipt{}, errDead
	}
	return receipt, err
}

func (f *faults) Write(ctx context.Context, m routing.Move) (receipt routing.Receipt, err error) {
	if !f.call(func() { receipt, err = f.receipts.Write(ctx, m) }) {
		return routing.Receipt{}, errDead
	}
	return receipt, err
}

func (f *faults) Snapshot(ctx context.Context, group string) (s routing.Snapshot, err error) {
	if !f.call(func() { s, err = f.groups.Snapshot(ctx, group) }) {
		return routing.Snapshot{}, errDead
	}
	return s, err
}

func (f *faults) Hold(ctx context.Context, holds []routing.Hold) (errs []error) {
	if !f.call(func() { errs = f.rig.Hold(ctx, holds) }) {
		return nil
	}
	return errs
}

func (f *faults) Delete(ctx context.Context, messages []routing.Incoming) (errs []error) {
	if !f.call(func() { errs = f.rig.Delete(ctx, messages) }) {
		return nil
	}
	return errs
}

func (f *faults) Forward(ctx context.Context, forwards []routing.Forward) (answers []routing.Answer) {
	if !f.call(func() { answers = f.rig.Forward(ctx, forwards) }) {
		return nil
	}
	return answers
}

func (f *faults) Bury(ctx context.Context, letters []routing.DeadLetter) (errs []error) {
	if !f.call(func() { errs = f.rig.Bury(ctx, letters) }) {
		return nil
	}
	return errs
}

// between makes the world's router talk through the faults; a process that died is followed by a new one.
func (f *faults) between() *routing.Router {
	return &routing.Router{Receipts: f, Groups: f, Ingress: f, Forwarder: f, DeadLetters: f}
}

// scenarios are the ways of a message that every crash is tried on.
var scenarios = map[string]struct {
	set  func(w *rig)
	ends []routing.State
}{
	"accepted at once": {func(w *rig) { w.consumer("a", w.accepts(time.Second)); w.consumer("b", w.accepts(time.Second)) },
		[]routing.State{routing.Accepted}},
	"lapsed, declined, refused, errored, accepted": {func(w *rig) {
		w.consumer("a", w.ignores())
		w.consumer("b", w.declines())
		w.consumer("c", refuses())
		w.consumer("d", answers(routing.Answer{Kind: routing.Failed}))
		w.consumer("e", w.accepts(time.Second))
		w.consumer("f", w.accepts(time.Second))
	}, []routing.State{routing.Accepted}},
	"a zombie accepts after the reroute": {func(w *rig) {
		w.consumer("a", w.worker(func(f routing.Forward) { pass(40 * time.Second); _ = w.accept(f) }))
		w.consumer("b", w.worker(func(f routing.Forward) { pass(40 * time.Second); _ = w.accept(f) }))
		w.consumer("c", w.accepts(time.Second))
		w.consumer("d", w.accepts(time.Second))
	}, []routing.State{routing.Accepted}},
	"extended, then accepted": {func(w *rig) {
		w.consumer("a", w.worker(func(f routing.Forward) { pass(100 * time.Second); _ = w.accept(f) }))
	}, []routing.State{routing.Accepted}},
	"everybody declines": {func(w *rig) { w.consumer("a", w.declines()); w.consumer("b", w.declines()) },
		[]routing.State{routing.Dead}},
	"nobody ever accepts": {func(w *rig) {
		w.policy.MaxWait = 2 * time.Minute
		w.consumer("a", w.ignores())
		w.consumer("b", w.ignores())
	},
		[]routing.State{routing.Dead}},
	"nobody there": {func(w *rig) { w.policy.MaxWait = 20 * time.Second }, []routing.State{routing.Dead}},
	"on delivery: refused, delivered": {func(w *rig) {
		w.policy.Accept = routing.OnDelivery
		w.consumer("a", refuses())
		w.consumer("b", w.ignores())
		w.consumer("c", w.ignores())
	}, []routing.State{routing.Accepted, routing.Dead}},
	"on delivery: delivered, and nobody hears of it": {func(w *rig) {
		w.policy.Accept, w.policy.MaxWait = routing.OnDelivery, 2*time.Minute
		w.consumer("a", w.takesSilently(w.ignores()))
		w.consumer("b", w.ignores())
	}, []routing.State{routing.Dead}},
}

// runScenario plays a scenario with faults and checks that the message comes to exactly one end. It returns
// how many calls of ports that took.
func runScenario(t *testing.T, name, what string, visibility time.Duration, f *faults) (calls int) {
	synctest.Test(t, func(t *testing.T) {
		w := newRig(t)
		w.visibility, f.rig = visibility, w
		s := scenarios[name]
		s.set(w)
		w.function(first{})
		w.send("m1", "m2")
		w.router = f.between()
		for until := time.Now().Add(3 * time.Hour); f.cut > f.calls && time.Now().Before(until); { // up to the crash
			if batch := w.receive(); len(batch) > 0 {
				w.invoke(batch)
			}
			if _, left := w.next(); left == 0 {
				break
			}
			pass(time.Second)
		}
		if f.cut > 0 {
			w.router = w.newRouter()
		}
		w.drive(3 * time.Hour)
		w.working.Wait()
		for _, m := range []string{"m1", "m2"} {
			r := w.end(m)
			if r.State != s.ends[0] && r.State != s.ends[len(s.ends)-1] {
				t.Errorf("%s is %s (%s), want %v", m, r.State, r.Reason, s.ends)
			}
		}
		if t.Failed() {
			t.Errorf("scenario %q, %s", name, what)
		}
		calls = f.calls
	})
	return calls
}

func TestCrashBetweenStepsKeepsOneEnd(t *testing.T) {
	t.Parallel()
	for name := range scenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, visibility := range []time.Duration{3 * time.Second, 6 * time.Minute} { // back before, or long after any deadline
				calls := runScenario(t, name, "no fault", visibility, &faults{})
				for cut := 1; cut <= calls && !t.Failed(); cut++ {
					runScenario(t, name, fmt.Sprintf("dead after call %d", cut), visibility, &faults{cut: cut})
				}
			}
		})
	}
}

func TestFailedCallOrLostAnswerKeepsOneEnd(t *testing.T) {
	t.Parallel()
	for name := range scenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const visibility = 3 * time.Second
			calls := runScenario(t, name, "no fault", visibility, &faults{})
			for one := 1; one <= calls && !t.Failed(); one++ {
				runScenario(t, name, fmt.Sprintf("answer %d lost", one), visibility, &faults{lost: map[int]bool{one: true}})
				runScenario(t, name, fmt.Sprintf("call %d failed", one), visibility, &faults{failed: map[int]bool{one: true}})
				other := one + 1 + (one*7)%5
				runScenario(t, name, fmt.Sprintf("answers %d and %d lost", one, other), visibility,
					&faults{lost: map[int]bool{one: true, other: true}})
				runScenario(t, name, fmt.Sprintf("answer %d lost, dead after %d", one, other), visibility,
					&faults{lost: map[int]bool{one: true}, cut: other})
				many := map[int]bool{} // a store that is down for a while, retries included
				for n := one; n < one+6; n++ {
					many[n] = true
				}
				runScenario(t, name, fmt.Sprintf("calls %d to %d failed", one, one+5), visibility, &faults{failed: many})
				runScenario(t, name, fmt.Sprintf("answers %d to %d lost", one, one+5), visibility, &faults{lost: many})
			}
		})
	}
}

func TestLostAnswerOfAWriteCausesNoDelay(t *testing.T) {
	onRig(t, "assignment", func(w *rig) {
		w.consumer("a", w.accepts(0))
		w.send("m1")
		f := &faults{rig: w, lost: map[int]bool{2: true}} // after the snapshot
		w.router = f.between()
		if h := w.invoke(w.receive())[0]; h.Err != nil || h.Forwards != 1 {
			t.Errorf("%+v", h)
		}
	})
}

func TestBatchSharesCalls(t *testing.T) {
	onRig(t, "ten messages", func(w *rig) {
		w.consumer("a", w.ignores())
		w.consumer("b", w.accepts(0))
		for i := range 10 {
			w.send(fmt.Sprint("m", i))
		}
		calls := func(want int, what string) {
			f := &faults{rig: w}
			w.router = f.between()
			w.invoke(w.receive())
			w.expect("calls for "+what, f.calls, want)
		}
		calls(1+10+1+1, "a first try: a snapshot, the receipts, a hold, a forward")
		pass(31 * time.Second)
		calls(1+10+10+1+1, "a reroute: besides, a reading of each receipt")
		w.working.Wait()
		for i := range 10 {
			w.end(fmt.Sprint("m", i))
		}
	})
}
