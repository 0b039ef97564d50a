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
	cmd := a.command("list [DESTINATION]", "List rows that are not completed",
		`Rows are listed lane by lane, in the order in which they need attention. Lanes
are due (pending or dispatching), unknown (outcome_unknown) and failed. A
completed row is in no lane: find it with rows get. --older-than counts from
when an attempt may first have arrived, else from when the row was put.`,
		takes(0, 1), func(ctx context.Context, args []string) error {
			if len(args) == 1 {
				if f.destination != "" {
					return badInputf("--destination %s: the argument names a destination, too; give one of them", f.destination)
				}
				f.destination = args[0]
			}
			return a.rowsList(ctx, f)
		})
	flags := cmd.Flags()
	flags.StringVar(&f.destination, "destination", "", "the same as DESTINATION (default: all)")
	flags.StringVar(&f.lane, "lane", "", "due, unknown or failed (default: all)")
	flags.IntVar(&f.limit, "limit", 100, "rows per lane, at least 1")
	flags.DurationVar(&f.olderThan, "older-than", 0, "only rows older than this, such as 1h (default: all)")
	flags.StringVar(&f.status, "status", "", "pending, dispatching, outcome_unknown or failed (default: all)")
	return cmd
}

// rowFilter says which rows are listed. A field that is empty or 0 restricts nothing.
type rowFilter struct {
	destination, lane, status string
	olderThan                 time.Duration
	limit                     int // rows per lane
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

func (a *app) rowsList(ctx context.Context, f rowFilter) error {
	cfg, err := a.loadConfig()
	if err != nil {
		return err
	}
	lanes, err := f.lanes(cfg)
	if err != nil {
		return badInput(err)
	}
	table, err := a.outbox(ctx)
	if err != nil {
		return err
	}
	store := outboxdb.New(table.db, table.name)
	views, cells := []rowView{}, [][]string{{"ROW", "STATUS", "ATTEMPT COUNT", "LANE AT", "CREATED AT", "CODE"}}
	for _, lane := range lanes {
		rows, err := f.rows(ctx, store, lane)
		if err != nil {
			return table.explain(err)
		}
		for _, row := range rows {
			v := view(row)
			views = append(views, v)
			cells = append(cells, []string{v.Name, v.Status, strconv.Itoa(v.AttemptCount), stamp(v.LaneAt), stamp(v.CreatedAt), cmp.Or(v.Code, "-")})
		}
	}
	return a.print(views, cells)
}

// lanes are those of one destination or of all, of one kind or of all.
func (f rowFilter) lanes(cfg *config.Config) ([]outbox.Lane, error) {
	kinds := []outbox.LaneKind{outbox.DueLane, outbox.UnknownLane, outbox.FailedLane}
	if f.lane != "" {
		if !slices.Contains(kinds, outbox.LaneKind(f.lane)) {
			return nil, fmt.Errorf("--lane %s: choose due, unknown or failed", f.lane)
		}
		kinds = []outbox.LaneKind{outbox.LaneKind(f.lane)}
	}
	if f.status != "" {
		kind, ok := laneOf[f.status]
		if !ok {
			return nil, fmt.Errorf("--status %s: choose pending, dispatching, outcome_unknown or failed; completed rows are not listed, find one with rows get", f.status)
		}
		if !slices.Contains(kinds, kind) {
			return nil, fmt.Errorf("--status %s: rows of this status are in lane %s, not in --lane %s", f.status, kind, f.lane)
		}
		kinds = []outbox.LaneKind{kind}
	}
	if f.olderThan < 0 {
		return nil, fmt.Errorf("--older-than %v: want a positive duration such as 1h", f.olderThan)
	}
	if f.limit < 1 {
		return nil, fmt.Errorf("--limit %d: want 1 or more", f.limit)
	}
	names := cfg.Names()
	if f.destination != "" {
		if _, ok := cfg.Destinations[f.destination]; !ok {
			return nil, unknownDestination(cfg, f.destination)
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

// endOfTime is later than any lane_at, even one that a writer gave in nanoseconds.
var endOfTime = time.UnixMilli(math.MaxInt64)

// rows reads the first rows of a lane that f admits. A row that has left the lane since the index was written is left out.
func (f rowFilter) rows(ctx context.Context, store outbox.Store, lane outbox.Lane) ([]outbox.Row, error) {
	var rows []outbox.Row
	for after := ""; ; {
		entries, next, err := store.List(ctx, lane, endOfTime, after)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if len(rows) == f.limit {
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
