package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/spf13/cobra"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/doctor"
	"github.com/landfall-dev/landfall/internal/routesqs"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/routingdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

func (a *app) groupsCommand() *cobra.Command {
	return parent("groups", "Inspect groups, and change and test their routing functions", "",
		a.groupsDescribeCommand(), a.groupsListCommand(), a.groupsResetRouteCommand(), a.groupsSetRouteCommand(), a.groupsTestCommand())
}

// groupNow is a group of the file with the changes that the control table has.
type groupNow struct {
	name      string
	file      config.Group
	overrides routingdb.Overrides
	// consumers are those of the group now, live or not, without their loads.
	consumers []routing.Consumer
	// states say of each consumer that is not live why.
	states map[string]routing.Exclusion
}

// groups reads groups of the configuration.
type groups struct {
	cfg     *config.Config
	at      *account
	table   *tableClient
	control *routingdb.Control
	queues  *routesqs.Queues
}

func (a *app) groups(ctx context.Context) (*groups, error) {
	cfg, at, table, err := a.configAndControl(ctx)
	if err != nil {
		return nil, err
	}
	return &groups{cfg, at, table, routingdb.NewControl(table.db, table.name), routesqs.NewQueues(sqs.NewFromConfig(at.sdk))}, nil
}

// group is one group as it is now.
func (a *app) group(ctx context.Context, name string) (*groups, *groupNow, error) {
	g, err := a.groups(ctx)
	if err != nil {
		return nil, nil, err
	}
	now, err := g.read(ctx, name)
	return g, now, err
}

// read is a group of the configuration as it is now.
func (g *groups) read(ctx context.Context, name string) (*groupNow, error) {
	file, err := groupOf(g.cfg, name)
	if err != nil {
		return nil, err
	}
	now := &groupNow{name: name, file: file}
	if now.overrides, err = g.control.Read(ctx, name); err != nil {
		return nil, g.table.explain(err)
	}
	now.set(now.overrides.Consumers(file.Members()))
	return now, nil
}

// set replaces the consumers, and finds out which are live.
func (g *groupNow) set(consumers []routing.Consumer) {
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
		return file, badInput(unknown("group", name, cfg.GroupNames()))
	}
	return file, nil
}

// unknown is the error of a name that the configuration lacks.
func unknown(kind, name string, known []string) error {
	if len(known) == 0 {
		return fmt.Errorf("unknown %s %.80q: the configuration has no %[1]s", kind, name)
	}
	return fmt.Errorf("unknown %s %.80q: the configuration has %s", kind, name, strings.Join(known, ", "))
}

// live is how many consumers are live.
func (g *groupNow) live() int { return len(g.consumers) - len(g.states) }

func (g *groupNow) consumer(id string) (routing.Consumer, bool) {
	i := slices.IndexFunc(g.consumers, func(c routing.Consumer) bool { return c.ID == id })
	if i < 0 {
		return routing.Consumer{}, false
	}
	return g.consumers[i], true
}

// said is what the control table has about a consumer.
func (g *groupNow) said(id string) (routingdb.Member, bool) {
	i := slices.IndexFunc(g.overrides.Members, func(m routingdb.Member) bool { return m.Consumer.ID == id })
	if i < 0 {
		return routingdb.Member{}, false
	}
	return g.overrides.Members[i], true
}

// routeView is a routing function, and where it comes from.
type routeView struct {
	Kind      string     `json:"kind"`
	Argument  string     `json:"argument,omitempty"`
	From      string     `json:"from"`
	ChangedBy string     `json:"changed_by,omitempty"`
	ChangedAt *time.Time `json:"changed_at,omitempty"`
	// Invalid says why it picks no consumer; "" if it is valid.
	Invalid string `json:"invalid,omitempty"`
}

// Where a group's routing function and its consumers come from.
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

// route is the routing function of now.
func (g *groupNow) route() routeView {
	r := g.overrides.Route
	if r == nil {
		return fileRoute(g.file.Route)
	}
	v := routeView{Kind: r.Kind, Argument: r.Argument, From: fromControl, ChangedBy: r.Change.By, ChangedAt: instant(r.Change.At)}
	err := r.Invalid
	if err == nil {
		err = v.spec().Validate()
	}
	if err != nil {
		v.Invalid = err.Error()
	}
	return v
}

