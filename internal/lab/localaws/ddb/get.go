package ddb

import (
	"cmp"
	"fmt"

	"github.com/landfall-dev/landfall/internal/lab/localaws/attr"
	"github.com/landfall-dev/landfall/internal/lab/localaws/ddb/expr"
	"github.com/landfall-dev/landfall/internal/lab/localaws/ledger"
	"github.com/landfall-dev/landfall/internal/lab/localaws/wire"
)

type getAnswer struct {
	Item             attr.Map  `json:",omitzero"`
	ConsumedCapacity *consumed `json:",omitempty"`
}

// lookup is a read of one item that was checked as far as that needs no table.
type lookup struct {
	of         target
	projection *expr.Projection
	entered    []string // see expr.Scope
	factor     float64  // of its cost: 0.5, 1 if consistent, 2 in a transaction
}

func (in *params) lookup() (lookup, error) {
	var c wire.Constraints
	l := lookup{of: target{tableName(&c, in.TableName), in.Key}, factor: 0.5}
	if in.ConsistentRead {
		l.factor = 1
	}
	c.Required("key", in.Key != nil)
	checkCapacity(&c, in.ReturnConsumedCapacity)
	e := in.expressions(c.Err(), map[string]*string{"ProjectionExpression": in.ProjectionExpression})
	l.projection = cmp.Or(parse(e, "ProjectionExpression", expr.ParseProjection), in.legacyProjection())
	l.entered = e.scope.Entered
	return l, e.end()
}

// found is the item, which is paid for.
func (db *DB) found(j *job, l lookup) (attr.Map, error) {
	t, err := db.table(l.of.table)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(t.key.check(l.of.key), t.checkPaths(l.entered)); err != nil {
		return nil, err
	}
	item := t.items.get(t.key.position(l.of.key))
	cost := ledger.Cost{Table: t.name, Read: l.factor * readUnits(item.Size(), true)}
	if err := db.affordable(t, j.now, charge{cost, l.of.key[t.key[0].name]}); err != nil {
		return nil, err
	}
	j.costs = append(j.costs, cost)
	if item != nil && l.projection != nil {
		item = l.projection.Apply(item)
	}
	return item, nil
}

func (db *DB) getItem(in *params) (operation, error) {
	l, err := in.lookup()
	return operation{resource: l.of.table, run: func(j *job) (any, error) {
		item, err := db.found(j, l)
		return getAnswer{item, db.one(in.ReturnConsumedCapacity, j.costs)}, err
	}}, err
}

type transactGetInput struct {
	TransactItems          []struct{ Get *params }
	ReturnConsumedCapacity string
}

type transactGetAnswer struct {
	Responses        []itemAnswer
	ConsumedCapacity []*consumed `json:",omitempty"`
}

type itemAnswer struct {
	Item attr.Map `json:",omitempty"`
}

func (db *DB) transactGetItems(in *transactGetInput) (operation, error) {
	var c wire.Constraints
	c.List("transactItems", len(in.TransactItems), maxTransactItems)
	checkCapacity(&c, in.ReturnConsumedCapacity)
	for i, item := range in.TransactItems {
		c.Required(fmt.Sprintf("transactItems.%d.member.get", i+1), item.Get != nil)
	}
	if err := c.Err(); err != nil {
		return operation{}, err
	}
	lookups := make([]lookup, len(in.TransactItems))
	for i, item := range in.TransactItems {
		var err error
		if lookups[i], err = item.Get.lookup(); err != nil {
			return operation{}, err
		}
		lookups[i].factor = 2
	}
	return operation{
		resource: lookups[0].of.table,
		conflict: conflictAmong(len(lookups)),
		run:      func(j *job) (any, error) { return db.transactGet(j, in, lookups) },
	}, nil
}

// transactGet reads all items, unless one cannot be read or is held by a transaction.
func (db *DB) transactGet(j *job, in *transactGetInput, lookups []lookup) (any, error) {
	if err := once(db, twiceInTransaction, lookups, func(l lookup) target { return l.of }); err != nil {
		return nil, err
	}
	reasons, items, bytes := make([]reason, len(lookups)), make([]itemAnswer, len(lookups)), 0
	for i, l := range lookups {
		item, err := db.found(j, l)
		if t := db.tables[l.of.table]; err == nil && t.held[t.key.position(l.of.key)] {
			err = conflict()
		}
		items[i].Item, reasons[i] = item, because(err)
		bytes += item.Size()
	}
	if err := cmp.Or(cancelled(reasons), tooLarge(bytes)); err != nil {
		j.costs = nil
		return nil, err
	}
	return transactGetAnswer{items, db.consumption(in.ReturnConsumedCapacity, j.costs, true)}, nil
}
