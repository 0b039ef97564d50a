package expr

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// Condition is a parsed condition, filter or key condition expression.
type Condition struct{ root *node }

// ParseCondition parses a condition or filter expression.
func ParseCondition(src string, scope *Scope) (*Condition, error) {
	p, err := newParser(src, scope, false)
	if err != nil {
		return nil, err
	}
	root, err := p.or()
	switch {
	case err != nil:
		return nil, err
	case p.peek().kind != end || !root.condition():
		return nil, p.unexpected()
	case p.redundant:
		return nil, errors.New("The expression has redundant parentheses;")
	}
	return &Condition{root}, cmp.Or(p.limit(), root.check())
}

func (p *parser) or() (*node, error) { return p.chain("OR", (*parser).and) }

func (p *parser) and() (*node, error) { return p.chain("AND", (*parser).not) }

// chain is conditions joined by an operator, or a single node of any kind.
func (p *parser) chain(op string, next func(*parser) (*node, error)) (*node, error) {
	left, err := next(p)
	for err == nil && p.isKeyword(op) {
		if !left.condition() {
			return nil, p.unexpected()
		}
		p.at++
		p.operators++
		right, err := next(p)
		if err != nil {
			return nil, err
		}
		if !right.condition() {
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
	p.nested++
	defer func() { p.nested-- }()
	if err := p.limit(); err != nil {
		return nil, err
	}
	kid, err := p.not()
	switch {
	case err != nil:
		return nil, err
	case !kid.condition():
		return nil, p.unexpected()
	}
	return &node{op: "NOT", kids: []*node{kid}}, nil
}

func (p *parser) comparison() (*node, error) {
	left, err := p.primary()
	if err != nil || left.condition() {
		return left, err
	}
	n := &node{kids: []*node{left}}
	switch t := p.peek(); {
	case p.keyword("BETWEEN"):
		n.op = "BETWEEN"
		if err = p.operand(n); err == nil && !p.keyword("AND") {
			return nil, p.unexpected()
		}
		if err == nil {
			err = p.operand(n)
		}
	case p.keyword("IN"):
		n.op = "IN"
		if err = p.expect("("); err == nil {
			err = p.list(func() error { return p.operand(n) })
		}
		if err == nil {
			err = p.expect(")")
		}
	case t.kind == symbol && strings.IndexByte("=<>", t.text[0]) >= 0:
		n.op = t.text
		p.at++
		err = p.operand(n)
	default:
		return left, nil // whoever needs a condition refuses it
	}
	p.operators++
	return n, err
}

// operand reads one more operand of a node.
func (p *parser) operand(n *node) error {
	kid, err := p.primary()
	if err != nil {
		return err
	}
	if kid.condition() {
		p.at--
		return p.unexpected()
	}
	n.kids = append(n.kids, kid)
	return nil
}

// primary is an operand, a function, or anything in parentheses.
func (p *parser) primary() (*node, error) {
	p.nested++
	defer func() { p.nested-- }()
	if err := p.limit(); err != nil {
		return nil, err
	}
	t := p.peek()
	switch {
	case p.symbol("("):
		inside := p.or
		if p.update {
			inside = p.sum
		}
		n, err := inside()
		if err != nil {
			return nil, err
		}
		p.redundant = p.redundant || n.paren
		n.paren = true
		return n, p.expect(")")
	case t.kind == value:
		p.at++
		v, err := p.scope.value(t.text)
		return &node{literal: v}, err
	case t.kind == word && p.toks[p.at+1].text == "(" && !p.isKeyword("NOT"):
		return p.function()
	}
	path, err := p.path()
	return &node{path: path}, err
}

func (p *parser) function() (*node, error) {
	n := &node{op: p.peek().text}
	f, ok := functions[n.op]
	switch {
	case !ok:
		return nil, fmt.Errorf("Invalid function name; function: %s", n.op)
	case f.update != p.update:
		return nil, misused(n)
	}
	p.operators++
	p.at += 2 // past the parenthesis
	if err := p.list(func() error {
		kid, err := p.primary()
		n.kids = append(n.kids, kid)
		return err
	}); err != nil {
		return nil, err
	}
	if err := p.expect(")"); err != nil {
		return nil, err
	}
	if len(n.kids) != f.operands {
		return nil, fmt.Errorf("Incorrect number of operands for operator or function; operator or function: %s, number of operands: %d", n.op, len(n.kids))
	}
	return n, nil
}
