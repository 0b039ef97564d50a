package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outboxdb"
)

// operation is an order on a row, as flags give it.
type operation struct {
	change change
	order  outbox.Order
}

func (a *app) rowsRetryCommand() *cobra.Command {
	return a.operationCommand("retry {DESTINATION KEY | ROW}", "Send a failed row again",
		`The key stays the same, and the row gets a new budget of attempts. Refused if an
attempt may have arrived: the effect could happen twice. Exit code 1: refused,
with the reason.`, outbox.Retry)
}

func (a *app) rowsCancelCommand() *cobra.Command {
	return a.operationCommand("cancel {DESTINATION KEY | ROW}", "End a pending row without sending it",
		`The row fails with the code landfall.cancelled. Refused if an attempt is under
way or may have arrived: it cannot be undone. A row whose destination is not in
the configuration, perhaps mistyped, can be cancelled, too. Exit code 1:
refused, with the reason.`, outbox.Cancel)
}

func (a *app) operationCommand(use, short, more string, move outbox.Move) *cobra.Command {
	op := &operation{order: outbox.Order{Move: move}}
	cmd := a.command(use, short, more, takes(1, 2), func(ctx context.Context, args []string) error { return a.operate(ctx, args, op) })
	op.flags(cmd)
	return cmd
}

func (a *app) rowsResolveCommand() *cobra.Command {
	op := &operation{}
	var as string
	cmd := a.command("resolve {DESTINATION KEY | ROW} --as DECISION --reason TEXT", "Say what became of a row of unknown outcome",
		`Find out at the remote first. DECISION is one of:

  completed   the effect happened; --ref is the remote's name for it
  failed      it did not and will not happen; the row is never sent again
  resend      send it again, with a new budget of attempts

Resending a row that may have arrived needs --yes-it-never-arrived, unless the
remote still recognises the key. As long as an attempt may still arrive, the
command refuses; --force overrides that, and the row records it. Nothing happens
if the row has changed since it was read. Exit code 1: refused, with the reason.`,
		takes(1, 2), func(ctx context.Context, args []string) error {
			op.order.Move = outbox.Move(as)
			switch op.order.Move {
			case outbox.MarkCompleted, outbox.MarkFailed, outbox.Resend:
				return a.operate(ctx, args, op)
			}
			return badInputf("--as %s: choose completed, failed or resend", as)
		})
	op.flags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&as, "as", "", "completed, failed or resend (required)")
	flags.StringVar(&op.order.Ref, "ref", "", "the remote's name for the effect, with --as completed")
	flags.BoolVar(&op.order.Force, "force", false, "decide although an attempt may still arrive")
	flags.BoolVar(&op.order.NeverArrived, "yes-it-never-arrived", false, "confirm that no attempt had an effect, or will have")
	require(cmd, "as", "reason")
	return cmd
}

func (op *operation) flags(cmd *cobra.Command) {
	op.change.flags(cmd)
	cmd.Flags().StringVar(&op.order.Reason, "reason", "", "why; kept on the row")
}

// operationView is what an order changed, or with --dry-run would change.
type operationView struct {
	DryRun      bool    `json:"dry_run"`
	Explanation string  `json:"explanation"`
	Before      rowView `json:"before"`
	After       rowView `json:"after"`
}

// operate carries out an order on the row that the arguments name.
func (a *app) operate(ctx context.Context, args []string, o *operation) error {
	cfg, table, err := a.configAndOutbox(ctx)
	if err != nil {
		return err
	}
	id, err := table.find(ctx, args)
	if err != nil {
		return table.explain(err)
	}
	if err := o.change.signed(); err != nil {
		return err
	}
	a.sign(ctx, &o.change, table)
	o.order.By = o.change.by
	operator := outbox.Operator{Store: outboxdb.New(table.db, table.name)}
	for _, name := range cfg.Names() {
		operator.Destinations = append(operator.Destinations, outbox.Destination{Name: name, Policy: cfg.Destinations[name].Policy()})
	}
	if _, configured := cfg.Destinations[id.Destination]; !configured && o.order.Move == outbox.Cancel {
		a.warn(fmt.Errorf("destination %s is not in %s. If the deployed functions have this destination, they may send the row first: check --config", id.Destination, a.config))
		operator.Destinations = append(operator.Destinations, outbox.Destination{Name: id.Destination})
	}
	act := operator.Do
	if o.change.dryRun {
		act = operator.Plan
	}
	op, err := act(ctx, id, o.order)
	switch {
	case errors.Is(err, outbox.ErrNotFound):
		return noRow(id)
	case errors.Is(err, outbox.ErrConflict):
		return fmt.Errorf("row %s changed meanwhile, and nothing was done: inspect it again with rows get", id)
	case errors.Is(err, outbox.ErrNotAllowed):
		return fmt.Errorf("%s: %w", id, err)
	case err != nil:
		return table.explain(err)
	}
	v := operationView{DryRun: o.change.dryRun, Explanation: op.Explain(), Before: view(op.Before), After: view(op.After)}
	would := ""
	if v.DryRun {
		would = "would become: "
	}
	return a.say(v, "%s: %s%s", id, would, v.Explanation)
}
