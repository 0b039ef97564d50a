package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/routefn"
	"github.com/landfall-dev/landfall/internal/routing"
)

// maxRate bounds --rate.
const maxRate = 1_000_000

func (a *app) validateCommand() *cobra.Command {
	var rate float64
	cmd := a.command("validate [FILE]", "Check a configuration and show what it resolves to",
		`FILE is a landfall.yaml or a resolved .json (default: the file of --config).
With --output json the answer is the resolved configuration, which the functions
read. Exit code 1: the file is not valid; 2: it cannot be read.

With --rate N, groups are also checked for N messages a second each. A message
that waits to be accepted is in flight in the group's ingress queue, of which
SQS allows 120,000: N times accept_timeout must not exceed that. It is what a
group has when consumers accept late but at the first attempt; rerouting adds to
it. A group that accepts on_delivery does not wait.`,
		takes(0, 1), func(_ context.Context, args []string) error {
			if !(rate >= 0 && rate <= maxRate) {
				return badInputf("--rate %v: want messages a second, 0 to %d", rate, maxRate)
			}
			path := a.config
			if len(args) == 1 {
				path = args[0]
			}
			return a.validate(path, rate)
		})
	cmd.Flags().Float64Var(&rate, "rate", 0, "messages a second in each group, to check against SQS's limit in flight")
	return cmd
}

func (a *app) validate(path string, rate float64) error {
	cfg, err := readConfig(path, config.Expressions(routefn.CheckCEL), fitsInFlight(rate))
	var wrong *config.Error
	switch {
	case errors.As(err, &wrong):
		return err
	case err != nil:
		return badInput(err)
	}
	for _, warning := range cfg.Warnings() {
		fmt.Fprintf(a.stderr, "%s: warning: %s\n", printable(path), warning)
	}
	for _, p := range cfg.Unreachable(false) {
		fmt.Fprintf(a.stderr, "%s: warning: %s: %s\n", printable(path), p.Path, p.Message)
	}
	if a.output == inJSON {
		resolved, err := cfg.Resolved()
		if err != nil {
			return err
		}
		return a.write(resolved)
	}
	fmt.Fprintf(a.stdout, "%s is valid. Sends in flight: at most %d. Lanes swept in parallel: %d.\n\n", printable(path), cfg.Concurrency, cfg.Parallelism)
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

// summary shows what deserves a second look: where rows go, whether sends may be repeated, and how long a row can be
// claimed.
func summary(cfg *config.Config) [][]string {
	rows := [][]string{{"DESTINATION", "KIND", "TARGET", "DEDUPLICATES", "ATTEMPTS", "CLAIMED UP TO", "LATE ARRIVAL", "LOOKUP", "SHARDS", "RETENTION"}}
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

// target is where a destination's rows go. A URL is shown without its query, which may hold a token.
func target(d config.Destination) string {
	if d.Retired {
		return "(retired)"
	}
	return d.Target.String()
}

// fitsInFlight reports the groups that have more messages in flight than SQS allows, at a rate in messages a second.
func fitsInFlight(rate float64) config.Check {
	return func(cfg *config.Config) (problems []config.Problem) {
		for _, name := range cfg.GroupNames() {
			g := cfg.Groups[name]
			n := inFlight(g, rate)
			if n <= config.MaxInFlight {
				continue
			}
			way := "spread the messages over more groups"
			if most := time.Duration(config.MaxInFlight/rate) * time.Second; most > 0 {
				way = fmt.Sprintf("lower it to %v, or %s", config.Duration(most), way)
			}
			problems = append(problems, config.Problem{Path: "groups." + name + ".accept_timeout", Message: fmt.Sprintf(
				"at %v messages a second, %.0f can be in flight in the ingress queue, but SQS allows %d: %s", rate, n, config.MaxInFlight, way)})
		}
		return problems
	}
}

// inFlight is the most messages that wait to be accepted, if all are at the first attempt.
func inFlight(g config.Group, rate float64) float64 {
	if g.Policy().Accept == routing.OnDelivery {
		return 0
	}
	return math.Ceil(rate * time.Duration(g.AcceptTimeout).Seconds())
}

func groupSummary(cfg *config.Config, rate float64) [][]string {
	rows := [][]string{{"GROUP", "ACCEPT", "ACCEPT TIMEOUT", "MAX WAIT", "ROUTE", "CONSUMERS"}}
	if rate > 0 {
		rows[0] = append(rows[0], "IN FLIGHT OF "+strconv.Itoa(config.MaxInFlight))
	}
	for _, name := range cfg.GroupNames() {
		g := cfg.Groups[name]
		row := []string{name, g.Accept, g.AcceptTimeout.String(), g.MaxWait.String(), g.Route.Kind, strconv.Itoa(len(g.Consumers))}
		if rate > 0 {
			waiting := "-"
			if n := inFlight(g, rate); n > 0 {
				waiting = strconv.FormatFloat(n, 'f', 0, 64)
			}
			row = append(row, waiting)
		}
		rows = append(rows, row)
	}
	return rows
}
