package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/landfall-dev/landfall/internal/outbox"
)

func (a *app) rowsResolveCommand() *cobra.Command {
	var order outbox.Order
	var as string
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "resolve {DESTINATION KEY | ROW} --as completed|failed|resend --reason TEXT",
		Short: "Say what became of a row whose outcome is not known",
		Long: `Say what became of a row whose outcome is not known, after you found out at the remote.

  completed   the effect happened; --ref is what the remote calls it
  failed      it did not and will not happen; the row is never sent again
  resend      send it again, with a new budget of attempts

Resending what may have arrived needs --yes-it-never-arrived, unless the remote still recognises the key. As long as
an attempt may still arrive nobody can know, and the command refuses; --force overrides that, and the row keeps it.
Nothing happens if the row has changed since it was read. Exit code 1: refused, with the reason.`,
		Args: cobra.RangeArgs(1, 2),
		RunE: a.do(func(ctx context.Context, args []string) error {
			order.Move = outbox.Move(as)
			switch order.Move {
			case outbox.MarkCompleted, outbox.MarkFailed, outbox.Resend:
				return a.operate(ctx, args, order, dryRun)
			}
			return badInput(errors.New("--as: allowed are completed, failed, resend"))
		}),
	}
	signing(cmd, &order, &dryRun)
	flags := cmd.Flags()
	flags.StringVar(&as, "as", "", "completed, failed or resend (required)")
	flags.StringVar(&order.Ref, "ref", "", "what the remote calls the effect, with --as completed")
	flags.BoolVar(&order.Force, "force", false, "although an attempt may still arrive")
	flags.BoolVar(&order.NeverArrived, "yes-it-never-arrived", false, "no attempt had an effect, and none will: you looked")
	for _, name := range []string{"as", "reason"} {
		_ = cmd.MarkFlagRequired(name) // it fails only for a flag that is not defined
	}
	return cmd
}
