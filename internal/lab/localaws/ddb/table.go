package ddb

import (
	"cmp"
	"slices"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/localaws/attr"
	"github.com/landfall-dev/landfall/internal/lab/localaws/ddb/expr"
	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
	"github.com/landfall-dev/landfall/internal/lab/localaws/streams"
	"github.com/landfall-dev/landfall/internal/lab/localaws/wire"
)

// maxItem is the largest item, in bytes.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
const maxItem = 400 << 10

// table is a table with its items and indexes.
type table struct {
	name    string
	id      string
	created time.Time
	spec    tableSpec
	key     keySchema
	items   store
	indexes []*index
	held    map[string]bool // positions of items that a transaction holds
	ttl     string          // attribute; empty if items do not expire
	spent   spending
	tags    []tag
	stream  *streams.Stream // nil if it has none
}

// index is a secondary index; local ones share the table's hash key.
type index struct {
	name    string
	local   bool
	spec    indexSpec
	key     keySchema
	order   keySchema       // by which entries are in order
	keep    map[string]bool // attributes that entries have; nil for all
	items   store
	history []indexChange // latest last, for stale reads
}

type indexChange struct {
	at  time.Time
	key string
	old attr.Map
}

// entry is the item as the index has it, nil if it is not in it: an item without the index's key attributes.
func (ix *index) entry(item attr.Map) attr.Map {
	if !ix.key.within(item) {
		return nil
	}
	if ix.keep == nil {
		return item
	}
	entry := attr.Map{}
	for name, v := range item {
		if ix.keep[name] {
			entry[name] = v
		}
	}
	return entry
}

// lacks is the first attribute of a projection that entries do not have, empty if there is none.
func (ix *index) lacks(p *expr.Projection) string {
	if p != nil && ix.keep != nil {
		for _, name := range p.Names() {
			if !ix.keep[name] {
				return name
			}
		}
	}
	return ""
}

// checkKeys is an error if an item has a key attribute of the index of another type, or empty, or too large.
func (ix *index) checkKeys(item attr.Map) error {
	for i, a := range ix.key {
		v := item[a.name]
		if v == nil {
			continue
		}
		limit, size := maxKeySizes[i], attr.Size(v)
		if err := cmp.Or(
			wire.Forbid(v.Type() != a.typ,
				invalidParameters+"Type mismatch for Index Key %s Expected: %s Actual: %s IndexName: %s",
				a.name, a.typ, v.Type(), ix.name),
			wire.Forbid(size == 0,
				"One or more parameter values are not valid. A value specified for a secondary index key is not "+
					"supported. The AttributeValue for a key attribute cannot contain an %s. IndexName: %s, "+
					"IndexKey: %s", emptyValue[a.typ], ix.name, a.name),
			wire.Forbid(size > limit,
				invalidParameters+"Size of an index key has exceeded the maximum size limit of %d bytes. IndexName: "+
					"%s, IndexKey: %s", limit, ix.name, a.name),
		); err != nil {
			return err
		}
	}
	return nil
}

// effect is what a change does to the index: an entry goes, one comes; either may be nil. Of one that is replaced in
// its place, only the new one comes, and replaced is the size of the old one.
func (ix *index) effect(c change) (goes, comes attr.Map, replaced int) {
	goes, comes = ix.entry(c.old), ix.entry(c.new)
	switch {
	case goes == nil || comes == nil:
	case attr.Equal(goes, comes):
		return nil, nil, 0
	case ix.order.position(goes) == ix.order.position(comes):
		return nil, comes, goes.Size()
	}
	return goes, comes, 0
}

// set puts an entry at a position; nil removes it. What was there is kept for stale reads.
func (ix *index) set(position string, entry attr.Map, now time.Time) {
	ix.history = append(ix.history, indexChange{now, position, ix.items.get(position)})
	ix.items.set(position, entry)
	past := 0
	for past < len(ix.history) && now.Sub(ix.history[past].at) > faults.MaxStale {
		past++
	}
	ix.history = ix.history[past:]
}

// asOf is the index as it was at a time.
func (ix *index) asOf(t time.Time) *store {
	past := ix.items.clone()
	for i := len(ix.history) - 1; i >= 0 && ix.history[i].at.After(t); i-- {
		past.set(ix.history[i].key, ix.history[i].old)
	}
	return past
}

// checkPaths is an error if a path of an expression leads into one of these attributes, which is part of a key.
func (t *table) checkPaths(entered []string) error {
	const refusal = "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: "
	for _, name := range entered {
		inIndex := slices.ContainsFunc(t.indexes, func(ix *index) bool { return ix.key.has(name) })
		if err := cmp.Or(
			wire.Forbid(t.key.has(name), refusal+"Key: %s", name),
			wire.Forbid(inIndex, refusal+"IndexKey: %s", name),
		); err != nil {
			return err
		}
	}
	return nil
}

// check is an error if the table cannot hold an item.
func (t *table) check(item attr.Map) error {
	for _, ix := range t.indexes {
		if err := ix.checkKeys(item); err != nil {
			return err
		}
	}
	return nil
}

// change is a write that was decided on: the item at a position, before and after. Either may be nil.
type change struct {
	table    *table
	position string
	old, new attr.Map
	expired  bool // its time to live is over
}

// item is the item after the change, or else before it.
func (c change) item() attr.Map {
	if c.new == nil {
		return c.old
	}
	return c.new
}

// apply is the one place where items change.
func (c change) apply(now time.Time) {
	t := c.table
	t.items.set(c.position, c.new)
	t.stream.Add(now, c.position, t.key.pick(c.item()), c.old, c.new, c.expired)
	for _, ix := range t.indexes {
		goes, comes, _ := ix.effect(c)
		if goes != nil {
			ix.set(ix.order.position(goes), nil, now)
		}
		if comes != nil {
			ix.set(ix.order.position(comes), comes, now)
		}
	}
}
