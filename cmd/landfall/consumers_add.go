package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/schema"
)

func (a *app) consumersAddCommand() *cobra.Command {
	var c change
	var as config.Consumer
	var lease time.Duration
	cmd := &cobra.Command{
		Use:   "add GROUP CONSUMER {--sqs QUEUE | --lambda FUNCTION}",
		Short: "Let a consumer join a group, without a deployment",
		Long: `Let a consumer join a group, without a deployment, or say anew what it is: what is not said is back at its default, but
that it drains. It is held to the rules of the configuration, and is a candidate for the next message.

The router can reach only queues and functions that its role allows: those that the configuration names, and those that
the deployment lets join. With --lease it is no member any more after that time, unless it is added again.`,
		Args: cobra.ExactArgs(2),
		RunE: a.do(func(ctx context.Context, args []string) error {
			if lease < 0 {
				return badInput(errors.New("--lease: want a duration such as 10m"))
			}
			return a.consumersAdd(ctx, args[0], args[1], as, lease, c)
		}),
	}
	c.flags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&as.SQS, "sqs", "", "name or ARN of its queue")
	flags.StringVar(&as.Lambda, "lambda", "", "name or ARN of the function that it is")
	flags.Int64Var(&as.MaxInFlight, "max-in-flight", 0, "how many messages it may have at once (default: as many as come)")
	flags.StringSliceVar(&as.Tags, "tag", nil, "what it is good at; may be repeated, or have commas")
	flags.IntVar(&as.Weight, "weight", config.DefaultWeight, "its share under a weighted route")
	flags.DurationVar(&lease, "lease", 0, "for how long, such as 10m (default for good)")
	return cmd
}

func (a *app) consumersAdd(ctx context.Context, group, id string, as config.Consumer, lease time.Duration, c change) error {
	if err := c.signed(); err != nil {
		return err
	}
	cfg, err := a.loadConfig(a.config)
	if err != nil {
		return badInput(err)
	}
	member, err := joined(cfg, group, id, as)
	if err != nil {
		return err
	}
	g, err := a.groups(ctx)
	if err != nil {
		return err
	}
	now, err := g.read(ctx, group)
	if err != nil {
		return err
	}
	for _, other := range now.consumers {
		switch {
		case other.ID == id:
			member.Draining = other.Draining
		case other.Target == member.Target:
			return badInput(fmt.Errorf("%s has that target already: a message that moved on from one would come back to it as the other", other.ID))
		}
	}
	if lease > 0 {
		member.LeaseUntil = time.Now().Add(lease)
	}
	if queue, isQueue := strings.CutPrefix(member.Target, schema.TargetSQS+":"); isQueue {
		if _, err := g.queues.URL(ctx, queue); err != nil {
			a.warn(fmt.Errorf("messages that go there will be refused: %w", err))
		}
	}
	if !c.dryRun {
		if err := g.control.Join(ctx, group, member, c.by); err != nil {
			return g.table.explain(err)
		}
	}
	return a.printMember(c, fmt.Sprintf("%s is a consumer of group %s", id, group), now, id, &member)
}

// joined is the consumer that would be there if the file named it: the file's rules are those of who joins.
func joined(cfg *config.Config, group, id string, as config.Consumer) (routing.Consumer, error) {
	file, err := groupOf(cfg, group)
	if err != nil {
		return routing.Consumer{}, err
	}
	if _, taken := file.Consumers[id]; taken {
		return routing.Consumer{}, badInput(fmt.Errorf("%s is in the configuration, which says what it is: drain it, or change the file and deploy", id))
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
