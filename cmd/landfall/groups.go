package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/spf13/cobra"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/routesqs"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/routingdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

func (a *app) groupsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "groups",
		Short: "Look at routing groups, try routing functions, and change them without a deployment",
		Args:  cobra.NoArgs,
		RunE:  needsCommand,
	}
	cmd.AddCommand(a.groupsDescribeCommand(), a.groupsListCommand(), a.groupsResetRouteCommand(), a.groupsSetRouteCommand(), a.groupsTestCommand())
	return cmd
}

// groupNow is a group as the file has it, with what the control table says about it.
type groupNow struct {
	name string
	file config.Group
	routingdb.Overrides
	// consumers are the members, live or not, without their loads.
	consumers []routing.Consumer
	// states say for each consumer that is picked for nothing why.
	states map[string]routing.Exclusion
}

// groups reads what is said about groups of the configuration: about one, or for "" about all.
type groups struct {
	cfg     *config.Config
	at      *account
	table   *ourTable
	control *routingdb.Control
	queues  *routesqs.Queues
}

func (a *app) groups(ctx context.Context) (*groups, error) {
	cfg, at, table, err := a.controlled(ctx)
	if err != nil {
		return nil, err
	}
	return &groups{cfg, at, table, routingdb.NewControl(table, table.name), routesqs.NewQueues(sqs.NewFromConfig(at.sdk))}, nil
}

// controlled is the configuration, and the table of what was said about it at run time.
func (a *app) controlled(ctx context.Context) (*config.Config, *account, *ourTable, error) {
	cfg, err := a.loadConfig(a.config)
	if err != nil {
		return nil, nil, nil, badInput(err)
	}
	at, err := a.account(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	table, err := at.table(ctx, controlName)
	return cfg, at, table, err
}

// read is a group of the configuration as it is now.
func (g *groups) read(ctx context.Context, name string) (*groupNow, error) {
	file, err := groupOf(g.cfg, name)
	if err != nil {
		return nil, err
	}
	now := &groupNow{name: name, file: file}
	if now.Overrides, err = g.control.Read(ctx, name); err != nil {
		return nil, g.table.explain(err)
	}
	now.look(now.Overrides.Consumers(file.Members()))
	return now, nil
}

// look takes over consumers, and finds out who may be picked.
func (g *groupNow) look(consumers []routing.Consumer) {
	g.consumers, g.states = consumers, map[string]routing.Exclusion{}
	snapshot := routing.Snapshot{Group: routing.NewGroup(g.name, consumers...)}
	_, excluded := snapshot.Candidates(nil, nil, time.Now())
	for _, e := range excluded {
		g.states[e.Consumer] = e.Why
	}
}

func groupOf(cfg *config.Config, name string) (config.Group, error) {
	file, found := cfg.Groups[name]
	if !found {
		has := "it has none"
		if len(cfg.Groups) > 0 {
			has = "it has " + strings.Join(cfg.GroupNames(), ", ")
		}
		return file, badInput(fmt.Errorf("%.80q is no group of the configuration: %s", name, has))
	}
	return file, nil
}

// live is how many may be picked.
func (g *groupNow) live() int { return len(g.consumers) - len(g.states) }

func (g *groupNow) consumer(id string) (routing.Consumer, bool) {
	i := slices.IndexFunc(g.consumers, func(c routing.Consumer) bool { return c.ID == id })
	if i < 0 {
		return routing.Consumer{}, false
	}
	return g.consumers[i], true
}

// said is what the control table says about a consumer.
func (g *groupNow) said(id string) (routingdb.Member, bool) {
	i := slices.IndexFunc(g.Members, func(m routingdb.Member) bool { return m.Consumer.ID == id })
	if i < 0 {
		return routingdb.Member{}, false
	}
	return g.Members[i], true
}

// routeView is a routing function and who chose it.
type routeView struct {
	Kind      string     `json:"kind"`
	Argument  string     `json:"argument,omitempty"`
	From      string     `json:"from"`
	ChangedBy string     `json:"changed_by,omitempty"`
	ChangedAt *time.Time `json:"changed_at,omitempty"`
	// Invalid: nobody is picked by it.
	Invalid string `json:"invalid,omitempty"`
}

// Where a group's function and its consumers come from.
const (
	fromFile    = "file"
	fromControl = "control"
	fromCommand = "command line"
)

func (v routeView) String() string {
	return strings.TrimSpace(v.Kind + " " + strings.Join(strings.Fields(v.Argument), " "))
}

func fileRoute(r config.Route) routeView {
	return routeView{Kind: r.Kind, Argument: r.Argument, From: fromFile}
}

// route is today's function.
func (g *groupNow) route() routeView {
	if g.Route == nil {
		return fileRoute(g.file.Route)
	}
	v := routeView{
		Kind: g.Route.Kind, Argument: g.Route.Argument, From: fromControl, ChangedBy: g.Route.Change.By, ChangedAt: instant(g.Route.Change.At),
	}
	err := g.Route.Invalid
	if err == nil {
		err = v.spec().Validate()
	}
	if err != nil {
		v.Invalid = err.Error()
	}
	return v
}

// queue is what is said to be in one, or why nobody knows.
func (g *groups) queue(ctx context.Context, name string) (waiting, inFlight *int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	load, err := g.queues.Load(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	return &load.Waiting, &load.InFlight, nil
}

// loads fills in what is in the consumers' queues, those of draining ones, too: they are waited for.
func (g *groups) loads(ctx context.Context, views []memberView) (problems []error) {
	for i := range views {
		v := &views[i]
		if queue, isQueue := strings.CutPrefix(v.Target, schema.TargetSQS+":"); isQueue {
			waiting, inFlight, err := g.queue(ctx, queue)
			if err == nil {
				*inFlight += *waiting // as the router counts
			}
			v.BufferDepth, v.CurrentInFlight = waiting, inFlight
			problems = append(problems, err)
		}
	}
	return problems
}

// warn tells of what is not as it should be, beside an answer.
func (a *app) warn(problems ...error) {
	if err := errors.Join(problems...); err != nil {
		for line := range strings.Lines(err.Error()) {
			fmt.Fprintln(a.stderr, "warning:", printable(strings.TrimSuffix(line, "\n")))
		}
	}
}
