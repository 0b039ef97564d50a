package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/routefn"
)

func (a *app) validateCommand() *cobra.Command {
	var rate float64
	cmd := &cobra.Command{
		Use:   "validate [FILE]",
		Short: "Check a configuration and show what it resolves to",
		Long: `Check a configuration and show what it resolves to.

FILE is a landfall.yaml or a resolved .json; without it, the file of --config. With --output json the answer is the
resolved configuration, which is what the functions read. Exit code 1: it is not valid; 2: it cannot be read.

With --rate N the file is also held to N messages a second in each group. A message that waits for its consumer to
accept is in flight in the group's ingress queue, of which SQS allows 120,000: N times accept_timeout must be no more.
That is what a group has when consumers accept late but at the first attempt; those that reroute have more. A group
that accepts on_delivery waits for nobody.`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.do(func(_ context.Context, args []string) error {
			if !(rate >= 0 && rate <= maxRate) {
				return badInput(fmt.Errorf("--rate %v: want messages a second, 0 to %d", rate, maxRate))
			}
			path := a.config
			if len(args) == 1 {
				path = args[0]
			}
			return a.validate(path, rate)
		}),
	}
	cmd.Flags().Float64Var(&rate, "rate", 0, "messages a second in each group, to be checked against what SQS allows in flight")
	return cmd
}

func (a *app) validate(path string, rate float64) error {
	cfg, err := a.loadConfig(path, config.Expressions(routefn.CheckCEL), fitsInFlight(rate))
	if err != nil {
		var wrong *config.Error
		if errors.As(err, &wrong) {
			return err
		}
		return badInput(err)
	}
	for _, warning := range cfg.Warnings() {
		fmt.Fprintf(a.stderr, "%s: warning: %s\n", path, warning)
	}
	if a.output == inJSON {
		resolved, err := cfg.Resolved()
		if err != nil {
			return err
		}
		if _, err := a.stdout.Write(resolved); err != nil {
			return fmt.Errorf("write output: %w", err)
		}
		return nil
	}
	fmt.Fprintf(a.stdout, "%s is valid. At most %d sends at once, lanes swept by %d in parallel.\n\n",
		printable(path), cfg.Concurrency, cfg.Parallelism)
	if len(cfg.Destinations) > 0 {
		if err := a.printTable(summary(cfg)); err != nil {
			return err
		}
	}
	if len(cfg.Groups) == 0 {
		return nil
	}
	if len(cfg.Destinations) > 0 {
		fmt.Fprintln(a.stdout)
	}
	return a.printTable(groupSummary(cfg, rate))
}

// summary is what a person would look at twice: where it goes, whether it may be repeated, and for how long a row
// can be held.
func summary(cfg *config.Config) [][]string {
	rows := [][]string{{"DESTINATION", "KIND", "TARGET", "DEDUPLICATES", "ATTEMPTS", "CLAIMED UP TO", "LATE ARRIVAL", "LOOKUP", "LANES", "KEPT"}}
	for _, name := range cfg.Names() {
		d := cfg.Destinations[name]
		claimed := config.Duration(d.Policy().SendTimeout + outbox.ClaimMargin)
		lookup := "-"
		if d.Lookup != nil {
			lookup = "http"
			if d.Lookup.Lambda != "" {
				lookup = "lambda"
			}
		}
		rows = append(rows, []string{
			name, d.Kind(), target(d), d.Deduplicates.String(), strconv.Itoa(d.Attempts),
			claimed.String(), d.LateArrival.String(), lookup, strconv.Itoa(d.Shards), d.Retention.String(),
		})
	}
	return rows
}

// target is where a destination's rows go; a URL is without its query, where services are given tokens.
func target(d config.Destination) string {
	if d.Retired {
		return "(retired)"
	}
	return d.Target.String()
}
