package devstack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestIdleProcessIsReused(t *testing.T) {
	t.Parallel()
	b := setup(t, Function{Concurrency: 1, Timeout: time.Minute})
	first := b.ask(event{Text: "héllo"})
	for range 20 { // with a concurrency of 1, none may find the process still busy
		if again := b.ask(event{}); again.PID != first.PID {
			t.Fatalf("process %d served first, %d later", first.PID, again.PID)
		}
	}
	if first.Text != "héllo" {
		t.Errorf("event arrived as %q", first.Text)
	}
	if first.ARN != "arn:aws:lambda:eu-central-1:123456789012:function:fn" {
		t.Errorf("function ARN %s", first.ARN)
	}
	if first.LeftMS < 50_000 || first.LeftMS > 60_000 {
		t.Errorf("%d ms left at the start of an invocation of a minute", first.LeftMS)
	}
	if !regexp.MustCompile(`^Root=1-[0-9a-f]{8}-[0-9a-f]{24};Parent=[0-9a-f]{16};Sampled=0$`).MatchString(first.Trace) {
		t.Errorf("trace header %q", first.Trace)
	}
	if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(first.RequestID) {
		t.Errorf("request id %q is no UUID", first.RequestID)
	}
}

// What the function does wrong, what Lambda says to that, and that it does not spoil the next one.
func TestFailureIsReportedAndEndsItsProcessOnly(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		event     event
		errorType string
		message   string
		survives  bool // the process
	}{
		"error": {event{Do: "error"}, "errorString", `^refused on purpose$`, true},
		"panic": {event{Do: "panic"}, "string", `^on purpose$`, false},
		"exit":  {event{Do: "exit"}, "Runtime.ExitError", `^RequestId: \S{36} Error: Runtime exited with error: exit status 7$`, false},
		"exit without a reason": {event{Do: "exit-0"}, "Runtime.ExitError",
			`^RequestId: \S{36} Error: Runtime exited without providing a reason$`, false},
		"answer too large": {event{Do: "large", Size: MaxResponse + 1}, "Function.ResponseSizeTooLarge",
			`^Response payload size exceeded maximum allowed payload size \(6291556 bytes\)\.$`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, Function{Concurrency: 1})
			before := b.ask(event{})
			result := b.invoke(c.event)
			var body struct{ ErrorMessage string }
			if err := json.Unmarshal(result.Payload, &body); err != nil {
				t.Fatal(err)
			}
			if result.FunctionError != Unhandled || result.ErrorType() != c.errorType ||
				!regexp.MustCompile(c.message).MatchString(body.ErrorMessage) {
				t.Errorf("got %q, type %q: %s", result.FunctionError, result.ErrorType(), result.Payload)
			}
			if after := b.ask(event{}); after.PID == before.PID != c.survives {
				t.Errorf("process %d before, %d after; survives should be %v", before.PID, after.PID, c.survives)
			}
		})
	}
}

func TestHungFunctionIsKilledAtItsTimeout(t *testing.T) {
	t.Parallel()
	b := setup(t, Function{Concurrency: 1, Timeout: 700 * time.Millisecond})
	before := b.ask(event{})
	began := time.Now()
	result := b.invoke(event{Do: "hang"})
	took := time.Since(began)
	want := fmt.Sprintf(`{"errorMessage":"RequestId: %s Error: Task timed out after 0.70 seconds","errorType":"Sandbox.Timedout"}`, result.RequestID)
	if string(result.Payload) != want {
		t.Errorf("got  %s\nwant %s", result.Payload, want)
	}
	if took < 700*time.Millisecond || took > patience/2 {
		t.Errorf("it took %v", took)
	}
	if alive(before.PID) {
		t.Error("the process outlived its deadline")
	}
	if after := b.ask(event{}); after.PID == before.PID {
		t.Error("the same process served on")
	}
}

func TestLargestAnswerIsAccepted(t *testing.T) {
	t.Parallel()
	b := setup(t, Function{})
	if result := b.invoke(event{Do: "large", Size: MaxResponse}); len(result.Payload) != MaxResponse || result.FunctionError != "" {
		t.Errorf("%d bytes, %s", len(result.Payload), result.FunctionError)
	}
}

func TestInvocationsRunSideBySideUpToTheConcurrency(t *testing.T) {
	t.Parallel()
	const n = 3
	b := setup(t, Function{Concurrency: n})
	g := newGate(t)
	pids := make([]int, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { pids[i] = b.ask(event{URL: g.URL}).PID })
	}
	g.await(t, n)
	if running := b.running(); len(running) != n {
		t.Errorf("running: %v", running)
	}
	if _, err := b.Invoke(context.Background(), "fn", []byte(`{}`)); !errors.Is(err, ErrThrottled) {
		t.Errorf("one too many got %v", err)
	}
	g.letThrough()
	wg.Wait()
	slices.Sort(pids)
	if distinct := slices.Compact(slices.Clone(pids)); len(distinct) != n {
		t.Errorf("processes %v", pids)
	}
	if warm := b.ask(event{}); !slices.Contains(pids, warm.PID) {
		t.Error("an idle process was not used")
	}
	if running := b.running(); len(running) != 0 {
		t.Errorf("still running: %v", running)
	}
}

