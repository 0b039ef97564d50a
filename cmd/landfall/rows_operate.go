package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outboxdb"
)

// signing adds the flags of every command that changes a row by hand.
func signing(cmd *cobra.Command, order *outbox.Order, dryRun *bool) {
	flags := cmd.Flags()
	flags.StringVar(&order.By, "by", cmp.Or(os.Getenv("USER"), os.Getenv("USERNAME")), "who says so; it is kept on the row")
	flags.StringVar(&order.Reason, "reason", "", "why; it is kept on the row")
	flags.BoolVar(dryRun, "dry-run", false, "say what would happen, and change nothing")
}

// operationView is what became, or with --dry-run would become, of a row.
type operationView struct {
	DryRun      bool    `json:"dry_run"`
	Explanation string  `json:"explanation"`
	Before      rowView `json:"before"`
	After       rowView `json:"after"`
}

// operate carries out a person's order on the row that the arguments name.
func (a *app) operate(ctx context.Context, args []string, order outbox.Order, dryRun bool) error {
	cfg, err := a.loadConfig(a.config)
	if err != nil {
		return badInput(err)
	}
	at, err := a.outbox(ctx)
	if err != nil {
		return err
	}
	id, err := at.find(ctx, args)
	if err != nil {
		return at.explain(err)
	}
	if order.By == "" {
		return badInput(errors.New("who gives the order is not known here: say so with --by"))
	}
	operator := outbox.Operator{Store: outboxdb.New(at, at.name)}
	for _, name := range cfg.Names() {
		operator.Destinations = append(operator.Destinations, outbox.Destination{Name: name, Policy: cfg.Destinations[name].Policy()})
	}
	act := operator.Do
	if dryRun {
		act = operator.Plan
	}
	op, err := act(ctx, id, order)
	switch {
	case errors.Is(err, outbox.ErrNotFound):
		return fmt.Errorf("no row %s", id)
	case errors.Is(err, outbox.ErrConflict):
		return fmt.Errorf("row %s moved on in the meantime and was left as it is: look at it again", id)
	case errors.Is(err, outbox.ErrNotAllowed):
		return fmt.Errorf("%s: %w", id, err)
	case err != nil:
		return at.explain(err)
	}
	v := operationView{DryRun: dryRun, Explanation: op.Explain(), Before: view(op.Before), After: view(op.After)}
	if a.output == inJSON {
		return a.printJSON(v)
	}
	would := ""
	if dryRun {
		would = "would become: "
	}
	if _, err := fmt.Fprintf(a.stdout, "%s: %s%s\n", id, would, v.Explanation); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}
