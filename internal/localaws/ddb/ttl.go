package ddb

import (
	"time"

	"github.com/landfall-dev/landfall/internal/localaws/ddb/attr"
)

// ReapExpired deletes the items whose time to live ended before now, and returns how many. It consumes nothing.
func (db *DB) ReapExpired(now time.Time) int {
	reaped := 0
	for _, t := range db.tables {
		if t.ttl == "" {
			continue
		}
		limit := attr.NumberOf(int(now.Unix()))
		oldest := attr.NumberOf(int(now.AddDate(-5, 0, 0).Unix())) // older ones are taken for mistakes and stay
		var expired []change
		for e := range t.items.ascend("") {
			at, ok := e.item[t.ttl].(attr.Number)
			if ok && at.Compare(limit) < 0 && at.Compare(oldest) > 0 && !t.held[e.key] {
				expired = append(expired, change{table: t, position: e.key, old: e.item})
			}
		}
		for _, c := range expired {
			c.apply(now)
		}
		reaped += len(expired)
	}
	return reaped
}
