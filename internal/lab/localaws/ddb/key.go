package ddb

import (
	"cmp"
	"crypto/sha256"
	"slices"

	"github.com/landfall-dev/landfall/internal/lab/localaws/attr"
	"github.com/landfall-dev/landfall/internal/lab/localaws/wire"
)

// maxKeySizes are the most bytes of a hash key and of a sort key.
var maxKeySizes = [2]int{2048, 1024}

// keyAttr is an attribute of a key and its type: S, N or B.
type keyAttr struct {
	name string
	typ  attr.Type
}

// keySchema is the key of a table or index: the hash key, then the sort key if there is one. It is also all by which
// the entries of an index are in order: its own key, then the table's.
type keySchema []keyAttr

// sort is the sort key, without a name if there is none.
func (k keySchema) sort() keyAttr {
	if len(k) < 2 {
		return keyAttr{}
	}
	return k[1]
}

func (k keySchema) has(name string) bool {
	return slices.ContainsFunc(k, func(a keyAttr) bool { return a.name == name })
}

// within reports whether an item has all attributes of the key, of their types.
func (k keySchema) within(item attr.Map) bool {
	return !slices.ContainsFunc(k, func(a keyAttr) bool {
		v := item[a.name]
		return v == nil || v.Type() != a.typ
	})
}

// pick is the key of an item.
func (k keySchema) pick(item attr.Map) attr.Map {
	key := attr.Map{}
	for _, a := range k {
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

// position is where an item, which has the key, stands in order.
func (k keySchema) position(item attr.Map) string {
	p := partition(item[k[0].name])
	for _, a := range k[1:] {
		p = attr.AppendKey(p, item[a.name])
	}
	return string(p)
}

// check is an error unless key has the attributes of the schema and no others, of the right types and sizes.
func (k keySchema) check(key attr.Map) error {
	if len(key) != len(k) || !k.within(key) {
		return wire.Validation("The provided key element does not match the schema")
	}
	return k.checkSizes(key)
}

// emptyValue names the types of which a key has no empty value; all numbers have some digits.
var emptyValue = map[attr.Type]string{attr.TypeS: "empty string value", attr.TypeB: "empty binary value"}

func (k keySchema) checkSizes(item attr.Map) error {
	for i, a := range k {
		size := attr.Size(item[a.name])
		if err := cmp.Or(
			wire.Forbid(size == 0,
				"One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain "+
					"an %s. Key: %s", emptyValue[a.typ], a.name),
			wire.Forbid(i == 0 && size > maxKeySizes[i],
				invalidParameters+"Size of hashkey has exceeded the maximum size limit of%d bytes", maxKeySizes[i]),
			wire.Forbid(size > maxKeySizes[i],
				invalidParameters+"Aggregated size of all range keys has exceeded the size limit of %d bytes",
				maxKeySizes[i]),
		); err != nil {
			return err
		}
	}
	return nil
}

// checkItem is an error unless an item that is about to be put has a key.
func (k keySchema) checkItem(item attr.Map) error {
	for _, a := range k {
		switch v := item[a.name]; {
		case v == nil:
			return wire.Validation(invalidParameters+"Missing the key %s in the item", a.name)
		case v.Type() != a.typ:
			return wire.Validation(invalidParameters+"Type mismatch for key %s expected: %s actual: %s", a.name, a.typ, v.Type())
		}
	}
	return k.checkSizes(item)
}
