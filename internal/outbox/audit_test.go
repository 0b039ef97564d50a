package outbox

import (
	"errors"
	"testing"
	"time"
)

func TestAuditFindsRowsThatWouldNeverEnd(t *testing.T) {
	t.Parallel()
	policies := map[string]Policy{"charge": {Shards: 4}, "old": {Retired: true}}
	for name, c := range map[string]struct {
		change func(*Row)
		found  bool
	}{
		"in flight":              {func(r *Row) {}, false},
		"pending":                {func(r *Row) { r.Status = StatusPending }, false},
		"pending, for next year": {func(r *Row) { r.Status, r.LaneAt = StatusPending, start.Add(8760*time.Hour) }, false},
		"completed":              {func(r *Row) { r.Status, r.Lane = StatusCompleted, Lane{} }, false},
		"failed of a gone one":   {func(r *Row) { r.Status, r.Destination = StatusFailed, "gone" }, false},
		"retired, long due": {func(r *Row) {
			r.Status, r.Destination, r.LaneAt, r.Until = StatusPending, "old", start.Add(-time.Hour), start
			r.Lane.Shard = 0
		}, false},
		"unknown, long":           {func(r *Row) { r.Status, r.LaneAt = StatusOutcomeUnknown, start.Add(-time.Hour) }, false},
		"unreadable":              {func(r *Row) { r.Unreadable = errors.New("lane missing") }, true},
		"unreadable, terminal":    {func(r *Row) { r.Status, r.Unreadable = StatusFailed, errors.New("lane missing") }, true},
		"not configured":          {func(r *Row) { r.Destination = "gone" }, true},
		"unknown, not configured": {func(r *Row) { r.Status, r.Destination = StatusOutcomeUnknown, "gone" }, true},
		"lane beyond the shards":  {func(r *Row) { r.Lane.Shard = 4 }, true},
		"pending, due long ago":   {func(r *Row) { r.Status, r.LaneAt, r.Until = StatusPending, start.Add(-time.Hour), time.Time{} }, true},
		"abandoned long ago":      {func(r *Row) { r.Until = start.Add(-time.Hour); r.LaneAt = r.Until }, true},
	} {
		row := claimedRow(1, false)
		c.change(&row)
		if got := Audit(policies, row, start); (got != "") != c.found {
			t.Errorf("%s: %q, want a finding = %v", name, got, c.found)
		}
	}
}
