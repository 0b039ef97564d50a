package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outboxdb"
)

func (a *app) destinationsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "destinations",
		Short: "Look at destinations, pause them, and limit how much is sent at once",
		Args:  cobra.NoArgs,
		RunE:  needsCommand,
	}
	cmd.AddCommand(
		a.destinationsLimitCommand(), a.destinationsListCommand(), a.destinationsPauseCommand(),
		a.destinationsResumeCommand(), a.destinationsUnlimitCommand(),
	)
	return cmd
}

// destinationView is a destination with what is said about it at run time.
type destinationView struct {
	Destination string `json:"destination"`
	Kind        string `json:"kind,omitempty"`
	State       string `json:"state"`
	// Concurrency is how many sends a run has in flight at most, of the file's FileConcurrency.
	Concurrency     int        `json:"concurrency"`
	FileConcurrency int        `json:"file_concurrency"`
	Reason          string     `json:"reason,omitempty"`
	ChangedBy       string     `json:"changed_by,omitempty"`
	ChangedAt       *time.Time `json:"changed_at,omitempty"`
	Unreadable      string     `json:"unreadable,omitempty"`
}

// States of destinations.
const (
	stateActive  = "active"
	stateLimited = "limited"
	statePaused  = "paused"
	stateRetired = "retired"
	stateUnknown = "not configured" // its control changes nothing
)

// destinations are those of the configuration, and what the control table says about them.
type destinations struct {
	cfg      *config.Config
	table    *ourTable
	controls *outboxdb.Controls
}

func (a *app) destinations(ctx context.Context) (*destinations, error) {
	cfg, _, table, err := a.controlled(ctx)
	if err != nil {
		return nil, err
	}
	return &destinations{cfg, table, outboxdb.NewControls(table, table.name)}, nil
}

// view is a destination, of the configuration or not, under a control.
func (d *destinations) view(name string, c outbox.Control) destinationView {
	v := destinationView{Destination: name, State: stateUnknown, Reason: c.Reason, ChangedBy: c.By, ChangedAt: instant(c.At)}
	if c.Unreadable != nil {
		v.Unreadable = c.Unreadable.Error()
	}
	of, known := d.cfg.Destinations[name]
	if !known {
		return v
	}
	v.Kind, v.State, v.Concurrency, v.FileConcurrency = of.Kind(), stateActive, of.Concurrency, of.Concurrency
	switch {
	case of.Retired:
		v.State, v.Concurrency = stateRetired, 0
	case c.Stops():
		v.State, v.Concurrency = statePaused, 0
	case 0 < c.MaxConcurrency && c.MaxConcurrency < of.Concurrency:
		v.State, v.Concurrency = stateLimited, c.MaxConcurrency
	}
	return v
}

// control is what is said about one destination, nothing perhaps.
func (d *destinations) control(ctx context.Context, name string) (outbox.Control, error) {
	all, err := d.controls.Read(ctx)
	if err != nil {
		return outbox.Control{}, d.table.explain(err)
	}
	if i := slices.IndexFunc(all, func(c outbox.Control) bool { return c.Destination == name }); i >= 0 {
		return all[i], nil
	}
	return outbox.Control{Destination: name}, nil
}

func (a *app) destinationsListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List destinations, and what is said about them at run time",
		Args:  cobra.NoArgs,
		RunE:  a.do(func(ctx context.Context, _ []string) error { return a.destinationsList(ctx) }),
	}
}

func (a *app) destinationsList(ctx context.Context) error {
	d, err := a.destinations(ctx)
	if err != nil {
		return err
	}
	controls, err := d.controls.Read(ctx)
	if err != nil {
		return d.table.explain(err)
	}
	said := map[string]outbox.Control{}
	for _, c := range controls {
		said[c.Destination] = c
	}
	views := []destinationView{}
	for _, name := range d.cfg.Names() {
		views = append(views, d.view(name, said[name]))
		delete(said, name)
	}
	for _, c := range controls {
		if _, unknown := said[c.Destination]; unknown {
			views = append(views, d.view(c.Destination, c))
		}
	}
	for _, v := range views {
		if v.Unreadable != "" && v.State != stateUnknown {
			a.warn(fmt.Errorf("%s counts as paused: %s. To put it right: unlimit it, and resume it", v.Destination, v.Unreadable))
		}
	}
	if a.output == inJSON {
		return a.printJSON(views)
	}
	rows := [][]string{{"DESTINATION", "KIND", "STATE", "AT ONCE", "OF", "REASON", "CHANGED"}}
	for _, v := range views {
		changed := "-"
		if v.ChangedAt != nil {
			changed = stamp(v.ChangedAt) + " by " + v.ChangedBy
		}
		rows = append(rows, []string{
			v.Destination, cmp.Or(v.Kind, "-"), v.State, strconv.Itoa(v.Concurrency), strconv.Itoa(v.FileConcurrency),
			cmp.Or(shorten(strings.TrimSpace(v.Reason)), "-"), changed,
		})
	}
	return a.printTable(rows)
}
