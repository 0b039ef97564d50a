package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/landfall-dev/landfall/internal/lab/demo"
	"github.com/landfall-dev/landfall/internal/lab/desk"
	"github.com/landfall-dev/landfall/internal/lab/payloads"
)

func (a *app) demoCommand() *cobra.Command {
	o := demo.Options{Source: ".", Folder: "build"}
	var cmd *cobra.Command
	cmd = &cobra.Command{
		Use:   "demo",
		Short: "Show the main job on this machine, with real payloads and a remote that misbehaves",
		Long: `Show the main job on this machine, with real payloads and a remote that misbehaves.

Rows are put, some in transactions, and the functions' own binaries send them to an HTTP server that answers, refuses,
stalls and cuts connections by a seeded plan, while function processes are killed in mid-send. At the end the rows are
held against the server's own log. Then more rows become messages for couriers that accept, decline, keep silent, die
and join. Exit code 0 only if nothing was doubled or lost, every row ended as its plan allows, and processes were
killed, rows retried and taken over. The summary is in build/run.json.

Run it in the source tree: it needs Go, and nothing else. With --endpoint-url or AWS_ENDPOINT_URL it uses the AWS
there, which must be on this machine.`,
		Args: cobra.NoArgs,
		RunE: a.do(func(ctx context.Context, _ []string) error {
			if o.Rows < 1 && cmd.Flags().Changed("rows") {
				return badInput(fmt.Errorf("--rows %d: want 1 or more", o.Rows))
			}
			if o.Payloads != "" {
				if _, err := payloads.Load(o.Payloads); err != nil {
					return badInput(fmt.Errorf("--payloads: %w", err))
				}
			}
			o.Output = a.stdout
			o.Endpoint = a.endpoint
			if o.Endpoint == "" {
				o.Endpoint = os.Getenv("AWS_ENDPOINT_URL")
			}
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
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Payloads, "payloads", "", "folder of files to send (default: 154 recorded webhooks, which Go downloads)")
	flags.IntVar(&o.Rows, "rows", 0, "how many rows (default: each payload once to each of four destinations)")
	flags.Uint64Var(&o.Seed, "seed", 1, "seed of the plan by which the remote misbehaves")
	return cmd
}
