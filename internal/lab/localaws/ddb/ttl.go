package ddb

import (
	"slices"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/localaws/attr"
	"github.com/landfall-dev/landfall/internal/lab/localaws/wire"
)

type ttlInput struct {
	TableName               *string
	TimeToLiveSpecification *struct {
		AttributeName string
		Enabled       bool
	}
}

func (db *DB) updateTimeToLive(in *ttlInput) (operation, error) {
	var c wire.Constraints
	name, spec := tableName(&c, in.TableName), in.TimeToLiveSpecification
	if c.Required("timeToLiveSpecification", spec != nil); spec != nil {
		c.Text("timeToLiveSpecification.attributeName", spec.AttributeName, 1, 255)
	}
	if err := c.Err(); err != nil {
		return operation{}, err
	}
	return db.onExisting(&tableInput{&name}, func(_ *job, t *table) (any, error) {
		switch {
		case spec.Enabled && t.ttl == spec.AttributeName:
			return nil, wire.Validation("TimeToLive is already enabled")
		case !spec.Enabled && t.ttl == "":
			return nil, wire.Validation("TimeToLive is already disabled")
		case t.ttl != "" && t.ttl != spec.AttributeName:
			return nil, wire.Validation("TimeToLive is active on a different AttributeName: current AttributeName is %s", t.ttl)
		}
		if t.ttl = spec.AttributeName; !spec.Enabled {
			t.ttl = ""
		}
		return fields{"TimeToLiveSpecification": spec}, nil
	})
}

func (db *DB) describeTimeToLive(in *tableInput) (operation, error) {
	return db.onExisting(in, func(_ *job, t *table) (any, error) {
		d := fields{"TimeToLiveStatus": "DISABLED"}
		if t.ttl != "" {
			d = fields{"TimeToLiveStatus": "ENABLED", "AttributeName": t.ttl}
		}
		return fields{"TimeToLiveDescription": d}, nil
	})
}

// ReapExpired deletes the items whose time to live ended before now, and returns how many. It consumes nothing.
func (db *DB) ReapExpired(now time.Time) int {
	reaped := 0
	limit := attr.NumberOf(int(now.Unix()))
	oldest := attr.NumberOf(int(now.AddDate(-5, 0, 0).Unix())) // older ones are taken for mistakes and stay
	for _, name := range db.names() {
		t := db.tables[name]
		for _, e := range slices.Clone(t.items.entries) {
			at, ok := e.item[t.ttl].(attr.Number)
			if ok && t.ttl != "" && at.Compare(limit) < 0 && at.Compare(oldest) > 0 && !t.held[e.key] {
				change{table: t, position: e.key, old: e.item, expired: true}.apply(now)
				reaped++
			}
		}
	}
	return reaped
}
