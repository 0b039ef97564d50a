package main

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/schema"
)

func (a *app) consumersCommand() *cobra.Command {
	return parent("consumers", "List, add, drain and remove consumers of routing groups", "",
		a.consumersAddCommand(), a.consumersDrainCommand(), a.consumersListCommand(), a.consumersRemoveCommand())
}

func (a *app) consumersListCommand() *cobra.Command {
	return a.command("list GROUP", "List the consumers of a group",
		`One line for each: where it comes from, its target, its state (live, or why it
gets no messages), the load of its queue, its limit, weight, tags and lease, and
who changed it. Loads are approximate, and a moment old.`,
		takes(1, 1), func(ctx context.Context, args []string) error {
			g, now, err := a.group(ctx, args[0])
			if err != nil {
				return err
			}
			views := now.members()
			a.warn(append(now.overrides.Problems, g.loads(ctx, views)...)...)
			return a.print(views, memberTable(views))
		})
}

func (a *app) consumersDrainCommand() *cobra.Command {
	c, stop := &change{}, false
	cmd := a.command("drain GROUP CONSUMER", "Give a consumer no more messages, and let it finish",
		`It may be a consumer of the file or one that was added. It gets no more
messages, from the router's next invocation, until --stop. consumers list shows
what is still in its queue.`,
		takes(2, 2), func(ctx context.Context, args []string) error {
			if err := c.signed(); err != nil {
				return err
			}
			what := "%s of group %s is draining"
			if stop {
				what = "%s of group %s gets messages again"
			}
			return a.changeMember(ctx, args, c, what, func(g *groups, now *groupNow, m routing.Consumer) (*routing.Consumer, error) {
				a.sign(ctx, c, g.table)
				m.Draining = !stop
				if c.dryRun {
					return &m, nil
				}
				return &m, g.control.Drain(ctx, now.name, m.ID, m.Draining, c.by)
			})
		})
	c.flags(cmd)
	cmd.Flags().BoolVar(&stop, "stop", false, "end the draining: give it messages again")
	return cmd
}

func (a *app) consumersRemoveCommand() *cobra.Command {
	c := &change{}
	cmd := a.command("remove GROUP CONSUMER", "Remove a consumer that was added with consumers add",
		`It keeps the messages that it has accepted; others move on at their deadline. A
consumer of the file cannot be removed: drain it, or deploy a file without it.`,
		takes(2, 2), func(ctx context.Context, args []string) error {
			return a.changeMember(ctx, args, c, "%s is removed from group %s", func(g *groups, now *groupNow, m routing.Consumer) (*routing.Consumer, error) {
				if _, inFile := now.file.Consumers[m.ID]; inFile {
					return nil, fmt.Errorf("consumer %s is in the configuration: drain it, or deploy a file without it", m.ID)
				}
				if c.dryRun {
					return nil, nil
				}
				return nil, g.control.Leave(ctx, now.name, m.ID)
			})
		})
	c.dry(cmd)
	return cmd
}

func (a *app) consumersAddCommand() *cobra.Command {
	c := &change{}
	var as config.Consumer
	var lease time.Duration
	cmd := a.command("add GROUP CONSUMER {--sqs QUEUE | --lambda FUNCTION}", "Add a consumer to a group, without a deployment",
		`Adding a consumer again replaces its settings: a flag that is not given goes
back to its default, but a draining consumer stays draining. The consumer must
obey the rules of the configuration. It is a candidate from the next message on.

The router can reach only queues and functions that its role allows: those that
the configuration names, and those that the deployment allows to be added. With
--lease the consumer leaves after that time, unless it is added again.`,
		takes(2, 2), func(ctx context.Context, args []string) error {
			if (as.SQS == "") == (as.Lambda == "") {
				return badInputf("consumer %s: give either --sqs QUEUE or --lambda FUNCTION", args[1])
			}
			if lease < 0 {
				return badInputf("--lease %v: want a positive duration such as 10m", lease)
			}
			return a.consumersAdd(ctx, args[0], args[1], as, lease, c)
		})
	c.flags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&as.SQS, "sqs", "", "name or ARN of its queue")
	flags.StringVar(&as.Lambda, "lambda", "", "name or ARN of its function")
	flags.Int64Var(&as.MaxInFlight, "max-in-flight", 0, "most messages it may have at once (default: no limit)")
	flags.StringSliceVar(&as.Tags, "tag", nil, "tag for routing functions; may be repeated, or have commas")
	flags.IntVar(&as.Weight, "weight", config.DefaultWeight, "its share under a weighted route")
	flags.DurationVar(&lease, "lease", 0, "time until it leaves, such as 10m (default: never)")
	return cmd
}

