package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/landfall-dev/landfall/internal/routing"
)

func (a *app) consumersCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "consumers",
		Short: "Look at the consumers of routing groups, and let them join, drain and leave",
		Args:  cobra.NoArgs,
		RunE:  needsCommand,
	}
	cmd.AddCommand(a.consumersAddCommand(), a.consumersDrainCommand(), a.consumersListCommand(), a.consumersRemoveCommand())
	return cmd
}

func (a *app) consumersListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list GROUP",
		Short: "List the consumers of a group, those of the file and those that joined",
		Args:  cobra.ExactArgs(1),
		RunE: a.do(func(ctx context.Context, args []string) error {
			g, err := a.groups(ctx)
			if err != nil {
				return err
			}
			now, err := g.read(ctx, args[0])
			if err != nil {
				return err
			}
			views := now.members()
			a.warn(append(now.Problems, g.loads(ctx, views)...)...)
			if a.output == inJSON {
				return a.printJSON(views)
			}
			return a.printTable(memberTable(views))
		}),
	}
}

func (a *app) consumersDrainCommand() *cobra.Command {
	var c change
	var stop bool
	cmd := &cobra.Command{
		Use:   "drain GROUP CONSUMER",
		Short: "Let a consumer finish what it has, and give it nothing more",
		Long: `Let a consumer, of the file or one that joined, finish what it has, and give it nothing more, until --stop.

It counts from the router's next invocation on. consumers list shows what is still in its queue.`,
		Args: cobra.ExactArgs(2),
		RunE: a.do(func(ctx context.Context, args []string) error {
			if err := c.signed(); err != nil {
				return err
			}
			what := "%s of group %s is drained"
			if stop {
				what = "%s of group %s gets messages again"
			}
			return a.changeMember(ctx, args, c, what, func(g *groups, now *groupNow, m routing.Consumer) (*routing.Consumer, error) {
				m.Draining = !stop
				if c.dryRun {
					return &m, nil
				}
				return &m, g.control.Drain(ctx, now.name, m.ID, m.Draining, c.by)
			})
		}),
	}
	c.flags(cmd)
	cmd.Flags().BoolVar(&stop, "stop", false, "give it messages again")
	return cmd
}

func (a *app) consumersRemoveCommand() *cobra.Command {
	var c change
	cmd := &cobra.Command{
		Use:   "remove GROUP CONSUMER",
		Short: "Remove a consumer that joined",
		Long: `Remove a consumer that joined. What it has accepted is its own; what it has not accepted moves on at the deadline.

A consumer of the file can be drained, and leaves with the next deployment of a file without it.`,
		Args: cobra.ExactArgs(2),
		RunE: a.do(func(ctx context.Context, args []string) error {
			return a.changeMember(ctx, args, c, "%s is removed from group %s", func(g *groups, now *groupNow, m routing.Consumer) (*routing.Consumer, error) {
				if _, inFile := now.file.Consumers[m.ID]; inFile {
					return nil, fmt.Errorf("%s is in the configuration: drain it, or take it out of the file and deploy", m.ID)
				}
				if c.dryRun {
					return nil, nil
				}
				return nil, g.control.Leave(ctx, now.name, m.ID)
			})
		}),
	}
	c.dry(cmd)
	return cmd
}

// changeMember changes one that there is: GROUP CONSUMER. act says what becomes of it, nil for none.
func (a *app) changeMember(ctx context.Context, args []string, c change, what string, act func(*groups, *groupNow, routing.Consumer) (*routing.Consumer, error)) error {
	g, err := a.groups(ctx)
	if err != nil {
		return err
	}
	now, err := g.read(ctx, args[0])
	if err != nil {
		return err
	}
	member, found := now.consumer(args[1])
	if !found {
		return fmt.Errorf("group %s has no consumer %.80q", now.name, args[1])
	}
	after, err := act(g, now, member)
	if err != nil {
		return g.table.explain(err)
	}
	return a.printMember(c, fmt.Sprintf(what, member.ID, now.name), now, member.ID, after)
}

// printMember tells of a change of a consumer, and warns if nobody is left to pick.
func (a *app) printMember(c change, explanation string, now *groupNow, id string, after *routing.Consumer) error {
	var before, later any
	group := routing.NewGroup(now.name, now.consumers...)
	if old, found := group.Consumer(id); found {
		before = now.member(old)
	}
	if group = group.Without(id); after != nil {
		group = group.With(*after)
	}
	if now.look(group.Consumers()); after != nil {
		view := now.member(*after)
		view.ChangedBy, view.ChangedAt = c.by, nil
		later = view
	}
	if now.live() == 0 {
		a.warn(fmt.Errorf("group %s has no live consumer: its messages wait, and are dead-lettered after %v", now.name, now.file.MaxWait))
	}
	return a.printChange(c, explanation, before, later)
}
