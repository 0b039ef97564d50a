package expr

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/landfall-dev/landfall/internal/lab/localaws/attr"
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
	p := newParser(src, scope, true)
	u := &Update{}
	seen := map[string]bool{}
	for p.peek().kind != end {
		verb := strings.ToUpper(p.peek().text)
		p.must(slices.Contains([]string{"SET", "REMOVE", "ADD", "DELETE"}, verb))
		if seen[verb] {
			p.fail("The \"%s\" section can only be used once in an update expression;", verb)
		}
		seen[verb] = true
		p.take()
		p.list(func() { u.actions = append(u.actions, p.action(verb)) })
	}
	p.limit()
	p.disjoint(u.Paths(true))
	for _, a := range u.actions {
		p.checkAction(a)
	}
	return u, p.err
}

func (p *parser) action(verb string) action {
	a := action{verb: verb, path: p.path()}
	switch verb {
	case "SET":
		p.expect("=")
		a.node = p.sum()
	case "ADD", "DELETE":
		p.must(p.peek().kind == value)
		a.node = p.primary()
	}
	return a
}

// sum is an operand, or the sum or difference of two.
func (p *parser) sum() *node {
	left := p.primary()
	op := p.peek().text
	if !p.symbol("+") && !p.symbol("-") {
		return left
	}
	p.operators++
	return &node{op: op, kids: []*node{left, p.primary()}}
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

// Removes reports whether the update does nothing but remove. A nil Update does nothing at all.
func (u *Update) Removes() bool {
	return u != nil && !slices.ContainsFunc(u.actions, func(a action) bool { return a.verb == "SET" || a.verb == "ADD" })
}

// longName is what types are called where ADD and DELETE refuse them, and nowhere else.
var longName = map[attr.Type]string{
	attr.TypeS: "STRING", attr.TypeN: "NUMBER", attr.TypeB: "BINARY", attr.TypeBool: "BOOLEAN",
	attr.TypeNull: "NULL", attr.TypeL: "LIST", attr.TypeM: "MAP",
}

func (p *parser) checkAction(a action) {
	if a.verb == "SET" {
		p.check(a.node)
	}
	if p.err != nil || a.verb == "SET" || a.verb == "REMOVE" {
		return
	}
	t := a.node.literal.Type()
	if set := len(t) == 2; !set && (a.verb == "DELETE" || t != attr.TypeN) {
		p.fail("Incorrect operand type for operator or function; operator: %s, operand type: %s, typeSet: "+
			"ALLOWED_FOR_%[1]s_OPERAND", a.verb, longName[t])
	}
}

// Apply is the item after the update; the old one is left as it was. All operands are read from the old item.
// Elements past the end of a list are appended in the order of their indexes; removals come last and go from the
// back, so that indexes mean what they meant in the old item.
func (u *Update) Apply(old attr.Map) (attr.Map, error) {
	type change struct {
		path Path
		v    attr.Value // nil: remove
	}
	var puts, removals []change
	for _, a := range u.actions {
		v, err := a.result(old)
		if err != nil {
			return nil, err
		}
		if v != nil {
			puts = append(puts, change{a.path, v})
		} else {
			removals = append(removals, change{a.path, nil})
		}
	}
	slices.SortFunc(puts, func(a, b change) int { return slices.CompareFunc(a.path, b.path, Step.compare) })
	slices.SortFunc(removals, func(a, b change) int { return slices.CompareFunc(b.path, a.path, Step.compare) })
	var item attr.Value = old
	if old == nil {
		item = attr.Map{}
	}
	for _, c := range append(puts, removals...) {
		var err error
		if item, err = put(item, c.path, c.v); err != nil {
			return nil, err
		}
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
		return old.Add(a.node.literal.(attr.Number))
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
			return a.Add(b.(attr.Number))
		case "-":
			return a.Sub(b.(attr.Number))
		}
	}
	return nil, errOperand
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
	if entries[name] = v; v == nil {
		delete(entries, name)
	}
	return entries
}

func putElement(list attr.List, at int, v attr.Value) attr.List {
	list = slices.Clone(list)
	from, to := min(at, len(list)), min(at+1, len(list))
	if v == nil {
		return slices.Delete(list, from, to)
	}
	return slices.Replace(list, from, to, v)
}
