package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

// change is how something in the control table is changed.
type change struct {
	by     string
	dryRun bool
}

func (c *change) dry(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&c.dryRun, "dry-run", false, "say what would happen, and change nothing")
}

func (c *change) flags(cmd *cobra.Command) {
	c.dry(cmd)
	cmd.Flags().StringVar(&c.by, "by", cmp.Or(os.Getenv("USER"), os.Getenv("USERNAME")), "who changes it; it is kept")
}

func (c change) signed() error {
	if c.by == "" {
		return badInput(errors.New("who changes it is not known here: say so with --by"))
	}
	return nil
}

// changeView is what was, or with --dry-run would be, changed. What was or will be nothing is null.
type changeView struct {
	DryRun      bool   `json:"dry_run"`
	Explanation string `json:"explanation"`
	Before      any    `json:"before"`
	After       any    `json:"after"`
}

func (a *app) printChange(c change, explanation string, before, after any) error {
	if a.output == inJSON {
		return a.printJSON(changeView{c.dryRun, explanation, before, after})
	}
	if c.dryRun {
		explanation = "would be done: " + explanation
	}
	if _, err := fmt.Fprintln(a.stdout, printable(explanation)); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}
