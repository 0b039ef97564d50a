package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/landfall-dev/landfall/internal/outbox"
)

func (a *app) rowsRetryCommand() *cobra.Command {
	order := outbox.Order{Move: outbox.Retry}
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "retry {DESTINATION KEY | ROW}",
		Short: "Send a failed row again",
		Long: `Send a failed row again, under the same key and with a new budget of attempts.

Refused if an attempt may have arrived: then it could happen twice. Exit code 1: refused, with the reason.`,
		Args: cobra.RangeArgs(1, 2),
		RunE: a.do(func(ctx context.Context, args []string) error { return a.operate(ctx, args, order, dryRun) }),
	}
	signing(cmd, &order, &dryRun)
	return cmd
}
