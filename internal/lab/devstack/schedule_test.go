package devstack

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// A rule fires after each interval, for every target, and events that take longer overlap.
func TestScheduleDoesNotWaitForItsOwnEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sched := Schedule{Every: time.Minute, Inputs: []json.RawMessage{[]byte(`{"part":0,"of":2}`), []byte(`{"part":1,"of":2}`)}}
		began := time.Now()
		var sent []string
		send := func(payload []byte) {
			sent = append(sent, fmt.Sprintf("%v %s", time.Since(began), payload))
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			sched.run(ctx, send, "eu-central-1")
		}()
		time.Sleep(2*time.Minute + time.Second) // virtual
		cancel()
		<-done
		want := []string{
			`1m0s {"part":0,"of":2}`, `1m0s {"part":1,"of":2}`,
			`2m0s {"part":0,"of":2}`, `2m0s {"part":1,"of":2}`,
		}
		if !slices.Equal(sent, want) {
			t.Errorf("sent %q", sent)
		}
	})
}

// What the queue does with an event, by what its invocations answer.
func TestEventIsNotRepeatedBeyondItsRetriesAndAge(t *testing.T) {
	t.Parallel()
	failed := Result{FunctionError: Unhandled, Payload: []byte(`{"errorType":"Broken"}`)}
	throttled := fmt.Errorf("invoke fn: %w", ErrThrottled)
	type answer struct {
		result Result
		err    error
	}
	for name, c := range map[string]struct {
		retries int
		age     time.Duration
		answers []answer // the last one is repeated
		calls   string   // when
		dropped string   // when and why
	}{
		"handled":                  {2, time.Minute, []answer{{}}, "[0s]", ""},
		"failed, no retries":       {0, time.Minute, []answer{{result: failed}}, "[0s]", "0s the function failed 1 times, Broken"},
		"failed, one retry":        {1, time.Hour, []answer{{result: failed}}, "[0s 1m0s]", "1m0s the function failed 2 times, Broken"},
		"failed, two retries":      {2, time.Hour, []answer{{result: failed}}, "[0s 1m0s 3m0s]", "3m0s the function failed 3 times, Broken"},
		"failed, then handled":     {2, time.Hour, []answer{{result: failed}, {}}, "[0s 1m0s]", ""},
		"failed, too old to retry": {2, time.Minute, []answer{{result: failed}}, "[0s]", "1m0s older than 1m0s, Broken"},
		"throttled for ever":       {0, time.Minute, []answer{{err: throttled}}, "[0s 1s 3s 7s 15s 31s]", "1m0s older than 1m0s, throttled"},
		"throttled, then room":     {0, time.Minute, []answer{{err: throttled}, {err: throttled}, {}}, "[0s 1s 3s]", ""},
		"throttled, then failed":   {0, time.Minute, []answer{{err: throttled}, {result: failed}}, "[0s 1s]", "1s the function failed 1 times, Broken"},
		"refused":                  {2, time.Minute, []answer{{err: ErrInvalidRequest}}, "[0s]", "0s request is not valid JSON"},
		"stopped":                  {2, time.Minute, []answer{{err: ErrStopped}}, "[0s]", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var calls []time.Duration
				var dropped string
				q := eventQueue{
					retries: c.retries, maxAge: c.age,
					drop: func(reason string) { dropped = fmt.Sprintf("%v %s", time.Since(began), reason) },
					invoke: func(context.Context, []byte) (Result, error) {
						a := c.answers[min(len(calls), len(c.answers)-1)]
						calls = append(calls, time.Since(began))
						return a.result, a.err
					},
				}
				q.deliver(t.Context(), nil)
				if got := fmt.Sprint(calls); got != c.calls || dropped != c.dropped {
					t.Errorf("calls at %s, dropped %q", got, dropped)
				}
			})
		})
	}
}

func TestWaitingEventDoesNotHoldUpTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		began := time.Now()
		q := eventQueue{
			maxAge: time.Minute,
			drop:   func(reason string) { t.Errorf("dropped: %s", reason) },
			invoke: func(context.Context, []byte) (Result, error) { return Result{}, ErrThrottled },
		}
		q.deliver(ctx, nil)
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// The sample event, the schedule's own and the type of the runtime library agree on the shape.
func TestScheduledEventIsEventBridges(t *testing.T) {
	t.Parallel()
	sample, err := os.ReadFile("../../../events/dispatch.json")
	if err != nil {
		t.Fatal(err)
	}
	made := scheduledEvent("landfall-dispatch", "eu-central-1", time.Date(2026, 3, 14, 10, 26, 0, 123, time.FixedZone("", 3600)))
	var fromSample, fromMade map[string]any
	for text, into := range map[*[]byte]*map[string]any{&sample: &fromSample, &made: &fromMade} {
		if err := json.Unmarshal(*text, into); err != nil {
			t.Fatal(err)
		}
		strict := json.NewDecoder(strings.NewReader(string(*text)))
		strict.DisallowUnknownFields()
		var e events.EventBridgeEvent
		if err := strict.Decode(&e); err != nil {
			t.Error(err)
		}
	}
	if fromSample["id"] == fromMade["id"] {
		t.Error("the id repeats")
	}
	delete(fromSample, "id")
	delete(fromMade, "id")
	if !reflect.DeepEqual(fromSample, fromMade) {
		t.Errorf("sample %v\nmade   %v", fromSample, fromMade)
	}
}

func TestScheduledFunctionIsInvoked(t *testing.T) {
	t.Parallel()
	b := setup(t, Function{Concurrency: 1})
	g := newGate(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	err := b.Schedule(ctx, Schedule{
		Rule: "often", Function: "fn", Every: 10 * time.Millisecond, MaxAge: time.Millisecond,
		Inputs: []json.RawMessage{fmt.Appendf(nil, `{"url":%q}`, g.URL)},
	})
	if err != nil {
		t.Fatal(err)
	}
	g.await(t, 1) // the others find no room, and are dropped
	g.letThrough()
	g.await(t, 3)
	cancel()
	b.Stop(context.Background())
	for _, line := range b.log.lines() {
		if line != "" && line != "[fn] event of rule often dropped: older than 1ms, throttled" {
			t.Errorf("log says %q", line)
		}
	}
}

func TestWrongSchedulesAreNotStarted(t *testing.T) {
	t.Parallel()
	b := setup(t, Function{})
	good := Schedule{Rule: "r", Function: "fn", Every: time.Hour}
	for name, c := range map[string]struct {
		change func(*Schedule)
		want   string
	}{
		"unknown function": {func(s *Schedule) { s.Function = "other" }, ErrUnknownFunction.Error()},
		"no rule":          {func(s *Schedule) { s.Rule = "" }, "rule is missing: give the rule's name"},
		"no rate":          {func(s *Schedule) { s.Every = 0 }, "rate 0s is not positive"},
		"six targets":      {func(s *Schedule) { s.Inputs = make([]json.RawMessage, 6) }, "at most 5"},
		"input not JSON":   {func(s *Schedule) { s.Inputs = []json.RawMessage{[]byte(`{}`), []byte(`{`)} }, "input 1 is not valid JSON"},
		"three retries":    {func(s *Schedule) { s.Retries = 3 }, "3 retries"},
		"negative age":     {func(s *Schedule) { s.MaxAge = -1 }, "event age"},
		"age of a day":     {func(s *Schedule) { s.MaxAge = 24 * time.Hour }, "event age 24h0m0s"},
	} {
		sched := good
		c.change(&sched)
		if err := b.Schedule(context.Background(), sched); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if err := b.Schedule(context.Background(), good); err != nil {
		t.Error(err)
	}
}

func TestEndedScheduleDoesNotFire(t *testing.T) {
	t.Parallel()
	b := setup(t, Function{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := b.Schedule(ctx, Schedule{Rule: "r", Function: "fn", Every: time.Nanosecond}); err != nil {
		t.Fatal(err)
	}
	b.background.Wait()
	if n := b.count(); n != 0 {
		t.Errorf("%d processes were started", n)
	}
}
