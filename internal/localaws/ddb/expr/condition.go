package expr

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/landfall-dev/landfall/internal/localaws/ddb/attr"
)

// Condition is a parsed condition, filter or key condition expression.
type Condition struct{ root *node }

// conditionCalls are the functions of conditions and their numbers of operands.
var conditionCalls = map[string]int{
	"attribute_exists": 1, "attribute_not_exists": 1, "attribute_type": 2, "begins_with": 2, "contains": 2, "size": 1,
}

// ParseCondition parses a condition or filter expression.
func ParseCondition(src string, scope *Scope) (*Condition, error) {
	p, err := newParser(src, scope, conditionCalls)
	if err != nil {
		return nil, err
	}
	root, err := p.or()
	switch {
	case err != nil:
		return nil, err
	case p.peek().kind != end || !root.boolean():
		return nil, p.unexpected()
	case p.redundant:
		return nil, errors.New("The expression has redundant parentheses;")
	case p.operators > maxOperators:
		return nil, fmt.Errorf("The expression contains too many operators; operator count: %d", p.operators)
	}
	return &Condition{root}, root.check()
}

func (p *parser) or() (*node, error) { return p.chain("OR", (*parser).and) }

func (p *parser) and() (*node, error) { return p.chain("AND", (*parser).not) }

func (p *parser) chain(op string, next func(*parser) (*node, error)) (*node, error) {
	left, err := next(p)
	for err == nil && p.isKeyword(op) {
		if !left.boolean() {
			return nil, p.unexpected()
		}
		p.at++
		p.operators++
		var right *node
		if right, err = next(p); err != nil {
			return nil, err
		}
		if !right.boolean() {
			return nil, p.unexpected()
		}
		left = &node{op: op, kids: []*node{left, right}}
	}
	return left, err
}

func (p *parser) not() (*node, error) {
	if !p.keyword("NOT") {
		return p.comparison()
	}
	p.operators++
	if err := p.deeper(); err != nil {
		return nil, err
	}
	kid, err := p.not()
	p.nested--
	if err != nil {
		return nil, err
	}
	if !kid.boolean() {
		return nil, p.unexpected()
	}
	return &node{op: "NOT", kids: []*node{kid}}, nil
}

// deeper bounds the recursion: no legal expression nests deeper than it has operators.
func (p *parser) deeper() error {
	if p.nested++; p.nested > maxOperators {
		return fmt.Errorf("The expression contains too many operators; operator count: %d", p.nested)
	}
	return nil
}

func (p *parser) comparison() (*node, error) {
	left, err := p.primary()
	if err != nil || left.boolean() {
		return left, err
	}
	kids := []*node{left}
	switch {
	case p.keyword("BETWEEN"):
		p.operators++
		if kids, err = p.operands(kids); err != nil {
			return nil, err
		}
		if !p.keyword("AND") {
			return nil, p.unexpected()
		}
		kids, err = p.operands(kids)
		return &node{op: "BETWEEN", kids: kids}, err
	case p.keyword("IN"):
		p.operators++
		if err := p.expect("("); err != nil {
			return nil, err
		}
		for {
			if kids, err = p.operands(kids); err != nil {
				return nil, err
			}
			if !p.symbol(",") {
				break
			}
		}
		return &node{op: "IN", kids: kids}, p.expect(")")
	}
	t := p.peek()
	if t.kind != symbol || strings.IndexByte("=<>", t.text[0]) < 0 {
		return left, nil // whoever needs a condition refuses it
	}
	p.at++
	p.operators++
	kids, err = p.operands(kids)
	return &node{op: t.text, kids: kids}, err
}

// operands appends one more operand.
func (p *parser) operands(kids []*node) ([]*node, error) {
	n, err := p.primary()
	if err != nil {
		return nil, err
	}
	if n.boolean() {
		p.at--
		return nil, p.unexpected()
	}
	return append(kids, n), nil
}

// primary is an operand, a function, or anything in parentheses.
func (p *parser) primary() (*node, error) {
	t := p.peek()
	switch {
	case p.symbol("("):
		if err := p.deeper(); err != nil {
			return nil, err
		}
		n, err := p.or()
		p.nested--
		if err != nil {
			return nil, err
		}
		p.redundant = p.redundant || n.paren
		n.paren = true
		return n, p.expect(")")
	case t.kind == value:
		p.at++
		v, err := p.scope.value(t.text)
		return &node{operand: operand{literal: v, text: t.text}}, err
	case t.kind == word && p.toks[p.at+1].text == "(" && !p.isKeyword("NOT"):
		return p.function()
	}
	path, err := p.path()
	return &node{operand: operand{path: path}}, err
}

