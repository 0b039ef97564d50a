package doctor

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outboxdb"
	"github.com/landfall-dev/landfall/internal/routefn"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/routingdb"
)

// readControl examines what was changed without a deployment, and returns the consumers that each group has now. What
// cannot be read is among the findings about tables and permissions.
func (e *examination) readControl(ctx context.Context) map[string][]routing.Consumer {
	cfg, consumers := e.in.Config, map[string][]routing.Consumer{}
	for _, name := range cfg.GroupNames() {
		consumers[name] = cfg.Groups[name].Members()
	}
	if e.in.Control.Err != nil {
		return consumers
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	groups := routingdb.NewControl(e.tables, e.in.Control.Value)
	for _, name := range cfg.GroupNames() {
		overrides, err := groups.Read(ctx, name)
		if err != nil {
			return consumers
		}
		consumers[name] = overrides.Consumers(consumers[name])
		e.add(group(name, cfg.Groups[name], overrides, consumers[name])...)
	}
	controls, err := outboxdb.NewControls(e.tables, e.in.Control.Value).Read(ctx)
	if err != nil {
		return consumers
	}
	for _, c := range controls {
		e.add(destination(cfg, c)...)
	}
	return consumers
}

// group examines what was changed about a group.
func group(name string, file config.Group, overrides routingdb.Overrides, consumers []routing.Consumer) []Finding {
	r := &report{subject: "group " + name}
	for _, problem := range overrides.Problems {
		r.warn(problem.Error(), "write it again: landfall consumers add, remove or drain --stop; landfall groups set-route or reset-route")
	}
	if route := overrides.Route; route != nil {
		err := route.Invalid
		if err == nil {
			err = routefn.Spec{Kind: routefn.Kind(route.Kind), Argument: route.Argument}.Validate()
		}
		if err != nil {
			r.bad("its routing function picks no consumer: "+err.Error(), "landfall groups reset-route "+name)
		}
	}
	snapshot := routing.Snapshot{Group: routing.NewGroup(name, consumers...)}
	if candidates, _ := snapshot.Candidates(nil, nil, time.Now()); len(candidates) == 0 {
		r.warn("it has no live consumer: its messages wait, and are dead-lettered after "+file.MaxWait.String(), "landfall consumers add, or drain --stop")
	}
	return r.findings
}

// destination examines what was changed about a destination.
func destination(cfg *config.Config, c outbox.Control) []Finding {
	subject := "destination " + c.Destination
	file, configured := cfg.Destinations[c.Destination]
	switch {
	case !configured:
		return one(Warning, fmt.Sprintf("destination %.80q", c.Destination), "it was paused or limited, but it is not in the configuration", "check the spelling of its name")
	case c.Unreadable != nil:
		return one(Bad, subject, "it counts as paused: "+c.Unreadable.Error(), "landfall destinations unlimit "+c.Destination+", then resume")
	case c.Paused && !file.Retired:
		return one(Warning, subject, fmt.Sprintf("it was paused by %s at %s: %s", cmp.Or(c.By, "someone"), c.At.UTC().Format(time.RFC3339), c.Reason), "if the reason is gone: landfall destinations resume "+c.Destination)
	}
	return nil
}
