package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"
)

func (a *app) groupsListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List groups, their routing functions, and how many consumers they have",
		Args:  cobra.NoArgs,
		RunE:  a.do(func(ctx context.Context, _ []string) error { return a.groupsList(ctx) }),
	}
}

type groupView struct {
	Group  string    `json:"group"`
	Accept string    `json:"accept"`
	Route  routeView `json:"route"`
	// Live consumers are those that messages may go to, of all that are Members.
	Live    int `json:"live"`
	Members int `json:"members"`
}

func (a *app) groupsList(ctx context.Context) error {
	g, err := a.groups(ctx)
	if err != nil {
		return err
	}
	views := []groupView{}
	for _, name := range g.cfg.GroupNames() {
		now, err := g.read(ctx, name)
		if err != nil {
			return err
		}
		a.warn(now.Problems...)
		views = append(views, groupView{
			Group: name, Accept: now.file.Accept, Route: now.route(), Live: now.live(), Members: len(now.consumers),
		})
	}
	if a.output == inJSON {
		return a.printJSON(views)
	}
	rows := [][]string{{"GROUP", "ACCEPT", "ROUTE", "FROM", "LIVE", "MEMBERS"}}
	for _, v := range views {
		rows = append(rows, []string{v.Group, v.Accept, shorten(v.Route.String()), v.Route.From, strconv.Itoa(v.Live), strconv.Itoa(v.Members)})
	}
	return a.printTable(rows)
}

// shorten cuts a text for a column.
func shorten(s string) string {
	const most = 60
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return s
}
