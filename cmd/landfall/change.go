package main

import (
	"cmp"
	"os"

	"github.com/spf13/cobra"
)

// change is how a command changes something, and in whose name.
type change struct {
	by     string
	dryRun bool
}

func (c *change) dry(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&c.dryRun, "dry-run", false, "say what would happen, and change nothing")
}

func (c *change) flags(cmd *cobra.Command) {
	c.dry(cmd)
	cmd.Flags().StringVar(&c.by, "by", cmp.Or(os.Getenv("USER"), os.Getenv("USERNAME")), "your name; kept with the change")
}

func (c *change) signed() error {
	if c.by == "" {
		return badInputf("--by is missing, and USER is not set: give your name with --by")
	}
	return nil
}

// changeView is what was changed, or with --dry-run would be. What did not or will not exist is null.
type changeView struct {
	DryRun      bool   `json:"dry_run"`
	Explanation string `json:"explanation"`
	Before      any    `json:"before"`
	After       any    `json:"after"`
}

func (a *app) printChange(c *change, explanation string, before, after any) error {
	v, would := changeView{c.dryRun, explanation, before, after}, ""
	if c.dryRun {
		would = "would be done: "
	}
	return a.say(v, "%s%s", would, explanation)
}
