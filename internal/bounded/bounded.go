// Package bounded makes calls and waits that end in time, even if the callee hangs.
package bounded

import (
	"context"
	"fmt"
	"path"
	"runtime"
	"time"
)

// grace is for a call to notice that its time is over and to say what it knows.
const grace = time.Second

// Panic is what may be logged of a panic. Its value is not part of it: that may hold a payload or a secret.
type Panic struct {
	// Type is the Go type of the panic's value.
	Type string
	// Stack names the functions that were active, innermost first, as "<function> <file>:<line>"; at most 32. It has
	// no arguments.
	Stack []string
}

// Call makes a call that is given until a deadline. It returns when the call does, or a second after its time if
// the call does not return: then the answer is silent. After a panic of the call, panicked is set and the answer is
// of no use.
func Call[T any](ctx context.Context, deadline time.Time, silent T, call func(context.Context) T) (answer T, panicked *Panic) {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	type result struct {
		answer   T
		panicked *Panic
	}
	results := make(chan result, 1)
	go func() {
		defer func() {
			if value := recover(); value != nil {
				results <- result{panicked: &Panic{Type: fmt.Sprintf("%T", value), Stack: stack()}}
			}
		}()
		results <- result{answer: call(ctx)}
	}()
	select {
	case got := <-results:
		return got.answer, got.panicked
	case <-ctx.Done():
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case got := <-results:
		return got.answer, got.panicked
	case <-timer.C:
		return silent, nil
	}
}

// stack is that of the panic that is being recovered from. [runtime/debug.Stack] has the arguments, too, in hex words:
// a payload's bytes may be among them.
func stack() (calls []string) {
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(0, pcs)])
	for panicking := false; ; {
		frame, more := frames.Next()
		if panicking {
			calls = append(calls, fmt.Sprintf("%s %s:%d", frame.Function, path.Base(frame.File), frame.Line))
		}
		if panicking = panicking || frame.Function == "runtime.gopanic"; !more {
			return calls
		}
	}
}

// Pause waits, and reports whether ctx did not end meanwhile.
func Pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
