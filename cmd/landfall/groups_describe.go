package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/schema"
)

func (a *app) groupsDescribeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "describe GROUP",
		Short: "Show what the file says of a group, what was changed since, and how busy it is",
		Long: `Show what the file says of a group, what was changed since without a deployment and by whom, and how busy it is.

Numbers of messages are those of the queues, approximate and a moment old. A function that is a consumer has no queue,
and so no numbers. What cannot be read is named on standard error and in the JSON's problems.`,
		Args: cobra.ExactArgs(1),
		RunE: a.do(func(ctx context.Context, args []string) error { return a.groupsDescribe(ctx, args[0]) }),
	}
}

// memberView is a consumer of a group. Numbers that nobody knows are null, and so is a limit that there is not.
type memberView struct {
	ID              string     `json:"id"`
	From            string     `json:"from"`
	Target          string     `json:"target"`
	State           string     `json:"state"` // live, or why nothing goes to it
	CurrentInFlight *int64     `json:"current_in_flight"`
	BufferDepth     *int64     `json:"buffer_depth"`
	MaxInFlight     *int64     `json:"max_in_flight"`
	Weight          int        `json:"weight"`
	Tags            []string   `json:"tags"`
	LeaseUntil      *time.Time `json:"lease_until,omitempty"`
	ChangedBy       string     `json:"changed_by,omitempty"`
	ChangedAt       *time.Time `json:"changed_at,omitempty"`
}

// member is how a consumer is shown, without its load.
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

// groupDetails is a group: File is its specification, Route what counts today.
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
	g, err := a.groups(ctx)
	if err != nil {
		return err
	}
	prefix, err := g.at.name(prefixName)
	if err != nil {
		return err
	}
	now, err := g.read(ctx, name)
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
	problems := append(now.Problems, g.loads(ctx, v.Consumers)...)
	for _, q := range []*queueView{&v.Ingress, &v.DeadLetters} {
		q.Waiting, q.InFlight, err = g.queue(ctx, q.Queue)
		problems = append(problems, err)
	}
	for _, problem := range problems {
		if problem != nil {
			v.Problems = append(v.Problems, problem.Error())
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
		{"group", v.Group}, {"accept", v.Accept + " within " + v.AcceptTimeout}, {"given up after", v.MaxWait},
		{"route of the file", v.File.Route.String()},
	}
	if v.Route.From == fromControl {
		pairs = append(pairs, []string{"route today", v.Route.String() + signature(v.Route.ChangedBy, v.Route.ChangedAt)})
	}
	if v.Route.Invalid != "" {
		pairs = append(pairs, []string{"picks nobody", v.Route.Invalid})
	}
	return append(pairs, []string{"ingress queue", v.Ingress.String()}, []string{"dead letters", v.DeadLetters.String()})
}

// signature says who changed something, and when.
func signature(by string, at *time.Time) string {
	if by == "" {
		by = "somebody"
	}
	return fmt.Sprintf(" (by %s, %s)", by, stamp(at))
}

func memberTable(views []memberView) [][]string {
	rows := [][]string{{"CONSUMER", "FROM", "TARGET", "STATE", "IN FLIGHT", "WAITING", "AT MOST", "WEIGHT", "TAGS", "LEASE UNTIL", "CHANGED"}}
	for _, v := range views {
		changed := "-"
		if v.ChangedAt != nil {
			changed = stamp(v.ChangedAt) + " by " + v.ChangedBy
		}
		tags := "-"
		if len(v.Tags) > 0 {
			tags = strings.Join(v.Tags, ",")
		}
		rows = append(rows, []string{
			v.ID, v.From, v.Target, v.State, number(v.CurrentInFlight), number(v.BufferDepth), number(v.MaxInFlight),
			strconv.Itoa(v.Weight), tags, stamp(v.LeaseUntil), changed,
		})
	}
	return rows
}

// number is "-" for one that there is not.
func number(n *int64) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatInt(*n, 10)
}
