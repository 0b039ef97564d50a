package expr

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/landfall-dev/landfall/internal/localaws/ddb/attr"
)

// Update is a parsed update expression.
type Update struct{ actions []action }

// action is one change: its verb is SET, REMOVE, ADD or DELETE.
type action struct {
	verb string
	path Path
	node *node // nil for REMOVE
}

// Errors that depend on the item.
var (
	errNoAttribute = errors.New("The provided expression refers to an attribute that does not exist in the item")
	errBadPath     = errors.New("The document path provided in the update expression is invalid for update")
	errOperand     = errors.New("An operand in the update expression has an incorrect data type")
)

// ParseUpdate parses an update expression.
func ParseUpdate(src string, scope *Scope) (*Update, error) {
	p, err := newParser(src, scope, true)
	if err != nil {
		return nil, err
	}
	u := &Update{}
	seen := map[string]bool{}
	for p.peek().kind != end {
		verb := strings.ToUpper(p.peek().text)
		switch {
		case verb != "SET" && verb != "REMOVE" && verb != "ADD" && verb != "DELETE":
			return nil, p.unexpected()
		case seen[verb]:
			return nil, fmt.Errorf("The \"%s\" section can only be used once in an update expression;", verb)
		}
		seen[verb] = true
		p.at++
		if err := p.list(func() error {
			a, err := p.action(verb)
			u.actions = append(u.actions, a)
			return err
		}); err != nil {
			return nil, err
		}
	}
	return u, cmp.Or(p.limit(), disjoint(u.Paths(true)), u.check())
}

func (p *parser) action(verb string) (action, error) {
	path, err := p.path()
	a := action{verb: verb, path: path}
	switch {
	case err != nil || verb == "REMOVE":
	case verb == "SET":
		if err = p.expect("="); err == nil {
			a.node, err = p.sum()
		}
	case p.peek().kind != value:
		err = p.unexpected()
	default:
		a.node, err = p.primary()
	}
	return a, err
}

// sum is an operand, or the sum or difference of two.
func (p *parser) sum() (*node, error) {
	left, err := p.primary()
	if err != nil {
		return nil, err
	}
	op := p.peek().text
	if !p.symbol("+") && !p.symbol("-") {
		return left, nil
	}
	p.operators++
	right, err := p.primary()
	return &node{op: op, kids: []*node{left, right}}, err
}

// Paths are the document paths that the update changes, with or without those that it removes.
func (u *Update) Paths(removed bool) []Path {
	var paths []Path
	for _, a := range u.actions {
		if removed || a.verb != "REMOVE" {
			paths = append(paths, a.path)
		}
	}
	return paths
}

// longName is what types are called where ADD and DELETE refuse them, and nowhere else.
var longName = map[attr.Type]string{
	attr.TypeS: "STRING", attr.TypeN: "NUMBER", attr.TypeB: "BINARY", attr.TypeBool: "BOOLEAN",
	attr.TypeNull: "NULL", attr.TypeL: "LIST", attr.TypeM: "MAP",
}

func (u *Update) check() error {
	for _, a := range u.actions {
		switch a.verb {
		case "SET":
			if err := a.node.check(); err != nil {
				return err
			}
		case "ADD", "DELETE":
			t := a.node.literal.Type()
			if set := len(t) == 2; !set && (a.verb == "DELETE" || t != attr.TypeN) {
				return fmt.Errorf("Incorrect operand type for operator or function; operator: %s, operand type: %s, typeSet: ALLOWED_FOR_%[1]s_OPERAND", a.verb, longName[t])
			}
		}
	}
	return nil
}

