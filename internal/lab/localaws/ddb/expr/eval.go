package expr

import (
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/landfall-dev/landfall/internal/lab/localaws/attr"
)

// Matches reports whether the condition holds for an item; nil stands for an item that does not exist.
func (c *Condition) Matches(item attr.Map) bool { return c.root.holds(item) }

func (n *node) holds(item attr.Map) bool {
	kids := n.kids
	switch n.op {
	case "AND":
		return kids[0].holds(item) && kids[1].holds(item)
	case "OR":
		return kids[0].holds(item) || kids[1].holds(item)
	case "NOT":
		return !kids[0].holds(item)
	case "attribute_exists":
		return kids[0].eval(item) != nil
	case "attribute_not_exists":
		return kids[0].eval(item) == nil
	}
	first, second := kids[0].eval(item), kids[1].eval(item)
	switch n.op {
	case "BETWEEN":
		return compare(">=", first, second) && compare("<=", first, kids[2].eval(item))
	case "IN":
		return slices.ContainsFunc(kids[1:], func(k *node) bool { return compare("=", first, k.eval(item)) })
	}
	return compare(n.op, first, second)
}

// compare: an attribute that is missing equals nothing and stands in no relation to anything.
func compare(op string, a, b attr.Value) bool {
	if a == nil || b == nil {
		return op == "<>"
	}
	switch op {
	case "=":
		return attr.Equal(a, b)
	case "<>":
		return !attr.Equal(a, b)
	case "attribute_type":
		return attr.String(a.Type()) == b
	case "begins_with":
		return onText(a, b, strings.HasPrefix)
	case "contains":
		return contains(a, b)
	}
	order, ok := attr.Compare(a, b)
	return ok && slices.Contains(orders[op], order)
}

// orders are the orders of two values in which a comparison holds.
var orders = map[string][]int{"<": {-1}, "<=": {-1, 0}, ">": {1}, ">=": {1, 0}}

// onText applies a test to two strings or two binaries; it fails for anything else.
func onText(v, w attr.Value, test func(s, t string) bool) bool {
	s, t, ok := attr.Texts(v, w)
	return ok && test(s, t)
}

func contains(v, w attr.Value) bool {
	switch v := v.(type) {
	case attr.Set:
		return v.Has(w)
	case attr.List:
		return slices.ContainsFunc(v, func(e attr.Value) bool { return attr.Equal(e, w) })
	}
	return onText(v, w, strings.Contains)
}

// eval is the value of an operand, nil if there is none.
func (n *node) eval(item attr.Map) attr.Value {
	switch {
	case n.literal != nil:
		return n.literal
	case n.op == "size":
		return sizeOf(n.kids[0].eval(item))
	}
	return n.path.Lookup(item)
}

// sizeOf is what size() counts: UTF-16 code units, bytes, or elements.
func sizeOf(v attr.Value) attr.Value {
	switch v := v.(type) {
	case attr.String:
		return attr.NumberOf(len(utf16.Encode([]rune(string(v)))))
	case attr.Binary:
		return attr.NumberOf(len(v))
	case attr.List:
		return attr.NumberOf(len(v))
	case attr.Map:
		return attr.NumberOf(len(v))
	case attr.Set:
		return attr.NumberOf(len(v.Members))
	}
	return nil
}

// Names are the top-level attributes that the condition reads.
func (c *Condition) Names() []string { return c.root.names(nil) }

func (n *node) names(list []string) []string {
	if n.path != nil {
		list = append(list, n.path[0].Name)
	}
	for _, k := range n.kids {
		list = k.names(list)
	}
	return list
}
