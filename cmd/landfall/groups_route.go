package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/landfall-dev/landfall/internal/routefn"
	"github.com/landfall-dev/landfall/internal/routingdb"
)

func (a *app) groupsSetRouteCommand() *cobra.Command {
	var c change
	cmd := &cobra.Command{
		Use:   "set-route GROUP KIND [ARGUMENT]",
		Short: "Give a group another routing function, without a deployment",
		Long: `Give a group another routing function, without a deployment, until reset-route takes it back.

KIND and ARGUMENT are those of the configuration's route: least_loaded, rendezvous customer_id, cel EXPRESSION. ARGUMENT
is the text itself, @FILE for the content of a file, or - for standard input. The function is checked first; an
expression that does not compile is refused with the place in it. It counts from the router's next invocation on; a
message that was given to a consumer stays with it. Of kind lambda, the router may call only functions that its role
allows: those that the configuration names.`,
		Args: cobra.RangeArgs(2, 3),
		RunE: a.do(func(ctx context.Context, args []string) error { return a.groupsSetRoute(ctx, args, c) }),
	}
	c.flags(cmd)
	return cmd
}

func (a *app) groupsResetRouteCommand() *cobra.Command {
	var c change
	cmd := &cobra.Command{
		Use:   "reset-route GROUP",
		Short: "Give a group back the routing function of the configuration",
		Args:  cobra.ExactArgs(1),
		RunE:  a.do(func(ctx context.Context, args []string) error { return a.groupsResetRoute(ctx, args[0], c) }),
	}
	c.dry(cmd)
	return cmd
}

func (v routeView) spec() routefn.Spec {
	return routefn.Spec{Kind: routefn.Kind(v.Kind), Argument: v.Argument}
}

// route reads KIND [ARGUMENT]. A Lambda function is only named: whether there is one, its first call says.
func (a *app) route(args []string) (routeView, error) {
	v := routeView{Kind: args[0], From: fromCommand}
	if len(args) > 1 {
		argument, err := a.input("ARGUMENT", args[1], routefn.MaxSourceBytes)
		if err != nil {
			return v, badInput(err)
		}
		v.Argument = strings.TrimSpace(string(argument))
	}
	if err := v.spec().Validate(); err != nil {
		return v, badInput(err)
	}
	return v, nil
}

func (a *app) groupsSetRoute(ctx context.Context, args []string, c change) error {
	route, err := a.route(args[1:])
	if err != nil {
		return err
	}
	if err := c.signed(); err != nil {
		return err
	}
	g, err := a.groups(ctx)
	if err != nil {
		return err
	}
	now, err := g.read(ctx, args[0])
	if err != nil {
		return err
	}
	before := now.route()
	if !c.dryRun {
		err := g.control.SetRoute(ctx, now.name, routingdb.Route{Kind: route.Kind, Argument: route.Argument}, c.by)
		if err != nil {
			return g.table.explain(err)
		}
	}
	route.From, route.ChangedBy = fromControl, c.by
	return a.printChange(c, fmt.Sprintf("group %s: the route is %s; it was %s", now.name, route, before), before, route)
}

func (a *app) groupsResetRoute(ctx context.Context, name string, c change) error {
	g, err := a.groups(ctx)
	if err != nil {
		return err
	}
	now, err := g.read(ctx, name)
	if err != nil {
		return err
	}
	before, after := now.route(), fileRoute(now.file.Route)
	if !c.dryRun {
		if err := g.control.ResetRoute(ctx, name); err != nil {
			return g.table.explain(err)
		}
	}
	return a.printChange(c, fmt.Sprintf("group %s: the route is the file's, %s; it was %s", name, after, before), before, after)
}
