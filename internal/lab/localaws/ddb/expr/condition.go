package expr

import "strings"

// Condition is a parsed condition, filter or key condition expression.
type Condition struct{ root *node }

// ParseCondition parses a condition or filter expression.
func ParseCondition(src string, scope *Scope) (*Condition, error) {
	p := newParser(src, scope, false)
	root := p.condition()
	return &Condition{root}, p.err
}

// condition reads all of an expression.
func (p *parser) condition() *node {
	root := p.or()
	p.must(p.peek().kind == end && root.condition())
	if p.redundant {
		p.fail("The expression has redundant parentheses;")
	}
	p.limit()
	p.check(root)
	return root
}

func (p *parser) or() *node { return p.chain("OR", p.and) }

func (p *parser) and() *node { return p.chain("AND", p.not) }

// chain is conditions joined by an operator, or a single node of any kind.
func (p *parser) chain(op string, next func() *node) *node {
	left := next()
	for p.isKeyword(op) {
		p.must(left.condition())
		p.take()
		p.operators++
		right := next()
		p.must(right.condition())
		left = &node{op: op, kids: []*node{left, right}}
	}
	return left
}

func (p *parser) not() *node {
	if !p.keyword("NOT") {
		return p.comparison()
	}
	p.operators++
	defer p.nest()()
	kid := p.not()
	p.must(kid.condition())
	return &node{op: "NOT", kids: []*node{kid}}
}

func (p *parser) comparison() *node {
	left := p.primary()
	if left.condition() {
		return left
	}
	t := p.peek()
	n := &node{op: strings.ToUpper(t.text), kids: []*node{left}}
	switch {
	case p.keyword("BETWEEN"):
		p.operand(n)
		p.must(p.keyword("AND"))
		p.operand(n)
	case p.keyword("IN"):
		p.inParentheses(func() { p.operand(n) })
	case p.skip(t.kind == symbol && strings.IndexByte("=<>", t.text[0]) >= 0):
		p.operand(n)
	default:
		return left // a caller that needs a condition refuses it
	}
	p.operators++
	return n
}

// operand reads one more operand of a node.
func (p *parser) operand(n *node) {
	kid := p.primary()
	if kid.condition() {
		p.unexpected(p.at - 1)
	}
	n.kids = append(n.kids, kid)
}

// primary is an operand, a function, or anything in parentheses.
func (p *parser) primary() *node {
	defer p.nest()()
	t := p.peek()
	switch {
	case p.symbol("("):
		inside := p.or
		if p.update {
			inside = p.sum
		}
		n := inside()
		p.redundant = p.redundant || n.paren
		n.paren = true
		p.expect(")")
		return n
	case t.kind == value:
		return &node{literal: placeholder(p, p.scope.Values,
			"An expression attribute value used in expression is not defined; attribute value: %s")}
	case t.kind == word && p.toks[p.at+1].text == "(" && !p.isKeyword("NOT"):
		return p.function()
	}
	return &node{path: p.path()}
}

func (p *parser) function() *node {
	n := &node{op: p.take().text}
	f, ok := functions[n.op]
	if !ok {
		p.fail("Invalid function name; function: %s", n.op)
	} else if f.update != p.update {
		p.misused(n)
	}
	p.operators++
	p.inParentheses(func() { n.kids = append(n.kids, p.primary()) })
	if len(n.kids) != f.operands {
		p.fail("Incorrect number of operands for operator or function; operator or function: %s, number of "+
			"operands: %d", n.op, len(n.kids))
	}
	return n
}