func (p *parser) function() (*node, error) {
	fn := p.peek().text
	_, inCondition := conditionCalls[fn]
	_, inUpdate := updateCalls[fn]
	count, allowed := p.calls[fn]
	if !inCondition && !inUpdate {
		return nil, fmt.Errorf("Invalid function name; function: %s", fn)
	}
	if !allowed {
		return nil, fmt.Errorf("The function is not allowed to be used this way in an expression; function: %s", fn)
	}
	p.at += 2
	p.operators++
	if err := p.deeper(); err != nil {
		return nil, err
	}
	defer func() { p.nested-- }()
	n := &node{operand: operand{fn: fn}}
	if inCondition && fn != "size" {
		n.op = call
	}
	for {
		arg, err := p.primary()
		if err != nil {
			return nil, err
		}
		n.args = append(n.args, arg)
		if !p.symbol(",") {
			break
		}
	}
	if err := p.expect(")"); err != nil {
		return nil, err
	}
	if len(n.args) != count {
		return nil, fmt.Errorf("Incorrect number of operands for operator or function; operator or function: %s, number of operands: %d", fn, len(n.args))
	}
	return n, nil
}

func wrongType(op string, t attr.Type) error {
	return fmt.Errorf("Incorrect operand type for operator or function; operator or function: %s, operand type: %s", op, t)
}

// check finds what can never be right, whatever the item.
func (n *node) check() error {
	for _, k := range append(n.kids, n.args...) {
		if err := k.check(); err != nil {
			return err
		}
	}
	switch n.op {
	case "<", "<=", ">", ">=":
		for _, k := range n.kids {
			if k.literal != nil && !ordered(k.literal) {
				return wrongType(n.op, k.literal.Type())
			}
		}
	case "BETWEEN":
		return n.checkBetween()
	case "IN":
		if len(n.kids)-1 > maxIn {
			return fmt.Errorf("The IN operator is provided with too many operands; number of operands: %d", len(n.kids)-1)
		}
	}
	if len(n.kids) == 2 && n.kids[0].path != nil && n.kids[1].path != nil && n.kids[0].path.String() == n.kids[1].path.String() {
		return fmt.Errorf("The first operand must be distinct from the remaining operands for this operator or function; operator: %s, first operand: %s", n.op, n.kids[0].path)
	}
	if n.fn != "" {
		return n.checkFunction()
	}
	return nil
}

func ordered(v attr.Value) bool {
	_, ok := attr.Compare(v, v)
	return ok
}

func (n *node) checkBetween() error {
	low, high := n.kids[1].literal, n.kids[2].literal
	for _, v := range []attr.Value{n.kids[0].literal, low, high} {
		if v != nil && !ordered(v) {
			return wrongType("BETWEEN", v.Type())
		}
	}
	if low == nil || high == nil {
		return nil
	}
	order, ok := attr.Compare(low, high)
	if !ok {
		return fmt.Errorf("The BETWEEN operator requires same data type for lower and upper bounds; lower bound operand: AttributeValue: %s, upper bound operand: AttributeValue: %s", show(low), show(high))
	}
	if order > 0 {
		return fmt.Errorf("The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound operand: AttributeValue: %s, upper bound operand: AttributeValue: %s", show(low), show(high))
	}
	return nil
}

// show is a scalar as the service's messages show it.
func show(v attr.Value) string { return fmt.Sprintf("{%s:%v}", v.Type(), v) }

var typeNames = map[attr.Type]bool{
	attr.TypeS: true, attr.TypeN: true, attr.TypeB: true, attr.TypeBool: true, attr.TypeNull: true,
	attr.TypeL: true, attr.TypeM: true, attr.TypeSS: true, attr.TypeNS: true, attr.TypeBS: true,
}

func (n *node) checkFunction() error {
	first := n.args[0]
	for _, a := range n.args {
		if a.boolean() {
			return fmt.Errorf("The function is not allowed to be used this way in an expression; function: %s", a.fn)
		}
	}
	switch n.fn {
	case "attribute_exists", "attribute_not_exists":
		if first.path == nil {
			return fmt.Errorf("Operator or function requires a document path; operator or function: %s", n.fn)
		}
	case "attribute_type":
		t, ok := n.args[1].literal.(attr.String)
		if n.args[1].literal != nil && !ok {
			return wrongType(n.fn, n.args[1].literal.Type())
		}
		if !ok {
			return fmt.Errorf("Incorrect operand type for operator or function; operator or function: %s, operand type: path", n.fn)
		}
		if !typeNames[attr.Type(t)] {
			return fmt.Errorf("Invalid attribute type name found; type: %s, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}", t)
		}
	case "begins_with":
		for _, a := range n.args {
			if a.literal != nil && a.literal.Type() != attr.TypeS && a.literal.Type() != attr.TypeB {
				return wrongType(n.fn, a.literal.Type())
			}
		}
	case "size":
		if l := first.literal; l != nil && (l.Type() == attr.TypeN || l.Type() == attr.TypeBool || l.Type() == attr.TypeNull) {
			return wrongType(n.fn, l.Type())
		}
	}
	if (n.fn == "begins_with" || n.fn == "contains") && first.path != nil && n.args[1].path != nil && first.path.String() == n.args[1].path.String() {
		return fmt.Errorf("The first operand must be distinct from the remaining operands for this operator or function; operator: %s, first operand: %s", n.fn, first.path)
	}
	return nil
}

