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
	return parent("destinations", "List, pause and limit destinations", "",
		a.destinationsLimitCommand(), a.destinationsListCommand(), a.destinationsPauseCommand(),
		a.destinationsResumeCommand(), a.destinationsUnlimitCommand())
}

// destinationView is a destination with what was changed about it.
type destinationView struct {
	Destination string `json:"destination"`
	Kind        string `json:"kind,omitempty"`
	State       string `json:"state"`
	// Concurrency is the most sends that a run has in flight; the file allows FileConcurrency.
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
	stateUnknown = "not configured" // its control has no effect
)

// destinations are those of the configuration, and what the control table has about them.
type destinations struct {
	cfg      *config.Config
	table    *tableClient
	controls *outboxdb.Controls
}

func (a *app) destinations(ctx context.Context) (*destinations, error) {
	cfg, _, table, err := a.configAndControl(ctx)
	if err != nil {
		return nil, err
	}
	return &destinations{cfg, table, outboxdb.NewControls(table.db, table.name)}, nil
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

// control is what was changed about one destination; the zero Control if nothing was.
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
	return a.command("list", "List destinations, and which are paused or limited",
		`States are active, limited, paused, retired and not configured (there is a
control for it, but it is not in the configuration). Each line has how many
sends a run may have in flight, what the file allows, and who changed it and
why.`,
		takes(0, 0), func(ctx context.Context, _ []string) error { return a.destinationsList(ctx) })
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
	said, names := map[string]outbox.Control{}, d.cfg.Names()
	for _, c := range controls {
		said[c.Destination] = c
		if _, configured := d.cfg.Destinations[c.Destination]; !configured {
			names = append(names, c.Destination)
		}
	}
	views, cells := []destinationView{}, [][]string{{"DESTINATION", "KIND", "STATE", "CONCURRENCY", "FILE CONCURRENCY", "REASON", "CHANGED"}}
	for _, name := range names {
		v := d.view(name, said[name])
		views = append(views, v)
		if v.Unreadable != "" && v.State != stateUnknown {
			a.warn(fmt.Errorf("destination %s counts as paused: %s. To repair it: destinations unlimit, then resume", name, v.Unreadable))
		}
		cells = append(cells, []string{
			v.Destination, cmp.Or(v.Kind, "-"), v.State, strconv.Itoa(v.Concurrency), strconv.Itoa(v.FileConcurrency),
			cmp.Or(shorten(strings.TrimSpace(v.Reason)), "-"), changed(v.ChangedBy, v.ChangedAt),
		})
	}
	return a.print(views, cells)
}

// effective says when a change takes effect.
const effective = `

It takes effect for every run that begins more than 5 s later; a run that has
begun goes on for about a minute.`

func (a *app) destinationsPauseCommand() *cobra.Command {
	return a.controlCommand("pause DESTINATION --reason TEXT", "Send nothing to a destination until it is resumed",
		`Rows can still be put; they wait, as do rows that are due. Rows of unknown
outcome are still looked up.`, takes(1, 1), true, func(ctx context.Context, d *destinations, o *controlOrder) error {
			return d.controls.Pause(ctx, o.destination, o.reason, o.change.by)
		}, func(c *outbox.Control, _ *controlOrder) { c.Paused = true })
}

func (a *app) destinationsResumeCommand() *cobra.Command {
	return a.controlCommand("resume DESTINATION", "Send to a paused destination again",
		`A limit stays.`, takes(1, 1), false, func(ctx context.Context, d *destinations, o *controlOrder) error {
			return d.controls.Resume(ctx, o.destination, o.reason, o.change.by)
		}, func(c *outbox.Control, _ *controlOrder) { c.Paused = false })
}

func (a *app) destinationsLimitCommand() *cobra.Command {
	return a.controlCommand("limit DESTINATION N --reason TEXT", "Limit how many sends to a destination a run has in flight",
		`N is the limit; more than the configuration's concurrency has no effect. Runs
overlap, and as many as parallelism go side by side, each with its own N; so
does each invocation of the fast path.`, takes(2, 2), true, func(ctx context.Context, d *destinations, o *controlOrder) error {
			return d.controls.Limit(ctx, o.destination, o.limit, o.reason, o.change.by)
		}, func(c *outbox.Control, o *controlOrder) { c.MaxConcurrency = o.limit })
}

