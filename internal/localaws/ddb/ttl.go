package ddb

import (
	"time"

	"github.com/landfall-dev/landfall/internal/localaws/ddb/attr"
	"github.com/landfall-dev/landfall/internal/localaws/wire"
)

type ttlSpec struct {
	AttributeName string
	Enabled       bool
}

func (db *DB) updateTimeToLive(body []byte) (operation, error) {
	var in struct {
		TableName               *string
		TimeToLiveSpecification *ttlSpec
	}
	if err := wire.Decode(body, &in); err != nil {
		return operation{}, err
	}
	var c constraints
	name := c.tableName(in.TableName)
	spec := in.TimeToLiveSpecification
	if spec == nil {
		c.add("null", "timeToLiveSpecification", "Member must not be null")
	} else {
		c.between("timeToLiveSpecification.attributeName", "'"+spec.AttributeName+"'", "length", len(spec.AttributeName), 1, 255)
	}
	if err := c.err(); err != nil {
		return operation{}, err
	}
	return onTable(name, func(time.Time) (any, error) {
		t, err := db.existing(name)
		switch {
		case err != nil:
			return nil, err
		case spec.Enabled && t.ttl == spec.AttributeName:
			return nil, validation("TimeToLive is already enabled")
		case spec.Enabled && t.ttl != "":
			return nil, validation("TimeToLive is active on a different AttributeName: current AttributeName is %s", t.ttl)
		case !spec.Enabled && t.ttl == "":
			return nil, validation("TimeToLive is already disabled")
		case !spec.Enabled && t.ttl != spec.AttributeName:
			return nil, validation("TimeToLive is active on a different AttributeName: current AttributeName is %s", t.ttl)
		}
		t.ttl = ""
		if spec.Enabled {
			t.ttl = spec.AttributeName
		}
		return map[string]any{"TimeToLiveSpecification": spec}, nil
	}), nil
}

func (db *DB) describeTimeToLive(body []byte) (operation, error) {
	return db.describing(body, func(t *table) any {
		d := map[string]any{"TimeToLiveStatus": "DISABLED"}
		if t.ttl != "" {
			d = map[string]any{"TimeToLiveStatus": "ENABLED", "AttributeName": t.ttl}
		}
		return map[string]any{"TimeToLiveDescription": d}
	})
}

// ReapExpired deletes the items whose time to live ended before now, and returns how many. It consumes nothing.
func (db *DB) ReapExpired(now time.Time) int {
	reaped := 0
	limit := attr.NumberOf(int(now.Unix()))
	oldest := attr.NumberOf(int(now.AddDate(-5, 0, 0).Unix())) // older ones are taken for mistakes and stay
	for _, name := range db.names() {
		t := db.tables[name]
		if t.ttl == "" {
			continue
		}
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
