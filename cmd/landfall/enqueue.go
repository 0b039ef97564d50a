package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/landfall-dev/landfall"
	"github.com/landfall-dev/landfall/internal/config"
)

func (a *app) enqueueCommand() *cobra.Command {
	var row landfall.Row
	var data string
	var headers []string
	cmd := &cobra.Command{
		Use:   "enqueue DESTINATION --key KEY --data DATA",
		Short: "Put a row, as an application would",
		Long: `Put a row, as an application would.

DATA is the payload itself, @FILE for the content of a file, or - for standard input. The same row put again changes
nothing and succeeds; other content under a key that is in use is refused (exit code 1).`,
		Args: cobra.ExactArgs(1),
		RunE: a.do(func(ctx context.Context, args []string) error {
			row.Destination = args[0]
			var err error
			if row.Headers, err = pairs("--header", headers); err != nil {
				return badInput(err)
			}
			if row.Payload, err = a.input("--data", data, landfall.MaxPayload); err != nil {
				return badInput(err)
			}
			return a.enqueue(ctx, row)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&row.Key, "key", "", "idempotency key, 1 to 512 bytes (required)")
	flags.StringVar(&data, "data", "", "payload, @FILE or - (required)")
	flags.StringVar(&row.ContentType, "content-type", "", "content type of the payload (default application/json)")
	flags.StringVar(&row.CommandID, "command-id", "", "the command that caused the effect")
	flags.StringArrayVar(&headers, "header", nil, "NAME=VALUE that goes with the payload; may be repeated")
	for _, name := range []string{"key", "data"} {
		_ = cmd.MarkFlagRequired(name) // it fails only for a flag that is not defined
	}
	return cmd
}

func (a *app) enqueue(ctx context.Context, row landfall.Row) error {
	cfg, err := a.loadConfig(a.config)
	if err != nil {
		return badInput(err)
	}
	at, err := a.outbox(ctx)
	if err != nil {
		return err
	}
	err = landfall.New(at, writerConfig(cfg, at.name)).Put(ctx, row)
	var rule *landfall.RowError
	switch {
	case errors.As(err, &rule):
		return badInput(err)
	case err != nil:
		return at.explain(err)
	}
	if a.output == inJSON {
		return a.printJSON(map[string]string{"row": row.String(), "destination": row.Destination})
	}
	_, err = fmt.Fprintf(a.stdout, "%s is stored\n", row)
	return err
}

// writerConfig is what a writer of rows needs to know of a configuration of either kind.
func writerConfig(cfg *config.Config, table string) landfall.Config {
	to := landfall.Config{Table: table, Destinations: map[string]landfall.Destination{}}
	for name, d := range cfg.Destinations {
		destination := landfall.Destination{HeadStart: time.Duration(d.HeadStart), Kind: d.Kind(), Retired: d.Retired, Shards: d.Shards}
		if h, ok := d.Target.(*config.HTTP); ok {
			destination.Headers = h.RowHeaders
		}
		to.Destinations[name] = destination
	}
	return to
}

// input is what a flag or an argument gives: a text itself, @FILE for the content of a file, or - for standard input. It
// has one byte more than is possible at most, so that what is too large is refused and not cut.
func (a *app) input(what, given string, most int64) ([]byte, error) {
	from := a.stdin
	switch file, isFile := strings.CutPrefix(given, "@"); {
	case isFile:
		f, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", what, err)
		}
		defer f.Close()
		from = f
	case given != "-":
		return []byte(given), nil
	}
	content, err := io.ReadAll(io.LimitReader(from, most+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	return content, nil
}

// pairs reads what a flag that may be repeated gives, NAME=VALUE. Errors name no value.
func pairs(flag string, args []string) (map[string]string, error) {
	all := map[string]string{}
	for i, arg := range args {
		name, value, found := strings.Cut(arg, "=")
		if !found || name == "" {
			return nil, fmt.Errorf("%s number %d is not NAME=VALUE", flag, i+1)
		}
		if _, twice := all[name]; twice {
			return nil, fmt.Errorf("%s %s is there twice", flag, printable(name))
		}
		all[name] = value
	}
	return all, nil
}
