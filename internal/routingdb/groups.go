package routingdb

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/schema"
)

// Spec is a group as its configuration has it.
type Spec struct {
	Policy   routing.Policy
	Function routing.Function
	// Consumers are those of the configuration. Their Target is "sqs:" or "lambda:" and a name or ARN.
	Consumers []routing.Consumer
}

// Groups implements [routing.Groups]. Its fields are set before its first use; it is safe for concurrent use.
type Groups struct {
	Specs   map[string]Spec
	Control *Control
	// Queues reads the loads of the consumers' queues. If it is nil, only what a batch forwards counts as in flight.
	Queues Loads
	// Function makes the routing function of a route.
	Function func(Route) (routing.Function, error)
	// Log receives what cannot be read, for each group at most once a minute. Defaults to slog.Default().
	Log *slog.Logger

	mu       sync.Mutex
	reported map[string]time.Time
}

var _ routing.Groups = (*Groups)(nil)

// Loads reads how busy queues are. With an error it may return the load that was read last.
type Loads interface {
	Load(ctx context.Context, queue string) (routing.Load, error)
}

// Bounds of asking for loads.
const (
	// loadTimeout bounds the asking for a snapshot; a routing function can do without.
	loadTimeout = 2 * time.Second
	// asking is how many queues are asked at a time.
	asking = 16
)

// Snapshot implements [routing.Groups]: the configuration with the changes of the control table, and the loads of the
// queues. The control table can drain a consumer of the configuration and change nothing else about it. A queue that does
// not answer counts with its last load, at first as idle.
func (g *Groups) Snapshot(ctx context.Context, group string) (routing.Snapshot, error) {
	spec, found := g.Specs[group]
	if !found {
		return routing.Snapshot{}, routing.ErrNoGroup
	}
	overrides, err := g.Control.Read(ctx, group)
	if err != nil {
		return routing.Snapshot{}, err
	}
	function, err := g.function(spec, overrides.Route)
	consumers := overrides.Consumers(spec.Consumers)
	problems := append(append(overrides.Problems, err), g.loads(ctx, consumers, time.Now())...)
	g.report(ctx, group, errors.Join(problems...))
	return routing.Snapshot{Group: routing.NewGroup(group, consumers...), Policy: spec.Policy, Function: function}, nil
}

// Consumers returns the consumers of a group, ordered by id: those of the configuration, drained if their item says so,
// and those that joined. An item under the id of a configured consumer is about that consumer. A consumer that joined with
// the target of another one gets no new messages, and is one of the Problems: a message that moved on from one would come
// back to it as the other. Of two that joined with one target, this is the later one by id.
func (o *Overrides) Consumers(configured []routing.Consumer) []routing.Consumer {
	group, now := routing.NewGroup("", configured...), time.Now()
	for _, m := range o.Members {
		static, found := group.Consumer(m.Consumer.ID)
		switch {
		case found:
			static.Draining = static.Draining || m.Consumer.Draining
			group = group.With(static)
		case m.Consumer.Target != "":
			if twin := holder(group.Consumers(), m.Consumer.Target, now); twin != "" {
				m.Consumer.Draining = true
				o.Problems = append(o.Problems, fmt.Errorf("member %s gets no messages: its target is, or may be, that of %s", m.Consumer.ID, twin))
			}
			group = group.With(m.Consumer)
		}
	}
	return group.Consumers()
}

// holder is the id of the member that has a target, "" if none has.
func holder(consumers []routing.Consumer, target string, now time.Time) string {
	for _, c := range consumers {
		if routing.SameTarget(c.Target, target) && (c.LeaseUntil.IsZero() || now.Before(c.LeaseUntil)) {
			return c.ID
		}
	}
	return ""
}

// function returns the routing function. If a stored route cannot be made, no function routes: the configuration's was
// replaced.
func (g *Groups) function(spec Spec, route *Route) (routing.Function, error) {
	if route == nil {
		return spec.Function, nil
	}
	if route.Invalid != nil {
		return unmade{route.Invalid}, nil // it is among the problems
	}
	f, err := routing.Function(nil), errors.New("Groups.Function is not set")
	if g.Function != nil {
		f, err = g.Function(*route)
	}
	if err != nil {
		err = fmt.Errorf("make the stored route: %w", err)
		return unmade{err}, err
	}
	return f, nil
}

// unmade is a routing function that does not exist.
type unmade struct{ why error }

func (unmade) Hash() string { return "" }

func (u unmade) Select(context.Context, routing.Question) (string, error) {
	return "", &routing.EvaluationError{Failure: routing.NotStarted, Cause: u.why}
}

// loads fills in the loads of live consumers.
func (g *Groups) loads(ctx context.Context, consumers []routing.Consumer, now time.Time) []error {
	if g.Queues == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	problems := make([]error, len(consumers))
	slots := make(chan struct{}, asking)
	var all sync.WaitGroup
	for i := range consumers {
		c := &consumers[i]
		queue, behindQueue := strings.CutPrefix(c.Target, schema.TargetSQS+":")
		if !behindQueue || c.Draining || !c.LeaseUntil.IsZero() && !now.Before(c.LeaseUntil) {
			continue
		}
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			var load routing.Load
			load, problems[i] = g.Queues.Load(ctx, queue)
			c.CurrentInFlight, c.BufferDepth = load.Given(), load.Waiting
		})
	}
	all.Wait()
	return problems
}

// report logs the problems of a group, at most once a minute, because snapshots are taken all the time.
func (g *Groups) report(ctx context.Context, group string, problems error) {
	if problems == nil || !g.mayReport(group, time.Now()) {
		return
	}
	log := g.Log
	if log == nil {
		log = slog.Default()
	}
	log.WarnContext(ctx, "the group has problems", "group", group, "problems", problems.Error())
}

func (g *Groups) mayReport(group string, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if last, found := g.reported[group]; found && now.Sub(last) < time.Minute {
		return false
	}
	if g.reported == nil {
		g.reported = map[string]time.Time{}
	}
	g.reported[group] = now
	return true
}
