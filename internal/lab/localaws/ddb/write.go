package ddb

import (
	"cmp"
	"slices"

	"github.com/landfall-dev/landfall/internal/lab/localaws/attr"
	"github.com/landfall-dev/landfall/internal/lab/localaws/ddb/expr"
	"github.com/landfall-dev/landfall/internal/lab/localaws/ledger"
	"github.com/landfall-dev/landfall/internal/lab/localaws/wire"
)

type verb string

const (
	put    verb = "Put"
	update verb = "Update"
	remove verb = "Delete"
	check  verb = "ConditionCheck"
)

// target is an item that a request is about; key is its key, or the item itself where it is put.
type target struct {
	table string
	key   attr.Map
}

// once is an error if a table does not exist, or if targets are one item. Keys are for others to complain of.
func once[T any](db *DB, refusal string, list []T, of func(T) target) error {
	seen := map[string]bool{}
	for _, e := range list {
		t, err := db.table(of(e).table)
		if err != nil {
			return err
		}
		if key := of(e).key; t.key.checkItem(key) == nil {
			id := t.name + "/" + t.key.position(key)
			if seen[id] {
				return wire.Validation("%s", refusal)
			}
			seen[id] = true
		}
	}
	return nil
}

const (
	twiceInBatch       = "Provided list of item keys contains duplicates"
	twiceInTransaction = "Transaction request cannot include multiple operations on one item"
)

// mutation is a write that was checked as far as that needs no table.
type mutation struct {
	of        target
	verb      verb
	condition *expr.Condition
	update    *expr.Update
	entered   []string // see expr.Scope
	showOld   bool     // in the error, if the condition fails
}

// mutation checks the parameters of a write.
func (in *params) mutation(v verb) (*mutation, error) {
	var c wire.Constraints
	m := &mutation{of: target{tableName(&c, in.TableName), in.Key}, verb: v}
	if v == put {
		m.of.key = in.Item
	}
	c.Required(map[bool]string{true: "item", false: "key"}[v == put], m.of.key != nil)
	checkCapacity(&c, in.ReturnConsumedCapacity)
	c.Enum("returnItemCollectionMetrics", in.ReturnItemCollectionMetrics, "SIZE", "NONE")
	c.Enum("returnValues", in.ReturnValues, "ALL_NEW", "UPDATED_OLD", "ALL_OLD", "NONE", "UPDATED_NEW")
	c.Enum("returnValuesOnConditionCheckFailure", in.ReturnValuesOnConditionCheckFailure, "ALL_OLD", "NONE")
	m.showOld = in.ReturnValuesOnConditionCheckFailure == "ALL_OLD"
	forUpdates := in.ReturnValues != "" && in.ReturnValues != "NONE" && in.ReturnValues != "ALL_OLD"
	text := map[string]*string{"ConditionExpression": in.ConditionExpression}
	if v == update {
		text["UpdateExpression"] = in.UpdateExpression
	}
	e := in.expressions(cmp.Or(c.Err(), wire.Forbid(v != update && forUpdates,
		"Return values set to invalid value")), text)
	m.update = cmp.Or(parse(e, "UpdateExpression", expr.ParseUpdate), e.updates(in))
	m.condition = cmp.Or(parse(e, "ConditionExpression", expr.ParseCondition), e.comparisons(in.Expected, in.ConditionalOperator))
	m.entered = e.scope.Entered
	return m, cmp.Or(e.end(), wire.Forbid(v == put && in.Item.Size() > maxItem,
		"Item size has exceeded the maximum allowed size"))
}

// locate is the table and the position of the item; the key is checked.
func (db *DB) locate(m *mutation) (change, error) {
	t, err := db.table(m.of.table)
	if err != nil {
		return change{}, err
	}
	if m.verb == put {
		err = t.key.checkItem(m.of.key)
	} else {
		err = t.key.check(m.of.key)
	}
	if m.update != nil {
		for _, p := range m.update.Paths(true) {
			err = cmp.Or(err, wire.Forbid(t.key.has(p[0].Name),
				invalidParameters+"Cannot update attribute %s. This attribute is part of the key", p[0].Name))
		}
	}
	if err = cmp.Or(err, t.checkPaths(m.entered)); err != nil {
		return change{}, err
	}
	c := change{table: t, position: t.key.position(m.of.key)}
	c.old = t.items.get(c.position)
	c.new = c.old
	return c, nil
}

