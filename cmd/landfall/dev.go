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
	var o desk.Options
	var every time.Duration
	cmd := a.command("dev", "Run Landfall on this machine, with a local AWS",
		`Standard output gets the environment variables to export, one per line. Standard
error gets the functions' logs, without their metrics. Nothing is kept after the
end; Ctrl-C ends it. Run it from Landfall's source tree, from which the
functions are built; --config may name your own landfall.yaml.`,
		takes(0, 0), func(ctx context.Context, _ []string) error {
			cfg, err := a.loadConfig()
			if err != nil {
				return err
			}
			o.Config, o.Output = cfg, withoutMetrics{a.stderr}
			return a.dev(ctx, o, every)
		})
	flags := cmd.Flags()
	flags.IntVar(&o.Port, "port", 4570, "port on 127.0.0.1; 0 for any free port")
	flags.DurationVar(&every, "every", desk.DefaultEvery, "how often dispatch and reconcile run; deployed, once a minute")
	return cmd
}

func (a *app) dev(ctx context.Context, o desk.Options, every time.Duration) (err error) {
	if o.Port < 0 || o.Port > 65535 {
		return badInputf("--port %d: want 0 to 65535", o.Port)
	}
	if every <= 0 {
		return badInputf("--every %v: want more than 0", every)
	}
	if o.Folder, err = os.MkdirTemp("", "landfall-dev-"); err != nil { // its own: several may run at once
		return fmt.Errorf("make a folder for the configuration: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(o.Folder)) }()
	d, err := desk.Start(ctx, o)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("port %d is in use: choose another --port, or 0 for any free port", o.Port)
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
	fmt.Fprintf(a.stderr, "The local AWS is at %s, its bill at %[1]s%s.\nNew rows are sent at once; dispatch and reconcile run "+
		"every %v.\nCtrl-C ends everything within %v.\n", d.Endpoint, localaws.LedgerPath, every, devStops)
	<-ctx.Done()
	return nil
}

// withoutMetrics drops from a function's output the metrics, which it prints at every run.
type withoutMetrics struct{ to io.Writer }

func (w withoutMetrics) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte(`"_aws":{"CloudWatchMetrics"`)) {
		return len(line), nil
	}
	return w.to.Write(line)
}
