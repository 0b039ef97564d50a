package bounded_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/landfall-dev/landfall/internal/bounded"
)

func TestCallReturnsWhenTheCallHangsOrPanics(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		call func(context.Context) string
		want string
		took time.Duration
	}{
		{"answers", func(context.Context) string { return "answer" }, "answer", 0},
		{"panics", func(context.Context) string { panic("at the disco") }, "", 0},
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
			got, panicked := bounded.Call(t.Context(), began.Add(time.Minute), "silent", c.call)
			if took := time.Since(began); got != c.want || took != c.took || (panicked != nil) != (c.name == "panics") {
				t.Errorf("%s: %q after %v, want %q after %v", c.name, got, took, c.want, c.took)
			}
			time.Sleep(time.Hour) // the call ends, too, without harm
		})
	}
}

type secretValue struct{ text string }

//go:noinline
func panicsWith(v secretValue, key [3]byte, amount int) string { panic(v) }

func TestAPanicIsKnownByItsTypeAndStackWithoutAnyValue(t *testing.T) {
	t.Parallel()
	_, panicked := bounded.Call(t.Context(), time.Now().Add(time.Minute), "", func(context.Context) string {
		return panicsWith(secretValue{"at the disco"}, [3]byte{0xca, 0xfe, 0x42}, 0xdecaf)
	})
	if panicked == nil || panicked.Type != "bounded_test.secretValue" || len(panicked.Stack) < 2 ||
		!regexp.MustCompile(`^\S+/internal/bounded_test\.panicsWith bounded_test\.go:\d+$`).MatchString(panicked.Stack[0]) {
		t.Fatalf("%+v", panicked)
	}
	for _, value := range []string{"disco", "0xca", "decaf"} {
		if strings.Contains(fmt.Sprint(*panicked), value) {
			t.Errorf("%s is in %v", value, *panicked)
		}
	}
}

func TestAPauseEndsWithItsContext(t *testing.T) {
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
