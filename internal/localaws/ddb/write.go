package ddb

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/landfall-dev/landfall/internal/localaws/ddb/attr"
	"github.com/landfall-dev/landfall/internal/localaws/ddb/expr"
	"github.com/landfall-dev/landfall/internal/localaws/faults"
	"github.com/landfall-dev/landfall/internal/localaws/wire"
)

// writeInput are the parameters of PutItem, UpdateItem, DeleteItem and of the parts of a transaction.
type writeInput struct {
	TableName           *string
	Item, Key           attr.Map
	UpdateExpression    *string
	ConditionExpression *string
	params
	ReturnValues                        string
	ReturnConsumedCapacity              string
	ReturnItemCollectionMetrics         string
	ReturnValuesOnConditionCheckFailure string
}

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
			id := t.name + "/" + string(t.key.position(key))
			if seen[id] {
				return validation("%s", refusal)
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
	target
	verb      verb
	condition *expr.Condition
	update    *expr.Update
	showOld   bool // in the error, if the condition fails
}

// mutation checks the parameters of a write.
func (in *writeInput) mutation(v verb) (*mutation, error) {
	var c constraints
	m := &mutation{target: target{c.tableName(in.TableName), in.Key}, verb: v}
	if v == put {
		m.key = in.Item
	}
	c.required(map[bool]string{true: "item", false: "key"}[v == put], m.key != nil)
	c.asked(in.ReturnConsumedCapacity)
	c.enum("returnItemCollectionMetrics", in.ReturnItemCollectionMetrics, "SIZE", "NONE")
	c.enum("returnValues", in.ReturnValues, "ALL_NEW", "UPDATED_OLD", "ALL_OLD", "NONE", "UPDATED_NEW")
	c.enum("returnValuesOnConditionCheckFailure", in.ReturnValuesOnConditionCheckFailure, "ALL_OLD", "NONE")
	m.showOld = in.ReturnValuesOnConditionCheckFailure == "ALL_OLD"
	forUpdates := in.ReturnValues != "" && in.ReturnValues != "NONE" && in.ReturnValues != "ALL_OLD"
	if err := cmp.Or(c.err(), forbid(v != update && forUpdates, "Return values set to invalid value")); err != nil {
		return nil, err
	}
	return m, cmp.Or(m.parse(in), forbid(v == put && in.Item.Size() > maxItem, "Item size has exceeded the maximum allowed size"))
}

func (m *mutation) parse(in *writeInput) error {
	expressions := map[string]*string{"ConditionExpression": in.ConditionExpression}
	if m.verb == update {
		expressions["UpdateExpression"] = in.UpdateExpression
	}
	scope, err := in.scope(expressions)
	if err != nil {
		return err
	}
	if m.verb == update {
		if m.update, err = parsed("UpdateExpression", in.UpdateExpression, scope, expr.ParseUpdate); err != nil {
			return err
		}
	}
	m.condition, err = parseCondition("ConditionExpression", in.ConditionExpression, scope)
	return cmp.Or(err, invalid("", scope.Unused()))
}

// locate is the table and the position of the item; the key is checked.
func (db *DB) locate(m *mutation) (change, error) {
	t, err := db.table(m.table)
	if err != nil {
		return change{}, err
	}
	valid := t.key.check
	if m.verb == put {
		valid = t.key.checkItem
	}
	if err := valid(m.key); err != nil {
		return change{}, err
	}
	if m.update != nil {
		for _, p := range m.update.Paths(true) {
			if t.key.has(p[0].Name) {
				return change{}, validation(invalidParameters+"Cannot update attribute %s. This attribute is part of the key", p[0].Name)
			}
		}
	}
	c := change{table: t, position: string(t.key.position(m.key))}
	c.old = t.items.get(c.position)
	c.new = c.old
	return c, nil
}

var errCondition = errors.New("condition failed")

// decide completes a located change: what the item will be, or errCondition, or a validation error.
func (m *mutation) decide(c *change) error {
	if m.condition != nil && !m.condition.Matches(c.old) {
		return errCondition
	}
	switch m.verb {
	case put:
		c.new = m.key
	case remove:
		c.new = nil
	case update:
		item := c.old
		if item == nil {
			item = m.key
		}
		if m.update != nil {
			var err error
			if item, err = m.update.Apply(item); err != nil {
				return invalid("", err)
			}
			if err := checkUpdated(item); err != nil {
				return err
			}
		}
		c.new = item
	}
	if c.new == nil {
		return nil
	}
	return c.table.check(c.new)
}

func checkUpdated(item attr.Map) error {
	return cmp.Or(
		forbid(item.Size() > maxItem, "Item size to update has exceeded the maximum allowed size"),
		forbid(attr.Depth(item)-1 > attr.MaxDepth, "Nesting Levels have exceeded supported limits: Attributes can have at most %d levels", attr.MaxDepth),
	)
}

type writeAnswer struct {
	Attributes            attr.Map               `json:",omitempty"`
	ConsumedCapacity      *consumed              `json:",omitempty"`
	ItemCollectionMetrics *itemCollectionMetrics `json:",omitempty"`
}

func (db *DB) putItem(in *writeInput) (operation, error) { return db.write(put, in) }

func (db *DB) updateItem(in *writeInput) (operation, error) { return db.write(update, in) }

func (db *DB) deleteItem(in *writeInput) (operation, error) { return db.write(remove, in) }

func (db *DB) write(v verb, in *writeInput) (operation, error) {
	m, err := in.mutation(v)
	if err != nil {
		return operation{}, err
	}
	return operation{resource: m.table, run: func(now time.Time, _ faults.Fault) wire.Outcome { return db.writeOne(now, in, m) }}, nil
}

func (db *DB) writeOne(now time.Time, in *writeInput, m *mutation) wire.Outcome {
	c, err := db.locate(m)
	if err != nil {
		return failed(err)
	}
	if c.table.held[c.position] {
		return failed(conflict())
	}
	switch err := m.decide(&c); {
	case err == errCondition:
		return failed(conditionFailed(c.old, m.showOld), c.refused())
	case err != nil:
		return failed(err)
	}
	charges := c.charges(1)
	if err := db.affordable(c.table, now, charges...); err != nil {
		return failed(err)
	}
	costs := costsOf(charges)
	c.apply(now)
	answer := writeAnswer{Attributes: returned(in.ReturnValues, m, c), ConsumedCapacity: db.one(in.ReturnConsumedCapacity, costs)}
	if in.ReturnItemCollectionMetrics == "SIZE" {
		answer.ItemCollectionMetrics = c.collection()
	}
	return wire.Outcome{Answer: answer, Costs: costs}
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

// itemCollectionMetrics is what is known of the items that share a hash key, in a table with local indexes.
type itemCollectionMetrics struct {
	ItemCollectionKey   attr.Map
	SizeEstimateRangeGB [2]float64
}

func (c change) collection() *itemCollectionMetrics {
	item, hash := c.item(), c.table.key.hash.name
	local := slices.ContainsFunc(c.table.indexes, func(ix *index) bool { return ix.local })
	if item == nil || !local {
		return nil
	}
	return &itemCollectionMetrics{attr.Map{hash: item[hash]}, [2]float64{0, 1}}
}
