// Package bounded makes calls and waits that end in time, even if the callee hangs.
package bounded

import (
	"context"
	"time"
)

// grace is for a call to notice that its time is over and to say what it knows.
const grace = time.Second

// Call makes a call that is given until a deadline. It returns when the call does, or a second after its time if
// the call does not return: then the answer is silent. A panic is answered by panicked.
func Call[T any](ctx context.Context, deadline time.Time, panicked, silent T, call func(context.Context) T) T {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	answer := make(chan T, 1)
	go func() {
		defer func() {
			if recover() != nil {
				answer <- panicked
			}
		}()
		answer <- call(ctx)
	}()
	select {
	case got := <-answer:
		return got
	case <-ctx.Done():
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case got := <-answer:
		return got
	case <-timer.C:
		return silent
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
