package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outboxdb"
)

// when says from when on a change counts.
const when = `

It counts for every run that begins more than 5 s later; a run that has begun goes on for a minute or so.`

func (a *app) destinationsPauseCommand() *cobra.Command {
	return a.controlCommand(&cobra.Command{
		Use:   "pause DESTINATION --reason TEXT",
		Short: "Send nothing to a destination until it is resumed",
		Long: `Send nothing to a destination until it is resumed. Rows can still be put; they, and those that are due, stay where they
are. Rows whose outcome is unknown are still asked about.` + when,
		Args: cobra.ExactArgs(1),
	}, true, func(ctx context.Context, d *destinations, s said) error {
		return d.controls.Pause(ctx, s.destination, s.reason, s.by)
	}, func(c *outbox.Control, _ said) { c.Paused = true })
}

func (a *app) destinationsResumeCommand() *cobra.Command {
	return a.controlCommand(&cobra.Command{
		Use:   "resume DESTINATION",
		Short: "Send to a paused destination again",
		Long:  "Send to a paused destination again. A limit stays." + when,
		Args:  cobra.ExactArgs(1),
	}, false, func(ctx context.Context, d *destinations, s said) error {
		return d.controls.Resume(ctx, s.destination, s.reason, s.by)
	}, func(c *outbox.Control, _ said) { c.Paused = false })
}

func (a *app) destinationsLimitCommand() *cobra.Command {
	return a.controlCommand(&cobra.Command{
		Use:   "limit DESTINATION N --reason TEXT",
		Short: "Lower how many sends to a destination a run has in flight",
		Long: `Lower how many sends to a destination a run has in flight, to N. More than the configuration's concurrency changes
nothing. Runs overlap, and there are parallelism of them, each with its own N; so does each invocation of the fast path.` + when,
		Args: cobra.ExactArgs(2),
	}, true, func(ctx context.Context, d *destinations, s said) error {
		return d.controls.Limit(ctx, s.destination, s.limit, s.reason, s.by)
	}, func(c *outbox.Control, s said) { c.MaxConcurrency = s.limit })
}

func (a *app) destinationsUnlimitCommand() *cobra.Command {
	return a.controlCommand(&cobra.Command{
		Use:   "unlimit DESTINATION",
		Short: "Take a limit back",
		Long:  "Take a limit back. A pause stays." + when,
		Args:  cobra.ExactArgs(1),
	}, false, func(ctx context.Context, d *destinations, s said) error {
		return d.controls.Unlimit(ctx, s.destination, s.reason, s.by)
	}, func(c *outbox.Control, _ said) { c.MaxConcurrency = 0 })
}

// said is what a person says about a destination.
type said struct {
	change
	destination, reason string
	limit               int // for limit alone
}

// controlCommand makes a command of what it writes, and of what a control becomes by it.
func (a *app) controlCommand(cmd *cobra.Command, needsReason bool, do func(context.Context, *destinations, said) error, becomes func(*outbox.Control, said)) *cobra.Command {
	var s said
	s.flags(cmd)
	cmd.Flags().StringVar(&s.reason, "reason", "", "why; it is kept")
	if needsReason {
		_ = cmd.MarkFlagRequired("reason") // it fails only for a flag that is not defined
	}
	cmd.RunE = a.do(func(ctx context.Context, args []string) error {
		if err := s.check(args, needsReason); err != nil {
			return badInput(err)
		}
		d, err := a.destinations(ctx)
		if err != nil {
			return err
		}
		_, known := d.cfg.Destinations[s.destination]
		control, err := d.control(ctx, s.destination)
		if err != nil {
			return err
		}
		if !known && control.At.IsZero() { // what is said about one that is gone can be taken back
			return badInput(fmt.Errorf("%.80q is no destination of the configuration", s.destination))
		}
		before := d.view(s.destination, control)
		if s.dryRun {
			becomes(&control, s)
			control.Reason, control.By = s.reason, s.by
		} else {
			if err := do(ctx, d, s); err != nil {
				return d.table.explain(err)
			}
			if control, err = d.control(ctx, s.destination); err != nil {
				return err
			}
		}
		after := d.view(s.destination, control)
		if after.Unreadable != "" {
			a.warn(fmt.Errorf("%s still counts as paused: %s", s.destination, after.Unreadable))
		}
		text := fmt.Sprintf("destination %s is %s", s.destination, after.State)
		if after.Concurrency > 0 {
			text += fmt.Sprintf(", with at most %d sends at once in a run", after.Concurrency)
		}
		return a.printChange(s.change, text, before, after)
	})
	return cmd
}

// check takes over the arguments: DESTINATION, and N if there are two.
func (s *said) check(args []string, needsReason bool) error {
	s.destination = args[0]
	if len(args) > 1 {
		n, err := strconv.Atoi(args[1])
		if err != nil || n < 1 || n > outboxdb.MaxControlledConcurrency {
			return fmt.Errorf("the limit: want a number from 1 to %d", outboxdb.MaxControlledConcurrency)
		}
		s.limit = n
	}
	if needsReason && s.reason == "" {
		return errors.New("--reason: say why, for whoever wonders")
	}
	if len(s.reason) > outboxdb.MaxReason {
		return fmt.Errorf("--reason: at most %d bytes", outboxdb.MaxReason)
	}
	return s.signed()
}
