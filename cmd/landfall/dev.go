package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/landfall-dev/landfall/internal/lab/desk"
	"github.com/landfall-dev/landfall/internal/lab/localaws"
)

// devStops is how long the functions may go on after Ctrl-C.
const devStops = 5 * time.Second

func (a *app) devCommand() *cobra.Command {
	o := desk.Options{Source: "."}
	var every time.Duration
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run Landfall on this machine: a local AWS, the functions, and what triggers them",
		Long: `Run Landfall on this machine: a local AWS, the functions, and what triggers them.

Standard output gets the environment to export, one line each; standard error gets what the functions log, without
their metrics. Nothing is kept when it ends. Run it in the source tree, which the functions are built from; --config
names your own landfall.yaml. Ctrl-C ends it.`,
		Args: cobra.NoArgs,
		RunE: a.do(func(ctx context.Context, _ []string) error {
			cfg, err := a.loadConfig(a.config)
			if err != nil {
				return badInput(err)
			}
			o.Config, o.Output = cfg, withoutMetrics{a.stderr}
			return a.dev(ctx, o, every)
		}),
	}
	flags := cmd.Flags()
	flags.IntVar(&o.Port, "port", 4570, "port on 127.0.0.1; 0 for any that is free")
	flags.DurationVar(&every, "every", desk.DefaultEvery, "how often dispatch and reconcile run; deployed, once a minute")
	return cmd
}

func (a *app) dev(ctx context.Context, o desk.Options, every time.Duration) (err error) {
	if o.Port < 0 || o.Port > 65535 {
		return badInput(fmt.Errorf("--port %d: want 0 to 65535", o.Port))
	}
	if every <= 0 {
		return badInput(fmt.Errorf("--every %v: want more than 0", every))
	}
	if o.Folder, err = os.MkdirTemp("", "landfall-dev-"); err != nil { // of its own: several may run at once
		return fmt.Errorf("make a folder for the configuration: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(o.Folder)) }()
	d, err := desk.Start(ctx, o)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w: choose another --port, or 0 for any that is free", err)
	}
	if err != nil {
		return err
	}
	defer func() {
		patience, cancel := context.WithTimeout(context.Background(), devStops)
		defer cancel()
		err = errors.Join(err, d.Stop(patience))
	}()
	if err := d.Begin(ctx, every); err != nil {
		return err
	}
	for _, variable := range d.Environment() {
		fmt.Fprintln(a.stdout, "export", variable)
	}
	fmt.Fprintf(a.stderr, "AWS listens at %s, and says at %[1]s%s what requests cost. New rows leave at once; dispatch and reconcile run "+
		"every %v. Ctrl-C ends all, within %v.\n", d.Endpoint, localaws.LedgerPath, every, devStops)
	<-ctx.Done()
	return nil
}

// withoutMetrics drops the metrics, which a function prints at every run, from what it prints.
type withoutMetrics struct{ io.Writer }

func (w withoutMetrics) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte(`"_aws":{"CloudWatchMetrics"`)) {
		return len(line), nil
	}
	return w.Writer.Write(line)
}
