package expr

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/landfall-dev/landfall/internal/localaws/ddb/attr"
)

// Update is a parsed update expression.
type Update struct {
	set, add, del []action
	remove        []Path
}

type action struct {
	path Path
	node *node
}

var updateCalls = map[string]int{"if_not_exists": 2, "list_append": 2}

// Errors that depend on the item.
var (
	errNoAttribute = errors.New("The provided expression refers to an attribute that does not exist in the item")
	errBadPath     = errors.New("The document path provided in the update expression is invalid for update")
	errOperand     = errors.New("An operand in the update expression has an incorrect data type")
)

// ParseUpdate parses an update expression.
func ParseUpdate(src string, scope *Scope) (*Update, error) {
	p, err := newParser(src, scope, updateCalls)
	if err != nil {
		return nil, err
	}
	u := &Update{}
	seen := map[string]bool{}
	for p.peek().kind != end {
		section := strings.ToUpper(p.peek().text)
		if p.peek().kind != word || section != "SET" && section != "REMOVE" && section != "ADD" && section != "DELETE" {
			return nil, p.unexpected()
		}
		if seen[section] {
			return nil, fmt.Errorf("The \"%s\" section can only be used once in an update expression;", section)
		}
		seen[section] = true
		p.at++
		if err := u.section(p, section); err != nil {
			return nil, err
		}
	}
	if p.operators > maxOperators {
		return nil, fmt.Errorf("The expression contains too many operators; operator count: %d", p.operators)
	}
	if err := disjoint(u.Paths()); err != nil {
		return nil, err
	}
	return u, u.check()
}

func (u *Update) section(p *parser, section string) error {
	for {
		path, err := p.path()
		if err != nil {
			return err
		}
		a := action{path: path}
		switch section {
		case "SET":
			if err := p.expect("="); err != nil {
				return err
			}
			a.node, err = p.sum()
			u.set = append(u.set, a)
		case "REMOVE":
			u.remove = append(u.remove, path)
		default:
			t := p.peek()
			if t.kind != value {
				return p.unexpected()
			}
			a.node, err = p.primary()
			if section == "ADD" {
				u.add = append(u.add, a)
			} else {
				u.del = append(u.del, a)
			}
		}
		if err != nil {
			return err
		}
		if !p.symbol(",") {
			return nil
		}
	}
}

// sum is an operand, or the sum or difference of two.
func (p *parser) sum() (*node, error) {
	left, err := p.operandOfSum()
	if err != nil {
		return nil, err
	}
	op := p.peek().text
	if !p.symbol("+") && !p.symbol("-") {
		return left, nil
	}
	p.operators++
	right, err := p.operandOfSum()
	return &node{op: op, kids: []*node{left, right}}, err
}

func (p *parser) operandOfSum() (*node, error) {
	if !p.symbol("(") {
		return p.primary()
	}
	if err := p.deeper(); err != nil {
		return nil, err
	}
	n, err := p.sum()
	p.nested--
	if err != nil {
		return nil, err
	}
	return n, p.expect(")")
}

// Paths are the document paths that the update changes.
func (u *Update) Paths() []Path {
	var paths []Path
	for _, list := range [][]action{u.set, u.add, u.del} {
		for _, a := range list {
			paths = append(paths, a.path)
		}
	}
	return append(paths, u.remove...)
}

func (u *Update) check() error {
	for _, a := range u.set {
		if err := a.node.checkUpdate(); err != nil {
			return err
		}
	}
	for _, a := range u.add {
		if _, set := a.node.literal.(attr.Set); !set && a.node.literal.Type() != attr.TypeN {
			return fmt.Errorf("Incorrect operand type for operator or function; operator: ADD, operand type: %s, typeSet: ALLOWED_FOR_ADD_OPERAND", a.node.literal.Type())
		}
	}
	for _, a := range u.del {
		if _, set := a.node.literal.(attr.Set); !set {
			return fmt.Errorf("Incorrect operand type for operator or function; operator: DELETE, operand type: %s, typeSet: ALLOWED_FOR_DELETE_OPERAND", a.node.literal.Type())
		}
	}
	return nil
}

func (n *node) checkUpdate() error {
	switch {
	case n.boolean():
		return fmt.Errorf("The function is not allowed in an update expression; function: %s", n.fn)
	case n.fn == "if_not_exists" && n.args[0].path == nil:
		return errors.New("Operator or function requires a document path; operator or function: if_not_exists")
	case n.fn == "list_append":
		for _, a := range n.args {
			if a.literal != nil && a.literal.Type() != attr.TypeL {
				return wrongType(n.fn, a.literal.Type())
			}
		}
	}
	for _, k := range n.kids {
		if k.literal != nil && k.literal.Type() != attr.TypeN {
			return wrongType(n.op, k.literal.Type())
		}
	}
	for _, k := range append(n.kids, n.args...) {
		if err := k.checkUpdate(); err != nil {
			return err
		}
	}
	return nil
}