// Matches reports whether the condition holds for an item; nil stands for an item that does not exist.
func (c *Condition) Matches(item attr.Map) bool { return c.root.holds(item) }

func (n *node) holds(item attr.Map) bool {
	switch n.op {
	case "AND":
		return n.kids[0].holds(item) && n.kids[1].holds(item)
	case "OR":
		return n.kids[0].holds(item) || n.kids[1].holds(item)
	case "NOT":
		return !n.kids[0].holds(item)
	case call:
		return n.callHolds(item)
	}
	first := n.kids[0].eval(item)
	switch n.op {
	case "BETWEEN":
		low, ok1 := attr.Compare(n.kids[1].eval(item), first)
		high, ok2 := attr.Compare(first, n.kids[2].eval(item))
		return ok1 && ok2 && low <= 0 && high <= 0
	case "IN":
		for _, k := range n.kids[1:] {
			if v := k.eval(item); first != nil && v != nil && attr.Equal(first, v) {
				return true
			}
		}
		return false
	}
	return compare(n.op, first, n.kids[1].eval(item))
}

// compare: an attribute that is missing equals nothing and stands in no order to anything.
func compare(op string, a, b attr.Value) bool {
	equal := a != nil && b != nil && attr.Equal(a, b)
	switch op {
	case "=":
		return equal
	case "<>":
		return !equal
	}
	order, ok := attr.Compare(a, b)
	if !ok {
		return false
	}
	switch op {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}

func (n *node) callHolds(item attr.Map) bool {
	v := n.args[0].eval(item)
	switch n.fn {
	case "attribute_exists":
		return v != nil
	case "attribute_not_exists":
		return v == nil
	}
	w := n.args[1].eval(item)
	if v == nil || w == nil {
		return false
	}
	switch n.fn {
	case "attribute_type":
		return attr.String(v.Type()) == w
	case "begins_with":
		text, t := raw(v)
		prefix, u := raw(w)
		return t == u && t != "" && strings.HasPrefix(text, prefix)
	}
	return contains(v, w)
}

// raw is the content of a string or binary; of anything else the type is empty.
func raw(v attr.Value) (string, attr.Type) {
	switch v := v.(type) {
	case attr.String:
		return string(v), attr.TypeS
	case attr.Binary:
		return string(v), attr.TypeB
	}
	return "", ""
}

func contains(v, w attr.Value) bool {
	switch v := v.(type) {
	case attr.Set:
		return v.Has(w)
	case attr.List:
		for _, e := range v {
			if attr.Equal(e, w) {
				return true
			}
		}
		return false
	}
	text, t := raw(v)
	part, u := raw(w)
	return t == u && t != "" && strings.Contains(text, part)
}

// eval is the value of an operand, nil if there is none.
func (n *node) eval(item attr.Map) attr.Value {
	switch {
	case n.literal != nil:
		return n.literal
	case n.fn == "size":
		if size, ok := sizeOf(n.args[0].eval(item)); ok {
			return attr.NumberOf(size)
		}
		return nil
	}
	return n.path.Lookup(item)
}

// sizeOf is what size() counts: characters, bytes, or elements.
func sizeOf(v attr.Value) (int, bool) {
	switch v := v.(type) {
	case attr.String:
		return utf8.RuneCountInString(string(v)), true
	case attr.Binary:
		return len(v), true
	case attr.List:
		return len(v), true
	case attr.Map:
		return len(v), true
	case attr.Set:
		return len(v.Members), true
	}
	return 0, false
}

// Names are the top-level attributes that the condition reads.
func (c *Condition) Names() []string { return c.root.names(nil) }

func (n *node) names(list []string) []string {
	if n.path != nil {
		list = append(list, n.path[0].Name)
	}
	for _, k := range append(n.kids, n.args...) {
		list = k.names(list)
	}
	return list
}
