package devstack

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/landfall-dev/landfall/internal/bounded"
)

// Bounds of a Schedule: targets per rule
// (https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-quota.html), and what an
// asynchronous invocation may be given
// (https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-error-handling.html).
const (
	MaxTargets      = 5
	MaxRetries      = 2
	DefaultEventAge = time.Minute
	MaxEventAge     = 6 * time.Hour
)

// Schedule is an EventBridge rule of the rate kind and what it invokes, asynchronously.
type Schedule struct {
	// Every is the rule's rate. EventBridge's shortest is a minute; here it may be shorter. The first
	// event comes after this time. Invocations that take longer run at the same time, as far as the
	// function's concurrency allows.
	Every time.Duration

	// Function is the name of the function that is invoked.
	Function string

	// Inputs holds one constant input, a JSON text, per target of the rule, at most MaxTargets: each
	// is invoked every time. None stands for a single target that gets EventBridge's own event.
	Inputs []json.RawMessage

	// MaxAge is how long an event that finds no room is tried again before it is dropped. Defaults to
	// DefaultEventAge, which is the shortest that Lambda accepts; here it may be shorter.
	MaxAge time.Duration

	// Retries is how often an event is repeated that the function failed on, at most MaxRetries.
	Retries int

	// Rule is the rule's name, part of the event.
	Rule string
}

// Schedule starts a schedule. It ends when ctx does, or with the stack; invocations that it has
// begun go on.
func (s *Stack) Schedule(ctx context.Context, sched Schedule) error {
	sched.MaxAge = cmp.Or(sched.MaxAge, DefaultEventAge)
	if err := s.checkSchedule(sched); err != nil {
		return fmt.Errorf("schedule %s: %w", sched.Rule, err)
	}
	q := &eventQueue{
		invoke: func(ctx context.Context, payload []byte) (Result, error) {
			return s.Invoke(ctx, sched.Function, payload)
		},
		drop: func(reason string) {
			s.out.printf(sched.Function, "event of rule %s dropped: %s", sched.Rule, reason)
		},
		retries: sched.Retries,
		maxAge:  sched.MaxAge,
	}
	if !s.launch(ctx, func(ctx context.Context) {
		sched.run(ctx, func(payload []byte) {
			s.spawn(&s.background, func() { q.deliver(s.ctx, payload) })
		}, s.region)
	}) {
		return fmt.Errorf("schedule %s: %w", sched.Rule, ErrStopped)
	}
	return nil
}

func (s *Stack) checkSchedule(sched Schedule) error {
	switch {
	case s.pools[sched.Function] == nil:
		return ErrUnknownFunction
	case sched.Rule == "":
		return errors.New("rule is missing: give the rule's name")
	case sched.Every <= 0:
		return fmt.Errorf("rate %v is not positive", sched.Every)
	case len(sched.Inputs) > MaxTargets:
		return fmt.Errorf("%d targets: a rule has at most %d", len(sched.Inputs), MaxTargets)
	case sched.Retries < 0 || sched.Retries > MaxRetries:
		return fmt.Errorf("%d retries: want 0 to %d", sched.Retries, MaxRetries)
	case sched.MaxAge < 0 || sched.MaxAge > MaxEventAge:
		return fmt.Errorf("event age %v is not within 0 to %v", sched.MaxAge, MaxEventAge)
	}
	for i, input := range sched.Inputs {
		if !json.Valid(input) {
			return fmt.Errorf("input %d is not valid JSON", i)
		}
	}
	return nil
}

// run calls send for every target, each time that the rule fires, until ctx ends.
func (sched Schedule) run(ctx context.Context, send func(payload []byte), region string) {
	ticker := time.NewTicker(sched.Every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			if ctx.Err() != nil { // both were ready
				return
			}
			if len(sched.Inputs) == 0 {
				send(scheduledEvent(sched.Rule, region, now))
			}
			for _, input := range sched.Inputs {
				send(input)
			}
		}
	}
}

// scheduledEvent returns the event that EventBridge makes when a rule of that name fires
// (https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-events-structure.html).
func scheduledEvent(rule, region string, now time.Time) []byte {
	return compact(struct {
		Version    string   `json:"version"`
		ID         string   `json:"id"`
		DetailType string   `json:"detail-type"`
		Source     string   `json:"source"`
		Account    string   `json:"account"`
		Time       string   `json:"time"`
		Region     string   `json:"region"`
		Resources  []string `json:"resources"`
		Detail     struct{} `json:"detail"`
	}{
		Version:    "0",
		ID:         newUUID(),
		DetailType: "Scheduled Event",
		Source:     "aws.events",
		Account:    Account,
		Time:       now.UTC().Format("2006-01-02T15:04:05Z"),
		Region:     region,
		Resources:  []string{fmt.Sprintf("arn:aws:events:%s:%s:rule/%s", region, Account, rule)},
	})
}

// eventQueue is the part of Lambda that runs asynchronous invocations: no caller waits for the answer,
// so it decides what is repeated and what is dropped.
type eventQueue struct {
	invoke  func(ctx context.Context, payload []byte) (Result, error)
	drop    func(reason string)
	retries int
	maxAge  time.Duration
}

// Between repetitions of an event that found no room the queue waits 1 s, doubling up to 5 min;
// between those of an event that the function failed on, 1 min, then 2 min.
const (
	firstThrottleWait = time.Second
	maxThrottleWait   = 5 * time.Minute
	failureWait       = time.Minute
)

// deliver runs one event until it is done with: handled, dropped, or ctx is over.
func (q *eventQueue) deliver(ctx context.Context, payload []byte) {
	arrived := time.Now()
	throttleWait := firstThrottleWait
	failures := 0
	for {
		result, err := q.invoke(ctx, payload)
		var wait time.Duration
		var trouble string
		switch {
		case err == nil && result.FunctionError == "", ctx.Err() != nil, errors.Is(err, ErrStopped):
			return
		case errors.Is(err, ErrThrottled):
			wait, trouble = throttleWait, "throttled"
			throttleWait = min(2*throttleWait, maxThrottleWait)
		case err != nil:
			q.drop(err.Error())
			return
		case failures == q.retries:
			q.drop(fmt.Sprintf("the function failed %d times, %s", failures+1, result.ErrorType()))
			return
		default:
			failures++
			wait, trouble = time.Duration(failures)*failureWait, result.ErrorType()
		}
		left := q.maxAge - time.Since(arrived)
		if !bounded.Pause(ctx, min(wait, left)) {
			return
		}
		if left <= wait {
			q.drop(fmt.Sprintf("older than %v, %s", q.maxAge, trouble))
			return
		}
	}
}
