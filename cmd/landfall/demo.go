package main

import (
	"cmp"
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/landfall-dev/landfall/internal/lab/demo"
	"github.com/landfall-dev/landfall/internal/lab/desk"
	"github.com/landfall-dev/landfall/internal/lab/payloads"
)

func (a *app) demoCommand() *cobra.Command {
	o := demo.Options{Folder: "build"}
	cmd := a.command("demo", "Deliver real payloads on this machine to a remote that misbehaves",
		`First act: rows are put, some in transactions, and the functions' own binaries
send them to an HTTP server that answers, refuses, stalls and cuts connections
by a seeded plan, while function processes are killed during sends. At the end
the rows are compared with the server's log. Second act: rows become messages
for couriers that accept, decline, stay silent, die and join. The summary is in
build/run.json.

Exit code 0 only if no effect was doubled or lost, every row ended as planned,
and processes were killed, rows retried and rows taken over.

Run it from Landfall's source tree; it needs only Go. With --endpoint-url or
AWS_ENDPOINT_URL it uses the AWS there, which must be on this machine.`,
		takes(0, 0), nil)
	cmd.RunE = a.action(func(ctx context.Context, _ []string) error {
		if o.Rows < 1 && cmd.Flags().Changed("rows") {
			return badInputf("--rows %d: want 1 or more", o.Rows)
		}
		return a.demo(ctx, o)
	})
	flags := cmd.Flags()
	flags.StringVar(&o.Payloads, "payloads", "", "folder of files to send (default: 154 recorded webhooks, which Go downloads)")
	flags.IntVar(&o.Rows, "rows", 0, "number of rows (default: each payload once to each of four destinations)")
	flags.Uint64Var(&o.Seed, "seed", 1, "seed of the plan by which the remote misbehaves")
	return cmd
}

func (a *app) demo(ctx context.Context, o demo.Options) error {
	if o.Payloads != "" {
		if _, err := payloads.Load(o.Payloads); err != nil {
			return badInputf("--payloads: %w", err)
		}
	}
	o.Output, o.Endpoint = a.stdout, cmp.Or(a.endpoint, os.Getenv("AWS_ENDPOINT_URL"))
	if o.Endpoint != "" {
		if err := desk.Loopback(o.Endpoint); err != nil {
			return badInput(err)
		}
	}
	if err := inSourceTree(); err != nil {
		return err
	}
	summary, err := demo.Run(ctx, o)
	if err != nil {
		return err
	}
	return summary.Err()
}
