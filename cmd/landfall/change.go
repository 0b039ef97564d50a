package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/spf13/cobra"

	"github.com/landfall-dev/landfall/internal/dynamo"
	"github.com/landfall-dev/landfall/internal/lab/desk"
	"github.com/landfall-dev/landfall/internal/outbox"
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
	cmd.Flags().StringVar(&c.by, "by", cmp.Or(os.Getenv("USER"), os.Getenv("USERNAME")), "your name; kept with the change, and beside it the ARN that AWS knows you by")
}

func (c *change) signed() error {
	if c.by == "" {
		return badInputf("--by is missing, and USER is not set: give your name with --by")
	}
	return nil
}

// callerTimeout bounds the question who the caller is. A VPC may have no way to STS.
const callerTimeout = 5 * time.Second

// sign adds the caller's ARN, as AWS sees it, to the name that --by gives. Without an answer the name stands alone, so
// that a person in trouble can act. An AWS on this machine accepts any caller.
func (a *app) sign(ctx context.Context, c *change, t *tableClient) {
	if desk.Loopback(aws.ToString(t.db.Options().BaseEndpoint)) == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, callerTimeout)
	defer cancel()
	caller, err := sts.NewFromConfig(t.sdk).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		a.warn(fmt.Errorf("only --by is recorded, because STS does not say who the caller is: %w", err))
		return
	}
	c.by = beside(c.by, aws.ToString(caller.Arn))
}

// beside is a name and an ARN, within the bytes that a row keeps. The name gives way: a person can choose it.
func beside(name, arn string) string {
	name = dynamo.Clip(name, max(0, outbox.MaxByBytes-len(arn)-1))
	return dynamo.Clip(strings.TrimLeft(name+" "+arn, " "), outbox.MaxByBytes)
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
