package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outboxdb"
)

func (a *app) rowsListCommand() *cobra.Command {
	var kind string
	var limit int
	cmd := &cobra.Command{
		Use:   "list [DESTINATION]",
		Short: "List rows that are not completed, lane by lane",
		Long: `List rows that are not completed, lane by lane, in the order in which they want attention.

Lanes are due (pending or dispatching), unknown and failed. A completed row is in no lane; rows get finds it.`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.do(func(ctx context.Context, args []string) error {
			return a.rowsList(ctx, args, kind, limit)
		}),
	}
	cmd.Flags().StringVar(&kind, "lane", "", "due, unknown or failed (default all)")
	cmd.Flags().IntVar(&limit, "limit", 100, "rows per lane, at least 1")
	return cmd
}

func (a *app) rowsList(ctx context.Context, args []string, kind string, limit int) error {
	cfg, err := a.loadConfig(a.config)
	if err != nil {
		return badInput(err)
	}
	lanes, err := lanes(cfg, args, kind)
	if err != nil {
		return badInput(err)
	}
	if limit < 1 {
		return badInput(errors.New("--limit: at least 1"))
	}
	client, err := a.dynamoDB(ctx)
	if err != nil {
		return err
	}
	store := outboxdb.New(client, outboxTable())
	views := []rowView{}
	for _, lane := range lanes {
		rows, err := laneRows(ctx, store, lane, limit)
		if err != nil {
			return explain(err)
		}
		for _, row := range rows {
			views = append(views, view(row))
		}
	}
	if a.output == inJSON {
		return a.printJSON(views)
	}
	return a.printTable(listing(views))
}

// lanes are those of one destination or of all, of one kind or of all.
func lanes(cfg *config.Config, args []string, kind string) ([]outbox.Lane, error) {
	kinds := []outbox.LaneKind{outbox.DueLane, outbox.UnknownLane, outbox.FailedLane}
	if kind != "" {
		if !slices.Contains(kinds, outbox.LaneKind(kind)) {
			return nil, errors.New("--lane: allowed are due, unknown, failed")
		}
		kinds = []outbox.LaneKind{outbox.LaneKind(kind)}
	}
	names := cfg.Names()
	if len(args) == 1 {
		if _, ok := cfg.Destinations[args[0]]; !ok {
			return nil, fmt.Errorf("%q is no destination of the configuration", args[0])
		}
		names = args
	}
	var all []outbox.Lane
	for _, name := range names {
		for _, kind := range kinds {
			for shard := range cfg.Destinations[name].Shards {
				all = append(all, outbox.Lane{Kind: kind, Destination: name, Shard: shard})
			}
		}
	}
	return all, nil
}

// endOfTime is later than any lane_at.
var endOfTime = time.UnixMilli(253402300799999)

// laneRows reads the first rows of a lane. A row that left the lane since the index was written is left out.
func laneRows(ctx context.Context, store outbox.Store, lane outbox.Lane, limit int) ([]outbox.Row, error) {
	var rows []outbox.Row
	for after := ""; ; {
		entries, next, err := store.List(ctx, lane, endOfTime, after)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if len(rows) == limit {
				return rows, nil
			}
			row, err := store.Get(ctx, e.ID)
			switch {
			case errors.Is(err, outbox.ErrNotFound):
				continue
			case err != nil:
				return nil, err
			case row.Lane == lane || row.Unreadable != nil:
				rows = append(rows, row)
			}
		}
		if next == "" {
			return rows, nil
		}
		after = next
	}
}

func listing(views []rowView) [][]string {
	out := [][]string{{"ROW", "STATUS", "ATTEMPTS", "NEXT", "CREATED", "CODE"}}
	for _, v := range views {
		out = append(out, []string{v.Name, v.Status, strconv.Itoa(v.AttemptCount), stamp(v.LaneAt), stamp(v.CreatedAt), cmp.Or(v.Code, "-")})
	}
	return out
}