func (a *app) destinationsUnlimitCommand() *cobra.Command {
	return a.controlCommand("unlimit DESTINATION", "Remove a destination's limit",
		`A pause stays.`, takes(1, 1), false, func(ctx context.Context, d *destinations, o *controlOrder) error {
			return d.controls.Unlimit(ctx, o.destination, o.reason, o.change.by)
		}, func(c *outbox.Control, _ *controlOrder) { c.MaxConcurrency = 0 })
}

// controlOrder is a change of a destination, as arguments and flags give it.
type controlOrder struct {
	change              change
	destination, reason string
	limit               int // for limit alone
}

// controlCommand makes a command of what it writes, and of what that makes of a control.
func (a *app) controlCommand(use, short, more string, args cobra.PositionalArgs, needsReason bool,
	write func(context.Context, *destinations, *controlOrder) error, becomes func(*outbox.Control, *controlOrder)) *cobra.Command {
	o := &controlOrder{}
	cmd := a.command(use, short, more+effective, args, func(ctx context.Context, args []string) error {
		if err := o.read(args, needsReason); err != nil {
			return badInput(err)
		}
		return a.control(ctx, o, write, becomes)
	})
	o.change.flags(cmd)
	cmd.Flags().StringVar(&o.reason, "reason", "", "why; kept with the change")
	if needsReason {
		require(cmd, "reason")
	}
	return cmd
}

func (a *app) control(ctx context.Context, o *controlOrder,
	write func(context.Context, *destinations, *controlOrder) error, becomes func(*outbox.Control, *controlOrder)) error {
	d, err := a.destinations(ctx)
	if err != nil {
		return err
	}
	control, err := d.control(ctx, o.destination)
	if err != nil {
		return err
	}
	// A control of a destination that was removed from the configuration can still be taken back.
	if _, configured := d.cfg.Destinations[o.destination]; !configured && control.At.IsZero() {
		return badInput(unknownDestination(d.cfg, o.destination))
	}
	before := d.view(o.destination, control)
	a.sign(ctx, &o.change, d.table)
	if o.change.dryRun {
		becomes(&control, o)
		control.Reason, control.By = o.reason, o.change.by
	} else {
		if err := write(ctx, d, o); err != nil {
			return d.table.explain(err)
		}
		if control, err = d.control(ctx, o.destination); err != nil {
			return err
		}
	}
	after := d.view(o.destination, control)
	if after.Unreadable != "" {
		a.warn(fmt.Errorf("destination %s still counts as paused: %s", o.destination, after.Unreadable))
	}
	text := fmt.Sprintf("destination %s is %s", o.destination, after.State)
	if after.Concurrency > 0 {
		text += fmt.Sprintf(", with at most %d sends in flight in a run", after.Concurrency)
	}
	return a.printChange(&o.change, text, before, after)
}

// read takes over the arguments: DESTINATION, and N if there are two.
func (o *controlOrder) read(args []string, needsReason bool) error {
	o.destination = args[0]
	if len(args) > 1 {
		n, err := strconv.Atoi(args[1])
		if err != nil || n < 1 || n > outboxdb.MaxControlledConcurrency {
			return fmt.Errorf("the limit %.80q: want a number from 1 to %d", args[1], outboxdb.MaxControlledConcurrency)
		}
		o.limit = n
	}
	if needsReason && o.reason == "" {
		return fmt.Errorf("--reason is empty: say why, for those who find the destination so")
	}
	if len(o.reason) > outboxdb.MaxReason {
		return fmt.Errorf("--reason has %d bytes: at most %d are possible", len(o.reason), outboxdb.MaxReason)
	}
	return o.change.signed()
}

func unknownDestination(cfg *config.Config, name string) error {
	return unknown("destination", name, cfg.Names())
}
