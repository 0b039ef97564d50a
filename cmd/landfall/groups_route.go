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
	c := &change{}
	cmd := a.command("set-route GROUP KIND [ARGUMENT]", "Change a group's routing function, without a deployment",
		`KIND and ARGUMENT are those of route in the configuration: least_loaded,
rendezvous customer_id, cel EXPRESSION. ARGUMENT is the text itself, @FILE for
the content of a file, or - for standard input. The function is checked first;
an expression that does not compile is refused, with the line and column.

The change counts from the router's next invocation, until reset-route. A
message that was already given to a consumer stays with it. For the kind lambda,
the router's role allows only the functions that the configuration names.`,
		takes(2, 3), func(ctx context.Context, args []string) error { return a.groupsSetRoute(ctx, args, c) })
	c.flags(cmd)
	return cmd
}

func (a *app) groupsResetRouteCommand() *cobra.Command {
	c := &change{}
	cmd := a.command("reset-route GROUP", "Return a group to the routing function of the configuration",
		`It takes back set-route, and answers with the function of now and that of
before.`,
		takes(1, 1), func(ctx context.Context, args []string) error { return a.groupsResetRoute(ctx, args[0], c) })
	c.dry(cmd)
	return cmd
}

func (v routeView) spec() routefn.Spec {
	return routefn.Spec{Kind: routefn.Kind(v.Kind), Argument: v.Argument}
}

// route reads KIND [ARGUMENT]. Whether a Lambda function exists is not checked; its first call tells.
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

func (a *app) groupsSetRoute(ctx context.Context, args []string, c *change) error {
	route, err := a.route(args[1:])
	if err != nil {
		return err
	}
	if err := c.signed(); err != nil {
		return err
	}
	g, now, err := a.group(ctx, args[0])
	if err != nil {
		return err
	}
	before := now.route()
	a.sign(ctx, c, g.table)
	if !c.dryRun {
		err := g.control.SetRoute(ctx, now.name, routingdb.Route{Kind: route.Kind, Argument: route.Argument}, c.by)
		if err != nil {
			return g.table.explain(err)
		}
	}
	route.From, route.ChangedBy = fromControl, c.by
	return a.printChange(c, fmt.Sprintf("group %s: the route is now %s; it was %s", now.name, route, before), before, route)
}

func (a *app) groupsResetRoute(ctx context.Context, name string, c *change) error {
	g, now, err := a.group(ctx, name)
	if err != nil {
		return err
	}
	before, after := now.route(), fileRoute(now.file.Route)
	if !c.dryRun {
		if err := g.control.ResetRoute(ctx, name); err != nil {
			return g.table.explain(err)
		}
	}
	return a.printChange(c, fmt.Sprintf("group %s: the route is that of the file again, %s; it was %s", name, after, before), before, after)
}
