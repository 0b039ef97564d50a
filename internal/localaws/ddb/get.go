package ddb

import (
	"cmp"
	"time"

	"github.com/landfall-dev/landfall/internal/localaws/ddb/attr"
	"github.com/landfall-dev/landfall/internal/localaws/ddb/expr"
	"github.com/landfall-dev/landfall/internal/localaws/faults"
	"github.com/landfall-dev/landfall/internal/localaws/ledger"
	"github.com/landfall-dev/landfall/internal/localaws/wire"
)

type getInput struct {
	TableName            *string
	Key                  attr.Map
	ProjectionExpression *string
	params
	ConsistentRead         bool
	ReturnConsumedCapacity string
}

type getAnswer struct {
	Item             attr.Map  `json:",omitzero"`
	ConsumedCapacity *consumed `json:",omitempty"`
}

// lookup is a read of one item that was checked as far as that needs no table.
type lookup struct {
	target
	projection *expr.Projection
	factor     float64 // of its cost: 0.5, 1 if consistent, 2 in a transaction
}

func (in *getInput) lookup() (lookup, error) {
	var c constraints
	l := lookup{target: target{c.tableName(in.TableName), in.Key}, factor: 0.5}
	if in.ConsistentRead {
		l.factor = 1
	}
	c.required("key", in.Key != nil)
	c.asked(in.ReturnConsumedCapacity)
	if err := c.err(); err != nil {
		return l, err
	}
	scope, err := in.scope(map[string]*string{"ProjectionExpression": in.ProjectionExpression})
	if err != nil {
		return l, err
	}
	l.projection, err = parseProjection(in.ProjectionExpression, scope)
	return l, cmp.Or(err, invalid("", scope.Unused()))
}

// found is the item and what reading it consumes.
func (db *DB) found(l lookup, now time.Time) (attr.Map, ledger.Cost, error) {
	t, err := db.table(l.table)
	if err != nil {
		return nil, ledger.Cost{}, err
	}
	if err := t.key.check(l.key); err != nil {
		return nil, ledger.Cost{}, err
	}
	item := t.items.get(string(t.key.position(l.key)))
	cost := ledger.Cost{Table: t.name, Read: l.factor * readUnits(item.Size(), true)}
	if err := db.affordable(t, now, charge{cost, l.key[t.key.hash.name]}); err != nil {
		return nil, ledger.Cost{}, err
	}
	if item != nil && l.projection != nil {
		item = l.projection.Apply(item)
	}
	return item, cost, nil
}

func (db *DB) getItem(in *getInput) (operation, error) {
	l, err := in.lookup()
	if err != nil {
		return operation{}, err
	}
	return operation{resource: l.table, run: func(now time.Time, _ faults.Fault) wire.Outcome {
		item, cost, err := db.found(l, now)
		if err != nil {
			return failed(err)
		}
		costs := []ledger.Cost{cost}
		return wire.Outcome{Answer: getAnswer{item, db.one(in.ReturnConsumedCapacity, costs)}, Costs: costs}
	}}, nil
}