// Apply is the item after the update; the old one is left as it was. All operands are read from the old item.
// Elements past the end of a list are appended in the order of their indexes; removals come last and go from the
// back, so that indexes mean what they meant in the old item.
func (u *Update) Apply(old attr.Map) (attr.Map, error) {
	type change struct {
		path Path
		v    attr.Value // nil: remove
	}
	changes := make([]change, len(u.actions))
	for i, a := range u.actions {
		v, err := a.result(old)
		if err != nil {
			return nil, err
		}
		changes[i] = change{a.path, v}
	}
	slices.SortStableFunc(changes, func(a, b change) int { return comparePaths(a.path, b.path) })
	var item attr.Value = maps.Clone(old)
	if old == nil {
		item = attr.Map{}
	}
	var err error
	for _, c := range changes {
		if c.v != nil && err == nil {
			item, err = put(item, c.path, c.v)
		}
	}
	for _, c := range slices.Backward(changes) {
		if c.v == nil && err == nil {
			item, err = put(item, c.path, nil)
		}
	}
	if err != nil {
		return nil, err
	}
	return item.(attr.Map), nil
}

// result is the new value at the action's path, nil for none.
func (a action) result(item attr.Map) (attr.Value, error) {
	old := a.path.Lookup(item)
	switch {
	case a.verb == "SET":
		return a.node.compute(item)
	case a.verb == "REMOVE" || a.verb == "DELETE" && old == nil:
		return nil, nil
	case old == nil:
		return a.node.literal, nil
	case old.Type() != a.node.literal.Type():
		return nil, errOperand
	}
	switch old := old.(type) {
	case attr.Number:
		return exact(old.Add(a.node.literal.(attr.Number)))
	case attr.Set:
		if a.verb == "ADD" {
			return old.Union(a.node.literal.(attr.Set)), nil
		}
		if rest, ok := old.Minus(a.node.literal.(attr.Set)); ok {
			return rest, nil
		}
	}
	return nil, nil
}

// compute is the value of the right side of a SET.
func (n *node) compute(item attr.Map) (attr.Value, error) {
	switch {
	case n.literal != nil:
		return n.literal, nil
	case n.op == "if_not_exists":
		if v := n.kids[0].path.Lookup(item); v != nil {
			return v, nil
		}
		return n.kids[1].compute(item)
	case n.path != nil:
		if v := n.path.Lookup(item); v != nil {
			return v, nil
		}
		return nil, errNoAttribute
	}
	a, err := n.kids[0].compute(item)
	if err != nil {
		return nil, err
	}
	b, err := n.kids[1].compute(item)
	if err != nil {
		return nil, err
	}
	if a.Type() != b.Type() {
		return nil, errOperand
	}
	switch a := a.(type) {
	case attr.List:
		if n.op == "list_append" {
			return slices.Concat(a, b.(attr.List)), nil
		}
	case attr.Number:
		switch n.op {
		case "+":
			return exact(a.Add(b.(attr.Number)))
		case "-":
			return exact(a.Sub(b.(attr.Number)))
		}
	}
	return nil, errOperand
}

// exact keeps a failed sum from becoming a Value that is not nil.
func exact(n attr.Number, err error) (attr.Value, error) {
	if err != nil {
		return nil, err
	}
	return n, nil
}

func comparePaths(a, b Path) int {
	return slices.CompareFunc(a, b, func(s, t Step) int {
		if c := strings.Compare(s.Name, t.Name); c != 0 {
			return c
		}
		return s.Index - t.Index
	})
}

// put is container with v at the path (removed, if v is nil); containers on the way are copied.
func put(container attr.Value, path Path, v attr.Value) (attr.Value, error) {
	step := path[0]
	if len(path) > 1 {
		var err error
		if v, err = put(step.from(container), path[1:], v); err != nil {
			return nil, err
		}
	}
	switch c := container.(type) {
	case attr.Map:
		if step.Name != "" {
			return putEntry(c, step.Name, v), nil
		}
	case attr.List:
		if step.Name == "" {
			return putElement(c, step.Index, v), nil
		}
	}
	return nil, errBadPath
}

func putEntry(entries attr.Map, name string, v attr.Value) attr.Map {
	entries = maps.Clone(entries)
	if v == nil {
		delete(entries, name)
	} else {
		entries[name] = v
	}
	return entries
}

func putElement(list attr.List, at int, v attr.Value) attr.List {
	list = slices.Clone(list)
	switch {
	case v == nil && at < len(list):
		return slices.Delete(list, at, at+1)
	case v == nil:
		return list
	case at >= len(list):
		return append(list, v)
	}
	list[at] = v
	return list
}