// Apply is the item after the update; the old one is left as it was. All operands are read from the old item.
func (u *Update) Apply(old attr.Map) (attr.Map, error) {
	changes := make([]change, 0, len(u.set)+len(u.add)+len(u.del))
	for _, a := range u.set {
		v, err := a.node.compute(old)
		if err != nil {
			return nil, err
		}
		changes = append(changes, change{a.path, v})
	}
	removed := slices.Clone(u.remove)
	for _, a := range u.add {
		v, err := sumOrUnion(a.path.Lookup(old), a.node.literal)
		if err != nil {
			return nil, err
		}
		changes = append(changes, change{a.path, v})
	}
	for _, a := range u.del {
		rest, changed, err := without(a.path.Lookup(old), a.node.literal.(attr.Set))
		switch {
		case err != nil:
			return nil, err
		case changed && rest == nil:
			removed = append(removed, a.path)
		case changed:
			changes = append(changes, change{a.path, rest})
		}
	}
	return rebuild(old, changes, removed)
}

type change struct {
	path Path
	v    attr.Value
}

// rebuild applies changes, then removals. Elements past the end of a list are appended in the order of their indexes;
// removals go from the back, so that indexes mean what they meant in the old item.
func rebuild(old attr.Map, changes []change, removed []Path) (attr.Map, error) {
	slices.SortStableFunc(changes, func(a, b change) int { return comparePaths(a.path, b.path) })
	slices.SortStableFunc(removed, func(a, b Path) int { return comparePaths(b, a) })
	var item attr.Value = maps.Clone(old)
	if old == nil {
		item = attr.Map{}
	}
	var err error
	for _, c := range changes {
		if item, err = put(item, c.path, c.v); err != nil {
			return nil, err
		}
	}
	for _, p := range removed {
		if item, err = put(item, p, nil); err != nil {
			return nil, err
		}
	}
	return item.(attr.Map), nil
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
	switch c := container.(type) {
	case attr.Map:
		if step.Name == "" {
			return nil, errBadPath
		}
		if len(path) > 1 {
			inner, err := put(c[step.Name], path[1:], v)
			if err != nil {
				return nil, err
			}
			v = inner
		}
		c = maps.Clone(c)
		if v == nil {
			delete(c, step.Name)
		} else {
			c[step.Name] = v
		}
		return c, nil
	case attr.List:
		return putElement(c, path, v)
	}
	return nil, errBadPath
}

func putElement(list attr.List, path Path, v attr.Value) (attr.Value, error) {
	step := path[0]
	switch {
	case step.Name != "" || len(path) > 1 && step.Index >= len(list):
		return nil, errBadPath
	case len(path) > 1:
		inner, err := put(list[step.Index], path[1:], v)
		if err != nil {
			return nil, err
		}
		v = inner
	}
	list = slices.Clone(list)
	switch {
	case v == nil && step.Index < len(list):
		return slices.Delete(list, step.Index, step.Index+1), nil
	case v == nil:
		return list, nil
	case step.Index >= len(list):
		return append(list, v), nil
	}
	list[step.Index] = v
	return list, nil
}

// compute is the value of the right side of a SET.
func (n *node) compute(item attr.Map) (attr.Value, error) {
	switch {
	case n.literal != nil:
		return n.literal, nil
	case n.fn == "if_not_exists":
		if v := n.args[0].path.Lookup(item); v != nil {
			return v, nil
		}
		return n.args[1].compute(item)
	case n.path != nil:
		if v := n.path.Lookup(item); v != nil {
			return v, nil
		}
		return nil, errNoAttribute
	}
	pair := n.kids
	if n.fn == "list_append" {
		pair = n.args
	}
	a, err := pair[0].compute(item)
	if err != nil {
		return nil, err
	}
	b, err := pair[1].compute(item)
	if err != nil {
		return nil, err
	}
	if n.fn == "list_append" {
		l, ok1 := a.(attr.List)
		m, ok2 := b.(attr.List)
		if !ok1 || !ok2 {
			return nil, errOperand
		}
		return slices.Concat(l, m), nil
	}
	x, ok1 := a.(attr.Number)
	y, ok2 := b.(attr.Number)
	switch {
	case !ok1 || !ok2:
		return nil, errOperand
	case n.op == "+":
		return value2(x.Add(y))
	}
	return value2(x.Sub(y))
}

// value2 keeps a failed sum from becoming a Value that is not nil.
func value2(n attr.Number, err error) (attr.Value, error) {
	if err != nil {
		return nil, err
	}
	return n, nil
}

func sumOrUnion(old, add attr.Value) (attr.Value, error) {
	if old == nil {
		return add, nil
	}
	if old.Type() != add.Type() {
		return nil, errOperand
	}
	switch old := old.(type) {
	case attr.Number:
		return value2(old.Add(add.(attr.Number)))
	case attr.Set:
		return old.Union(add.(attr.Set)), nil
	}
	return nil, errOperand
}

// without is what DELETE leaves of a set: nil if nothing is left.
func without(old attr.Value, del attr.Set) (rest attr.Value, changed bool, err error) {
	if old == nil {
		return nil, false, nil
	}
	set, ok := old.(attr.Set)
	if !ok || set.Of != del.Of {
		return nil, false, errOperand
	}
	if left, ok := set.Minus(del); ok {
		return left, true, nil
	}
	return nil, true, nil
}
