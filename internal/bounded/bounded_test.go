package bounded_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/landfall-dev/landfall/internal/bounded"
)

func TestCallThatHangsOrPanicsReturnsInTime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		call func(context.Context) string
		want string
		took time.Duration
	}{
		{"answers", func(context.Context) string { return "answer" }, "answer", 0},
		{"panics", func(context.Context) string { panic("at the disco") }, "panicked", 0},
		{"notices", func(ctx context.Context) string {
			<-ctx.Done()
			return "noticed"
		}, "noticed", time.Minute},
		{"is late", func(context.Context) string {
			time.Sleep(time.Minute + time.Second/2)
			return "late"
		}, "late", time.Minute + time.Second/2},
		{"hangs", func(context.Context) string {
			time.Sleep(time.Hour)
			return "too late"
		}, "silent", time.Minute + time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			got := bounded.Call(t.Context(), began.Add(time.Minute), "panicked", "silent", c.call)
			if took := time.Since(began); got != c.want || took != c.took {
				t.Errorf("%s: %q after %v, want %q after %v", c.name, got, took, c.want, c.took)
			}
			time.Sleep(time.Hour) // the call ends, too, and disturbs no other
		})
	}
}

func TestPauseEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if whole := bounded.Pause(t.Context(), time.Minute); !whole || time.Since(began) != time.Minute {
			t.Errorf("%t after %v", whole, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if whole := bounded.Pause(ctx, time.Minute); whole || time.Since(began) != time.Minute+time.Second {
			t.Errorf("ended: %t after %v", whole, time.Since(began))
		}
		if bounded.Pause(ctx, 0) || !bounded.Pause(t.Context(), 0) {
			t.Error("a pause of no time does not tell whether ctx has ended")
		}
	})
}
