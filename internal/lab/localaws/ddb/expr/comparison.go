package expr

import (
	"fmt"
	"maps"
	"slices"

	"github.com/landfall-dev/landfall/internal/lab/localaws/attr"
)

// Comparison is a condition on a top-level attribute in the form that expressions have replaced.
type Comparison struct {
	Op     string // EQ, NE, LT and so on
	Values []attr.Value
}

// comparisons are the operators of expressions that comparisons stand for, and how many values they take.
var comparisons = map[string]struct {
	op     string
	values int
}{
	"EQ": {"=", 1}, "NE": {"<>", 1}, "LT": {"<", 1}, "LE": {"<=", 1}, "GT": {">", 1}, "GE": {">=", 1},
	"BETWEEN": {"BETWEEN", 2}, "IN": {"IN", -1}, "BEGINS_WITH": {"begins_with", 1}, "CONTAINS": {"contains", 1},
	"NOT_CONTAINS": {"contains", 1}, "NULL": {"attribute_not_exists", 0}, "NOT_NULL": {"attribute_exists", 0},
}

// Compare is the condition that all comparisons hold, or any of them, of which there is at least one.
func Compare(byName map[string]Comparison, anyOf bool) (*Condition, error) {
	join := map[bool]string{false: "AND", true: "OR"}[anyOf]
	var root *node
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		n, err := byName[name].node(name)
		if err != nil {
			return nil, err
		}
		if root == nil {
			root = n
		} else {
			root = &node{op: join, kids: []*node{root, n}}
		}
	}
	p := parser{older: true}
	p.check(root)
	return &Condition{root}, p.err
}

func (c Comparison) node(name string) (*node, error) {
	known, ok := comparisons[c.Op]
	if !ok {
		return nil, fmt.Errorf("ComparisonOperator %q of %s is unknown", c.Op, name)
	}
	if known.values != len(c.Values) && (known.values >= 0 || len(c.Values) == 0) {
		return nil, fmt.Errorf("Invalid number of argument(s) for the %s ComparisonOperator", c.Op)
	}
	n := &node{op: known.op, kids: []*node{{path: Path{{Name: name}}}}}
	for _, v := range c.Values {
		n.kids = append(n.kids, &node{literal: v})
	}
	if c.Op == "NOT_CONTAINS" {
		there := &node{op: "attribute_exists", kids: n.kids[:1]}
		n = &node{op: "AND", kids: []*node{there, {op: "NOT", kids: []*node{n}}}}
	}
	return n, nil
}

// Change is an update of a top-level attribute in the form that expressions have replaced.
type Change struct {
	Action string     // PUT, ADD or DELETE
	Value  attr.Value // may be nil for DELETE
}

// Changes is the update that makes all changes.
func Changes(byName map[string]Change) (*Update, error) {
	u := &Update{}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		c := byName[name]
		a := action{verb: c.Action, path: Path{{Name: name}}, node: &node{literal: c.Value}}
		switch {
		case c.Value == nil && c.Action != "DELETE":
			return nil, fmt.Errorf("Only DELETE action is allowed when no attribute value is specified")
		case c.Value == nil:
			a.verb, a.node = "REMOVE", nil
		case c.Action == "PUT":
			a.verb = "SET"
		case c.Action == "ADD" && c.Value.Type() == attr.TypeL: // which ADD in expressions does not take
			old := &node{op: "if_not_exists", kids: []*node{{path: a.path}, {literal: attr.List{}}}}
			a.verb, a.node = "SET", &node{op: "list_append", kids: []*node{old, a.node}}
		case len(c.Value.Type()) == 2 || c.Action == "ADD" && c.Value.Type() == attr.TypeN: // a set, or a number
		case c.Action == "ADD":
			return nil, fmt.Errorf("ADD action is not supported for the type %s", c.Value.Type())
		default:
			return nil, fmt.Errorf("DELETE action with value is not supported for the type %s", c.Value.Type())
		}
		u.actions = append(u.actions, a)
	}
	return u, nil
}
