package ddb

import (
	"cmp"
	"crypto/sha256"
	"slices"

	"github.com/landfall-dev/landfall/internal/localaws/ddb/attr"
	"github.com/landfall-dev/landfall/internal/localaws/wire"
)

// Size limits of keys, in bytes.
const (
	maxHashKey = 2048
	maxSortKey = 1024
)

// keyAttr is an attribute of a key and its type: S, N or B.
type keyAttr struct {
	name string
	typ  attr.Type
}

// keySchema is the key of a table or index; sort.name is empty if it has none.
type keySchema struct{ hash, sort keyAttr }

func (k keySchema) attrs() []keyAttr {
	if k.sort.name == "" {
		return []keyAttr{k.hash}
	}
	return []keyAttr{k.hash, k.sort}
}

func (k keySchema) has(name string) bool {
	return name == k.hash.name || name == k.sort.name
}

// within reports whether an item has all attributes of the key, of their types.
func (k keySchema) within(item attr.Map) bool {
	return !slices.ContainsFunc(k.attrs(), func(a keyAttr) bool {
		v := item[a.name]
		return v == nil || v.Type() != a.typ
	})
}

// pick is the key of an item.
func (k keySchema) pick(item attr.Map) attr.Map {
	key := attr.Map{}
	for _, a := range k.attrs() {
		if v := item[a.name]; v != nil {
			key[a.name] = v
		}
	}
	return key
}

// partition is what the positions of all items with a hash key begin with: a hash that spreads them, then the key.
func partition(hash attr.Value) []byte {
	encoded := attr.AppendKey(make([]byte, 8, 64), hash)
	sum := sha256.Sum256(encoded[8:])
	copy(encoded, sum[:8])
	return encoded
}

// position is where an item, which has the key, stands in the table's order.
func (k keySchema) position(item attr.Map) []byte {
	p := partition(item[k.hash.name])
	if k.sort.name != "" {
		p = attr.AppendKey(p, item[k.sort.name])
	}
	return p
}

// check is an error unless key has the attributes of the schema and no others, of the right types and sizes.
func (k keySchema) check(key attr.Map) error {
	if len(key) != len(k.attrs()) || !k.within(key) {
		return wire.Validation("The provided key element does not match the schema")
	}
	return k.checkSizes(key)
}

// emptyValue names the types of which a key has no empty value; all numbers have some digits.
var emptyValue = map[attr.Type]string{attr.TypeS: "empty string value", attr.TypeB: "empty binary value"}

func (k keySchema) checkSizes(item attr.Map) error {
	for _, a := range k.attrs() {
		size := attr.Size(item[a.name])
		if err := cmp.Or(
			wire.Forbid(size == 0, "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an %s. Key: %s", emptyValue[a.typ], a.name),
			wire.Forbid(a == k.hash && size > maxHashKey, invalidParameters+"Size of hashkey has exceeded the maximum size limit of%d bytes", maxHashKey),
			wire.Forbid(a == k.sort && size > maxSortKey, invalidParameters+"Aggregated size of all range keys has exceeded the size limit of %d bytes", maxSortKey),
		); err != nil {
			return err
		}
	}
	return nil
}

// checkItem is an error unless an item that is about to be put has a key.
func (k keySchema) checkItem(item attr.Map) error {
	for _, a := range k.attrs() {
		switch v := item[a.name]; {
		case v == nil:
			return wire.Validation(invalidParameters+"Missing the key %s in the item", a.name)
		case v.Type() != a.typ:
			return wire.Validation(invalidParameters+"Type mismatch for key %s expected: %s actual: %s", a.name, a.typ, v.Type())
		}
	}
	return k.checkSizes(item)
}
