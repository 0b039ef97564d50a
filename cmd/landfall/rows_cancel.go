package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/landfall-dev/landfall/internal/outbox"
)

func (a *app) rowsCancelCommand() *cobra.Command {
	order := outbox.Order{Move: outbox.Cancel}
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "cancel {DESTINATION KEY | ROW}",
		Short: "End a pending row without sending it",
		Long: `End a pending row without sending it: it fails with landfall.cancelled.

Refused if an attempt may have arrived, or is under way: it cannot be undone. Exit code 1: refused, with the reason.`,
		Args: cobra.RangeArgs(1, 2),
		RunE: a.do(func(ctx context.Context, args []string) error { return a.operate(ctx, args, order, dryRun) }),
	}
	signing(cmd, &order, &dryRun)
	return cmd
}
