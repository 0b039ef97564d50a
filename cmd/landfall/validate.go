package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/outbox"
)

func (a *app) validateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "validate [FILE]",
		Short: "Check a configuration and show what it resolves to",
		Long: `Check a configuration and show what it resolves to.

FILE is a landfall.yaml or a resolved .json; without it, the file of --config. With --output json the answer is the
resolved configuration, which is what the functions read. Exit code 1: it is not valid; 2: it cannot be read.`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.do(func(_ context.Context, args []string) error {
			path := a.config
			if len(args) == 1 {
				path = args[0]
			}
			return a.validate(path)
		}),
	}
}

func (a *app) validate(path string) error {
	cfg, err := a.loadConfig(path)
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
	return a.printTable(summary(cfg))
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
		}
		rows = append(rows, []string{
			name, d.Kind(), target(d), d.Deduplicates.String(), strconv.Itoa(d.Attempts),
			claimed.String(), d.LateArrival.String(), lookup, strconv.Itoa(d.Shards), d.Retention.String(),
		})
	}
	return rows
}

// target is a destination's URL without its query, where services are given tokens.
func target(d config.Destination) string {
	if d.Retired {
		return "(retired)"
	}
	u, err := url.Parse(d.URL)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host + u.EscapedPath()
}
