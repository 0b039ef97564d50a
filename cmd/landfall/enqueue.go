package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/landfall-dev/landfall"
	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outboxdb"
)

func (a *app) enqueueCommand() *cobra.Command {
	var row landfall.Row
	var data string
	var headers []string
	cmd := a.command("enqueue DESTINATION --key KEY --data DATA", "Put a row, as an application does",
		`DATA is the payload itself, @FILE for the content of a file, or - for standard
input. The answer has the row's name, for rows get. Putting the same row again
changes nothing and succeeds; the answer says what became of it. Other content
under a key that is in use is refused (exit code 1).`,
		takes(1, 1), func(ctx context.Context, args []string) error {
			row.Destination = args[0]
			var err error
			if row.Headers, err = pairs("--header", headers); err != nil {
				return badInput(err)
			}
			if row.Payload, err = a.input("--data", data, landfall.MaxPayload); err != nil {
				return badInput(err)
			}
			return a.enqueue(ctx, row)
		})
	flags := cmd.Flags()
	flags.StringVar(&row.Key, "key", "", "idempotency key, 1 to 512 bytes (required)")
	flags.StringVar(&data, "data", "", "payload, @FILE or - (required)")
	flags.StringVar(&row.ContentType, "content-type", "", "content type of the payload (default: application/json)")
	flags.StringVar(&row.CommandID, "command-id", "", "ID of the command that causes the effect")
	flags.StringArrayVar(&headers, "header", nil, "NAME=VALUE to send with the payload; may be repeated")
	require(cmd, "key", "data")
	return cmd
}

func (a *app) enqueue(ctx context.Context, row landfall.Row) error {
	cfg, table, err := a.configAndOutbox(ctx)
	if err != nil {
		return err
	}
	began := time.Now().Truncate(time.Millisecond) // as rows keep it
	err = landfall.New(table.db, writerConfig(cfg, table.name)).Put(ctx, row)
	var rule *landfall.RowError
	switch {
	case errors.As(err, &rule):
		return badInput(err)
	case err != nil:
		return table.explain(err)
	}
	answer := map[string]string{"row": row.String(), "destination": row.Destination}
	stored, err := outboxdb.New(table.db, table.name).Get(ctx, outbox.ID{Destination: row.Destination, Key: row.Key})
	if err != nil {
		a.warn(fmt.Errorf("the row is stored, but its status is unknown: %w", err))
		return a.say(answer, "%s is stored", row)
	}
	answer["status"] = string(stored.Status)
	if !stored.CreatedAt.Before(began) {
		return a.say(answer, "%s is stored", row)
	}
	code := ""
	if stored.Code != "" {
		code = " (" + stored.Code + ")"
	}
	return a.say(answer, "%s was stored before, at %s, and is %s%s", row, stamp(instant(stored.CreatedAt)), stored.Status, code)
}

// writerConfig is what a writer of rows needs of a configuration.
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