// complete says of a located change what the item will be, or why it cannot be.
func (m *mutation) complete(c *change) error {
	if m.condition != nil && !m.condition.Matches(c.old) {
		return conditionFailed(c.old, m.showOld)
	}
	switch m.verb {
	case put:
		c.new = m.of.key
	case remove:
		c.new = nil
	case update:
		item, err := m.updated(c.old)
		if err != nil {
			return err
		}
		c.new = item
	}
	return c.table.check(c.new)
}

// updated is the item after an update.
func (m *mutation) updated(item attr.Map) (attr.Map, error) {
	switch {
	case item != nil:
	case m.update.Removes(): // which creates no item
		return nil, nil
	default:
		item = m.of.key
	}
	if m.update == nil {
		return item, nil
	}
	item, err := m.update.Apply(item)
	return item, cmp.Or(
		invalid("", err),
		wire.Forbid(item.Size() > maxItem, "Item size to update has exceeded the maximum allowed size"),
		wire.Forbid(attr.Depth(item)-1 > attr.MaxDepth,
			"Nesting Levels have exceeded supported limits: Attributes can have at most %d levels", attr.MaxDepth),
	)
}

// decide makes the change of a write, unless a transaction holds the item.
func (db *DB) decide(m *mutation) (change, error) {
	c, err := db.locate(m)
	switch {
	case err != nil:
		return c, err
	case c.table.held[c.position]:
		return c, conflict()
	}
	err = m.complete(&c)
	return c, err
}

type writeAnswer struct {
	Attributes            attr.Map  `json:",omitempty"`
	ConsumedCapacity      *consumed `json:",omitempty"`
	ItemCollectionMetrics fields    `json:",omitempty"`
}

// writing is the operation of one write.
func writing(v verb) func(*DB, *params) (operation, error) {
	return func(db *DB, in *params) (operation, error) {
		m, err := in.mutation(v)
		return operation{resource: m.of.table, run: func(j *job) (any, error) { return db.write(j, in, m) }}, err
	}
}

func (db *DB) write(j *job, in *params, m *mutation) (any, error) {
	c, err := db.decide(m)
	if code(err) == conditionFailedType {
		j.costs = []ledger.Cost{{Table: c.table.name, Write: writeUnits(c.old.Size())}}
	}
	if err != nil {
		return nil, err
	}
	charges := c.charges(1)
	if err := db.affordable(c.table, j.now, charges...); err != nil {
		return nil, err
	}
	j.costs = costsOf(charges)
	c.apply(j.now)
	answer := writeAnswer{returned(in.ReturnValues, m, c), db.one(in.ReturnConsumedCapacity, j.costs), nil}
	if in.ReturnItemCollectionMetrics == "SIZE" {
		answer.ItemCollectionMetrics = c.collection()
	}
	return answer, nil
}

// returned are the Attributes of an answer.
func returned(asked string, m *mutation, c change) attr.Map {
	switch asked {
	case "ALL_OLD":
		return c.old
	case "ALL_NEW":
		return c.new
	case "UPDATED_OLD", "UPDATED_NEW":
		if m.update == nil {
			return nil
		}
		item, old := c.new, asked == "UPDATED_OLD"
		if old {
			item = c.old
		}
		return expr.Project(m.update.Paths(old)).Apply(item)
	}
	return nil
}

// collection is what is known of the items that share a hash key, in a table with local indexes.
func (c change) collection() fields {
	item, hash := c.item(), c.table.key[0].name
	local := slices.ContainsFunc(c.table.indexes, func(ix *index) bool { return ix.local })
	if item == nil || !local {
		return nil
	}
	return fields{"ItemCollectionKey": attr.Map{hash: item[hash]}, "SizeEstimateRangeGB": [2]float64{0, 1}}
}