func TestKilledProcessDoesNothingMore(t *testing.T) {
	t.Parallel()
	b := setup(t, Function{Concurrency: 1})
	g := newGate(t)
	results := make(chan Result, 1)
	go func() { results <- b.invoke(event{URL: g.URL}) }()
	g.await(t, 1)
	victim := b.running()[0]
	if err := b.Kill(victim.id); err != nil {
		t.Fatal(err)
	}
	if alive(victim.pid) {
		t.Error("alive after Kill returned")
	}
	result := receive(t, results)
	want := fmt.Sprintf(`{"errorMessage":"RequestId: %s Error: Runtime exited with error: signal: killed","errorType":"Runtime.ExitError"}`, victim.id)
	if string(result.Payload) != want || result.FunctionError != Unhandled {
		t.Errorf("got  %s\nwant %s", result.Payload, want)
	}
	if next := b.ask(event{}); next.PID == victim.pid {
		t.Error("the dead process served on")
	}
	if err := b.Kill(victim.id); !errors.Is(err, ErrNotRunning) {
		t.Errorf("killed twice: %v", err)
	}
}

// running is an invocation under way.
type running struct {
	id  string
	pid int
}

// running lists the invocations under way.
func (b *bundle) running() (list []running) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, env := range b.Stack.running {
		env.mu.Lock()
		list = append(list, running{id, env.process.Pid})
		env.mu.Unlock()
	}
	return list
}

// count returns how many processes the stack keeps for its function.
func (b *bundle) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.pools["fn"].environments)
}

func TestProcessThatDiedIdleCostsNoInvocation(t *testing.T) {
	t.Parallel()
	b := setup(t, Function{Concurrency: 1})
	for range 10 {
		idle := b.ask(event{})
		if err := syscall.Kill(idle.PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		for b.count() > 0 {
			runtime.Gosched()
		}
		if next := b.ask(event{}); next.PID == idle.PID {
			t.Error("the dead process served on")
		}
	}
}

func TestBadRequestsAreRefusedBeforeTheFunction(t *testing.T) {
	t.Parallel()
	b := setup(t, Function{})
	for name, c := range map[string]struct {
		function string
		payload  []byte
		want     error
	}{
		"unknown function": {"other", nil, ErrUnknownFunction},
		"not JSON":         {"fn", []byte(`{"do":`), ErrInvalidRequest},
		"too large":        {"fn", []byte(`"` + strings.Repeat("x", MaxRequest-1) + `"`), ErrRequestTooLarge},
	} {
		if _, err := b.Invoke(context.Background(), c.function, c.payload); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if b.count() != 0 {
		t.Error("a process was started")
	}
	if result, err := b.Invoke(context.Background(), "fn", nil); err != nil || result.FunctionError != "" {
		t.Errorf("no payload: %s, %v", result.Payload, err)
	}
}

func TestFunctionRunsOnAfterItsCallerGaveUp(t *testing.T) {
	t.Parallel()
	b := setup(t, Function{Concurrency: 1})
	g := newGate(t)
	ctx, cancel := context.WithCancel(context.Background())
	errs := make(chan error, 1)
	go func() {
		_, err := b.Invoke(ctx, "fn", fmt.Appendf(nil, `{"url":%q}`, g.URL))
		errs <- err
	}()
	g.await(t, 1)
	pid := b.running()[0].pid
	cancel()
	if err := receive(t, errs); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	g.letThrough()
	b.Stop(context.Background()) // waits for it
	if strings.Contains(strings.Join(b.log.lines(), "\n"), "Error") {
		t.Errorf("process %d: %q", pid, b.log.lines())
	}
	if _, err := b.Invoke(ctx, "fn", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that gave up before got %v", err)
	}
}

func TestStoppedStackLeavesNothingBehind(t *testing.T) { // alone: it looks at all goroutines
	b := setup(t, Function{})
	g := newGate(t)
	results := make(chan Result, 1)
	go func() { results <- b.invoke(event{URL: g.URL}) }()
	g.await(t, 1)
	busy := b.running()[0].pid
	idle := b.ask(event{}).PID
	if err := b.Schedule(context.Background(), Schedule{Rule: "r", Function: "fn", Every: time.Hour}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	b.Stop(ctx)
	if result := receive(t, results); result.ErrorType() != "Runtime.ExitError" {
		t.Errorf("invocation under way got %s", result.Payload)
	}
	if alive(busy) || alive(idle) {
		t.Error("a process is left")
	}
	b.Stop(context.Background())
	if _, err := b.Invoke(context.Background(), "fn", nil); !errors.Is(err, ErrStopped) {
		t.Errorf("invoke: %v", err)
	}
	if err := b.Schedule(context.Background(), Schedule{Rule: "r", Function: "fn", Every: time.Hour}); !errors.Is(err, ErrStopped) {
		t.Errorf("schedule: %v", err)
	}
	// Handlers of cut connections may take a moment to notice.
	var stacks strings.Builder
	for deadline := time.Now().Add(patience); ; runtime.Gosched() {
		stacks.Reset()
		pprof.Lookup("goroutine").WriteTo(&stacks, 1)
		if strings.Count(stacks.String(), "devstack.") == strings.Count(stacks.String(), "devstack.Test") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("goroutines are left:\n%s", stacks.String())
		}
	}
}

func TestHugeLineIsPrintedInPieces(t *testing.T) {
	t.Parallel()
	b := setup(t, Function{})
	b.invoke(event{Do: "print", Size: 3*maxLine + 5})
	b.Stop(context.Background())
	total := 0
	var rest []string
	for _, line := range b.log.lines() {
		text, ok := strings.CutPrefix(line, "[fn] ")
		if !ok || len(text) > maxLine {
			t.Fatalf("line of %d bytes, begins %.20q", len(line), line)
		}
		if strings.HasPrefix(text, "aaaa") {
			total += len(text)
		} else {
			rest = append(rest, text)
		}
	}
	if total != 3*maxLine+5 {
		t.Errorf("%d bytes of the line arrived", total)
	}
	if want := []string{"after it", "no newline at the end"}; !slices.Equal(rest, want) {
		t.Errorf("then came %q", rest)
	}
}

// alive says whether a process is there; one that was killed and is not reaped yet counts.
func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }
