package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outboxdb"
)

func (a *app) rowsListCommand() *cobra.Command {
	var f rowFilter
	var limit int
	cmd := &cobra.Command{
		Use:   "list [DESTINATION]",
		Short: "List rows that are not completed, lane by lane",
		Long: `List rows that are not completed, lane by lane, in the order in which they want attention.

Lanes are due (pending or dispatching), unknown and failed. A completed row is in no lane; rows get finds it.
--older-than counts from when an attempt may have arrived first, else from when the row was put.`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.do(func(ctx context.Context, args []string) error {
			if len(args) == 1 {
				if f.destination != "" {
					return badInput(errors.New("--destination: the destination is named twice"))
				}
				f.destination = args[0]
			}
			return a.rowsList(ctx, f, limit)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.destination, "destination", "", "the same as DESTINATION (default all)")
	flags.StringVar(&f.lane, "lane", "", "due, unknown or failed (default all)")
	flags.IntVar(&limit, "limit", 100, "rows per lane, at least 1")
	flags.DurationVar(&f.olderThan, "older-than", 0, "only rows older than this, such as 1h (default all)")
	flags.StringVar(&f.status, "status", "", "pending, dispatching, outcome_unknown or failed (default all)")
	return cmd
}

// rowFilter says which rows are meant; what is empty or 0 restricts nothing.
type rowFilter struct {
	destination, lane, status string
	olderThan                 time.Duration
}

// laneOf is where rows of a status are.
var laneOf = map[string]outbox.LaneKind{
	string(outbox.StatusPending): outbox.DueLane, string(outbox.StatusDispatching): outbox.DueLane,
	string(outbox.StatusOutcomeUnknown): outbox.UnknownLane, string(outbox.StatusFailed): outbox.FailedLane,
}

func (f rowFilter) admits(row outbox.Row, now time.Time) bool {
	since := row.CreatedAt
	if row.MayHaveArrived() {
		since = row.MaybeSince
	}
	return (f.status == "" || string(row.Status) == f.status) && (f.olderThan == 0 || now.Sub(since) > f.olderThan)
}

func (a *app) rowsList(ctx context.Context, f rowFilter, limit int) error {
	cfg, err := a.loadConfig(a.config)
	if err != nil {
		return badInput(err)
	}
	lanes, err := f.lanes(cfg)
	if err != nil {
		return badInput(err)
	}
	if limit < 1 {
		return badInput(errors.New("--limit: at least 1"))
	}
	at, err := a.outbox(ctx)
	if err != nil {
		return err
	}
	store := outboxdb.New(at, at.name)
	views := []rowView{}
	for _, lane := range lanes {
		rows, err := f.rows(ctx, store, lane, limit)
		if err != nil {
			return at.explain(err)
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
func (f rowFilter) lanes(cfg *config.Config) ([]outbox.Lane, error) {
	kinds := []outbox.LaneKind{outbox.DueLane, outbox.UnknownLane, outbox.FailedLane}
	if f.lane != "" {
		if !slices.Contains(kinds, outbox.LaneKind(f.lane)) {
			return nil, errors.New("--lane: allowed are due, unknown, failed")
		}
		kinds = []outbox.LaneKind{outbox.LaneKind(f.lane)}
	}
	if f.status != "" {
		kind, ok := laneOf[f.status]
		if !ok {
			return nil, errors.New("--status: allowed are pending, dispatching, outcome_unknown, failed; completed rows are in no lane")
		}
		if !slices.Contains(kinds, kind) {
			return nil, fmt.Errorf("--status: no row of lane %s is %s", f.lane, f.status)
		}
		kinds = []outbox.LaneKind{kind}
	}
	if f.olderThan < 0 {
		return nil, errors.New("--older-than: want a duration such as 1h")
	}
	names := cfg.Names()
	if f.destination != "" {
		if _, ok := cfg.Destinations[f.destination]; !ok {
			return nil, fmt.Errorf("%q is no destination of the configuration", f.destination)
		}
		names = []string{f.destination}
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

// endOfTime is later than any lane_at, and than those that a writer took for nanoseconds.
var endOfTime = time.UnixMilli(math.MaxInt64)

// rows reads the first rows of a lane that are meant. One that left the lane since the index was written is left out.
func (f rowFilter) rows(ctx context.Context, store outbox.Store, lane outbox.Lane, limit int) ([]outbox.Row, error) {
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
			case (row.Lane == lane || row.Unreadable != nil) && f.admits(row, time.Now()):
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
