package expr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/landfall-dev/landfall/internal/lab/localaws/attr"
)

func (p *parser) misused(n *node) {
	p.fail("The function is not allowed to be used this way in an expression; function: %s", n.op)
}

// operandTypes are the types that literals may have as operands; any where an operator is not there.
var operandTypes = map[string]string{
	"<": "S N B", "<=": "S N B", ">": "S N B", ">=": "S N B", "BETWEEN": "S N B", "begins_with": "S B",
	"size": "S B L M SS NS BS", "list_append": "L", "+": "N", "-": "N",
}

// check finds what can never be right, whatever the item.
func (p *parser) check(n *node) {
	if p.err != nil {
		return // n may lack parts
	}
	for _, k := range n.kids {
		p.check(k)
		if _, function := functions[n.op]; function && k.condition() {
			p.misused(k)
		}
	}
	switch n.op {
	case "attribute_exists", "attribute_not_exists", "if_not_exists":
		if n.kids[0].path == nil {
			p.fail("Operator or function requires a document path; operator or function: %s", n.op)
		}
	case "attribute_type":
		p.checkTypeName(n)
		return
	case "IN":
		if len(n.kids)-1 > maxIn && !p.older {
			p.fail("The IN operator is provided with too many operands; number of operands: %d", len(n.kids)-1)
		}
	}
	if allowed, ok := operandTypes[n.op]; ok {
		for _, k := range n.kids {
			if k.literal != nil && !slices.Contains(strings.Fields(allowed), string(k.literal.Type())) {
				p.wrongType(n.op, k.literal.Type())
			}
		}
	}
	if n.op == "BETWEEN" {
		p.checkBounds(n.kids[1].literal, n.kids[2].literal)
	} else if len(n.kids) == 2 && n.condition() && n.kids[0].path != nil && slices.Equal(n.kids[0].path, n.kids[1].path) {
		p.fail("The first operand must be distinct from the remaining operands for this operator or function; "+
			"operator: %s, first operand: %s", n.op, n.kids[0].path)
	}
}

func (p *parser) wrongType(op string, t attr.Type) {
	p.fail("Incorrect operand type for operator or function; operator or function: %s, operand type: %s", op, t)
}

const allTypes = "B,NULL,SS,BOOL,L,BS,N,NS,S,M"

func (p *parser) checkTypeName(n *node) {
	switch t := n.kids[1].literal.(type) {
	case nil:
		p.wrongType(n.op, "path")
	case attr.String:
		if !slices.Contains(strings.Split(allTypes, ","), string(t)) {
			p.fail("Invalid attribute type name found; type: %s, valid types: {%s}", t, allTypes)
		}
	default:
		p.wrongType(n.op, t.Type())
	}
}

func (p *parser) checkBounds(low, high attr.Value) {
	if low == nil || high == nil {
		return
	}
	order, same := attr.Compare(low, high)
	refusal := "requires upper bound to be greater than or equal to lower bound"
	if !same {
		refusal = "requires same data type for lower and upper bounds"
	}
	if !same || order > 0 {
		show := func(v attr.Value) string { return fmt.Sprintf("AttributeValue: {%s:%v}", v.Type(), v) }
		p.fail("The BETWEEN operator %s; lower bound operand: %s, upper bound operand: %s", refusal, show(low), show(high))
	}
}