func (a *app) consumersAdd(ctx context.Context, group, id string, as config.Consumer, lease time.Duration, c *change) error {
	if err := c.signed(); err != nil {
		return err
	}
	cfg, err := a.loadConfig()
	if err != nil {
		return err
	}
	member, err := joined(cfg, group, id, as)
	if err != nil {
		return err
	}
	g, now, err := a.group(ctx, group)
	if err != nil {
		return err
	}
	for _, other := range now.consumers {
		switch {
		case other.ID == id:
			member.Draining = other.Draining
		case other.Target == member.Target:
			return badInputf("consumer %s already has the target %s: a message that moves on from one would come back to the same queue or function", other.ID, other.Target)
		}
	}
	if lease > 0 {
		member.LeaseUntil = time.Now().Add(lease)
	}
	if queue, isQueue := strings.CutPrefix(member.Target, schema.TargetSQS+":"); isQueue {
		if _, err := g.queues.URL(ctx, queue); err != nil {
			a.warn(fmt.Errorf("messages to %s will fail: %w", id, err))
		}
	}
	a.sign(ctx, c, g.table)
	if !c.dryRun {
		if err := g.control.Join(ctx, group, member, c.by); err != nil {
			return g.table.explain(err)
		}
	}
	return a.printMember(c, fmt.Sprintf("%s is a consumer of group %s", id, group), now, id, &member)
}

// joined is the consumer that a file with it would have, so that the file's rules hold for it.
func joined(cfg *config.Config, group, id string, as config.Consumer) (routing.Consumer, error) {
	file, err := groupOf(cfg, group)
	if err != nil {
		return routing.Consumer{}, err
	}
	if _, taken := file.Consumers[id]; taken {
		return routing.Consumer{}, badInputf("consumer %s is in the configuration: change it there and deploy, or drain it", id)
	}
	file.Consumers = maps.Clone(file.Consumers)
	if file.Consumers == nil {
		file.Consumers = map[string]config.Consumer{}
	}
	file.Consumers[id] = as
	with := *cfg
	with.Groups = maps.Clone(cfg.Groups)
	with.Groups[group] = file
	resolved, err := with.Resolved()
	if err != nil {
		return routing.Consumer{}, err
	}
	if _, err := config.ParseJSON("the configuration with "+id, resolved); err != nil {
		return routing.Consumer{}, badInput(err)
	}
	member, _ := routing.NewGroup(group, file.Members()...).Consumer(id)
	return member, nil
}

// changeMember changes an existing consumer: GROUP CONSUMER. act returns what it is afterwards, nil if it is removed.
func (a *app) changeMember(ctx context.Context, args []string, c *change, what string, act func(*groups, *groupNow, routing.Consumer) (*routing.Consumer, error)) error {
	g, now, err := a.group(ctx, args[0])
	if err != nil {
		return err
	}
	member, found := now.consumer(args[1])
	if !found {
		return fmt.Errorf("group %s has no consumer %.80q: see landfall consumers list %[1]s", now.name, args[1])
	}
	after, err := act(g, now, member)
	if err != nil {
		return g.table.explain(err)
	}
	return a.printMember(c, fmt.Sprintf(what, member.ID, now.name), now, member.ID, after)
}

// printMember answers with a change of a consumer, and warns if no live one is left.
func (a *app) printMember(c *change, explanation string, now *groupNow, id string, after *routing.Consumer) error {
	var before, later any
	group := routing.NewGroup(now.name, now.consumers...)
	if old, found := group.Consumer(id); found {
		before = now.member(old)
	}
	if group = group.Without(id); after != nil {
		group = group.With(*after)
	}
	if now.set(group.Consumers()); after != nil {
		view := now.member(*after)
		view.ChangedBy, view.ChangedAt = c.by, nil
		later = view
	}
	if now.live() == 0 {
		a.warn(fmt.Errorf("group %s has no live consumer: its messages wait, and are dead-lettered after %v", now.name, now.file.MaxWait))
	}
	return a.printChange(c, explanation, before, later)
}