// queue counts the messages of a queue.
func (g *groups) queue(ctx context.Context, name string) (waiting, inFlight *int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	load, err := g.queues.Load(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	return &load.Waiting, &load.InFlight, nil
}

// loads fills in what is in the consumers' queues, those of draining ones, too: they still empty.
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

func (a *app) groupsListCommand() *cobra.Command {
	return a.command("list", "List groups and their routing functions",
		`FROM says where the routing function comes from: the file, or the control table
after set-route. LIVE counts the consumers that get messages, MEMBERS all.`,
		takes(0, 0), func(ctx context.Context, _ []string) error { return a.groupsList(ctx) })
}

type groupView struct {
	Group  string    `json:"group"`
	Accept string    `json:"accept"`
	Route  routeView `json:"route"`
	// Live consumers get messages; Members counts all consumers.
	Live    int `json:"live"`
	Members int `json:"members"`
}

func (a *app) groupsList(ctx context.Context) error {
	g, err := a.groups(ctx)
	if err != nil {
		return err
	}
	views, cells := []groupView{}, [][]string{{"GROUP", "ACCEPT", "ROUTE", "FROM", "LIVE", "MEMBERS"}}
	for _, name := range g.cfg.GroupNames() {
		now, err := g.read(ctx, name)
		if err != nil {
			return err
		}
		a.warn(now.overrides.Problems...)
		v := groupView{Group: name, Accept: now.file.Accept, Route: now.route(), Live: now.live(), Members: len(now.consumers)}
		views = append(views, v)
		cells = append(cells, []string{v.Group, v.Accept, shorten(v.Route.String()), v.Route.From, strconv.Itoa(v.Live), strconv.Itoa(v.Members)})
	}
	return a.print(views, cells)
}

func (a *app) groupsDescribeCommand() *cobra.Command {
	return a.command("describe GROUP", "Show a group: the file's settings, later changes, and its load",
		`Changes are those made without a deployment, each with its author. Counts of
messages are those of the queues: approximate, and a moment old. A consumer that
is a function has no queue, and so no counts. What cannot be read is a warning,
and in the JSON's problems.`,
		takes(1, 1), func(ctx context.Context, args []string) error { return a.groupsDescribe(ctx, args[0]) })
}

// memberView is a consumer of a group. Unknown numbers are null, and so is a missing limit.
type memberView struct {
	ID              string     `json:"id"`
	From            string     `json:"from"`
	Target          string     `json:"target"`
	State           string     `json:"state"` // live, or why it gets no messages
	CurrentInFlight *int64     `json:"current_in_flight"`
	BufferDepth     *int64     `json:"buffer_depth"`
	MaxInFlight     *int64     `json:"max_in_flight"`
	Weight          int        `json:"weight"`
	Tags            []string   `json:"tags"`
	LeaseUntil      *time.Time `json:"lease_until,omitempty"`
	ChangedBy       string     `json:"changed_by,omitempty"`
	ChangedAt       *time.Time `json:"changed_at,omitempty"`
}

// member shows a consumer, without its load.
func (g *groupNow) member(c routing.Consumer) memberView {
	v := memberView{
		ID: c.ID, From: fromControl, Target: c.Target, State: "live", Weight: max(1, c.Weight),
		Tags: append([]string{}, c.Tags...), LeaseUntil: instant(c.LeaseUntil),
	}
	if why, excluded := g.states[c.ID]; excluded {
		v.State = string(why)
	}
	if _, inFile := g.file.Consumers[c.ID]; inFile {
		v.From = fromFile
	}
	if c.MaxInFlight != routing.Unlimited {
		v.MaxInFlight = &c.MaxInFlight
	}
	if said, found := g.said(c.ID); found {
		v.ChangedBy, v.ChangedAt = said.Change.By, instant(said.Change.At)
	}
	return v
}

func (g *groupNow) members() []memberView {
	views := []memberView{}
	for _, c := range g.consumers {
		views = append(views, g.member(c))
	}
	return views
}

type queueView struct {
	Queue    string `json:"queue"`
	Waiting  *int64 `json:"waiting"`
	InFlight *int64 `json:"in_flight"`
}

func (v queueView) String() string {
	return fmt.Sprintf("%s: %s waiting, %s in flight", v.Queue, number(v.Waiting), number(v.InFlight))
}

// groupDetails is a group: File is what the configuration says, Route the routing function of now.
type groupDetails struct {
	Group         string       `json:"group"`
	Accept        string       `json:"accept"`
	AcceptTimeout string       `json:"accept_timeout"`
	MaxWait       string       `json:"max_wait"`
	File          fileView     `json:"file"`
	Route         routeView    `json:"route"`
	Ingress       queueView    `json:"ingress"`
	DeadLetters   queueView    `json:"dead_letters"`
	Consumers     []memberView `json:"consumers"`
	Problems      []string     `json:"problems"`
}

type fileView struct {
	Route     routeView `json:"route"`
	Consumers []string  `json:"consumers"`
}

func (a *app) groupsDescribe(ctx context.Context, name string) error {
	g, now, err := a.group(ctx, name)
	if err != nil {
		return err
	}
	prefix, err := g.at.name(prefixName)
	if err != nil {
		return err
	}
	v := groupDetails{
		Group: name, Accept: now.file.Accept, AcceptTimeout: now.file.AcceptTimeout.String(), MaxWait: now.file.MaxWait.String(),
		File: fileView{fileRoute(now.file.Route), []string{}}, Route: now.route(), Consumers: now.members(), Problems: []string{},
		Ingress: queueView{Queue: schema.IngressQueue(prefix, name)}, DeadLetters: queueView{Queue: schema.DeadLetterQueue(prefix, name)},
	}
	for _, c := range now.file.Members() {
		v.File.Consumers = append(v.File.Consumers, c.ID)
	}
	problems := append(now.overrides.Problems, g.loads(ctx, v.Consumers)...)
	for _, q := range []*queueView{&v.Ingress, &v.DeadLetters} {
		q.Waiting, q.InFlight, err = g.queue(ctx, q.Queue)
		problems = append(problems, err)
	}
	for _, problem := range problems {
		if problem != nil {
			v.Problems = append(v.Problems, doctor.Plain(problem))
		}
	}
	a.warn(problems...)
	if a.output == inJSON {
		return a.printJSON(v)
	}
	if err := a.printTable(v.pairs()); err != nil {
		return err
	}
	fmt.Fprintln(a.stdout)
	return a.printTable(memberTable(v.Consumers))
}

func (v groupDetails) pairs() [][]string {
	pairs := [][]string{
		{"group", v.Group}, {"accept", v.Accept + " within " + v.AcceptTimeout}, {"max wait", v.MaxWait},
		{"route in the file", v.File.Route.String()},
	}
	if v.Route.From == fromControl {
		pairs = append(pairs, []string{"route now", fmt.Sprintf("%s (changed %s)", v.Route, changed(cmp.Or(v.Route.ChangedBy, "someone"), v.Route.ChangedAt))})
	}
	if v.Route.Invalid != "" {
		pairs = append(pairs, []string{"picks no consumer", v.Route.Invalid})
	}
	return append(pairs, []string{"ingress queue", v.Ingress.String()}, []string{"dead letters", v.DeadLetters.String()})
}

func memberTable(views []memberView) [][]string {
	rows := [][]string{{"CONSUMER", "FROM", "TARGET", "STATE", "IN FLIGHT", "BUFFER DEPTH", "MAX IN FLIGHT", "WEIGHT", "TAGS", "LEASE UNTIL", "CHANGED"}}
	for _, v := range views {
		rows = append(rows, []string{
			v.ID, v.From, v.Target, v.State, number(v.CurrentInFlight), number(v.BufferDepth), number(v.MaxInFlight),
			strconv.Itoa(v.Weight), cmp.Or(strings.Join(v.Tags, ","), "-"), stamp(v.LeaseUntil), changed(v.ChangedBy, v.ChangedAt),
		})
	}
	return rows
}
