// Package attr holds DynamoDB attribute values: their ten types, their JSON form, equality, order and size.
//
// Values are immutable once made: a change of an item builds new containers along the path that changes, so that
// readers, indexes and history may share everything else. The package knows nothing of tables or expressions.
package attr

import (
	"maps"
	"slices"
	"strings"
)

// Type is the name of a data type as it stands in JSON.
type Type string

// The data types of DynamoDB.
const (
	TypeS    Type = "S"
	TypeN    Type = "N"
	TypeB    Type = "B"
	TypeBool Type = "BOOL"
	TypeNull Type = "NULL"
	TypeL    Type = "L"
	TypeM    Type = "M"
	TypeSS   Type = "SS"
	TypeNS   Type = "NS"
	TypeBS   Type = "BS"
)

// Value is one of String, Number, Binary, Bool, Null, List, Map or Set.
type Value interface{ Type() Type }

// String, Binary, Bool, Null, List and Map are the values of the types that their names say. Binary holds raw bytes.
type (
	String string
	Binary string
	Bool   bool
	Null   struct{}
	List   []Value
	Map    map[string]Value
)

// Set is a string, number or binary set: at least one member, all of type Of, without duplicates, in ascending order.
type Set struct {
	Of      Type
	Members []Value
}

// Type says S, as the others below say theirs.
func (String) Type() Type { return TypeS }
func (Binary) Type() Type { return TypeB }
func (Bool) Type() Type   { return TypeBool }
func (Null) Type() Type   { return TypeNull }
func (List) Type() Type   { return TypeL }
func (Map) Type() Type    { return TypeM }
func (Number) Type() Type { return TypeN }
func (s Set) Type() Type  { return s.Of + "S" } // SS, NS or BS

// Equal reports whether both are of one type and have one value: numbers by value, sets without regard to order.
func Equal(a, b Value) bool {
	switch a := a.(type) {
	case List:
		b, ok := b.(List)
		return ok && slices.EqualFunc(a, b, Equal)
	case Map:
		b, ok := b.(Map)
		return ok && maps.EqualFunc(a, b, Equal)
	case Set:
		b, ok := b.(Set)
		return ok && a.Of == b.Of && slices.Equal(a.Members, b.Members)
	}
	switch b.(type) {
	case List, Map, Set: // not comparable with ==
		return false
	}
	return a == b
}

// Compare orders two strings, two numbers or two binaries; ok is false for any other pair.
func Compare(a, b Value) (order int, ok bool) {
	if s, t, ok := Texts(a, b); ok {
		return strings.Compare(s, t), true
	}
	n, isNumber := a.(Number)
	m, ok := b.(Number)
	return n.Compare(m), isNumber && ok
}

// Texts are what two strings, or two binaries, consist of; ok is false for any other pair.
func Texts(a, b Value) (s, t string, ok bool) {
	s, first := text(a)
	t, second := text(b)
	return s, t, first && second && a.Type() == b.Type()
}

func text(v Value) (s string, ok bool) {
	switch v := v.(type) {
	case String:
		return string(v), true
	case Binary:
		return string(v), true
	}
	return "", false
}

// NewSet makes a set of members, which are all of type of. ok is false if there are none or two are equal.
func NewSet(of Type, members []Value) (set Set, ok bool) {
	members = slices.Clone(members)
	slices.SortFunc(members, func(a, b Value) int {
		order, _ := Compare(a, b)
		return order
	})
	for i := 1; i < len(members); i++ {
		if members[i] == members[i-1] {
			return Set{}, false
		}
	}
	return Set{of, members}, len(members) > 0
}

// Has reports whether v is a member.
func (s Set) Has(v Value) bool { return v.Type() == s.Of && slices.Contains(s.Members, v) }

// Union is s and every member of t; both are of one type.
func (s Set) Union(t Set) Set {
	added, _ := t.Minus(s)
	union, _ := NewSet(s.Of, slices.Concat(s.Members, added.Members))
	return union
}

// Minus is s without the members of t; ok is false if nothing is left.
func (s Set) Minus(t Set) (rest Set, ok bool) {
	return NewSet(s.Of, slices.DeleteFunc(slices.Clone(s.Members), t.Has))
}

// Size is the number of bytes that a value counts for: UTF-8 length; a number a byte for two significant digits and one
// more (and one for a minus); a list or map 3 bytes and one for each entry.
// See https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
func Size(v Value) int {
	switch v := v.(type) {
	case String:
		return len(v)
	case Binary:
		return len(v)
	case Number:
		return v.size()
	case List:
		n := 3
		for _, e := range v {
			n += 1 + Size(e)
		}
		return n
	case Map:
		return 3 + len(v) + v.Size()
	case Set:
		n := 0
		for _, e := range v.Members {
			n += Size(e)
		}
		return n
	}
	return 1 // BOOL and NULL
}

// Size is the size of an item: its attributes' names and values, without the overhead of a nested map.
func (m Map) Size() int {
	n := 0
	for name, v := range m {
		n += len(name) + Size(v)
	}
	return n
}

// Depth is the number of lists and maps that lie inside one another: 0 for a scalar.
func Depth(v Value) int {
	deepest := 0
	switch v := v.(type) {
	case List:
		for _, e := range v {
			deepest = max(deepest, Depth(e))
		}
	case Map:
		for _, e := range v {
			deepest = max(deepest, Depth(e))
		}
	default:
		return 0
	}
	return deepest + 1
}
