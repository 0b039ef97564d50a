package expr

import (
	"fmt"

	"github.com/landfall-dev/landfall/internal/localaws/ddb/attr"
)

func misused(n *node) error {
	return fmt.Errorf("The function is not allowed to be used this way in an expression; function: %s", n.op)
}

// check finds what can never be right, whatever the item.
func (n *node) check() error {
	for _, k := range n.kids {
		if err := k.check(); err != nil {
			return err
		}
		if _, function := functions[n.op]; function && k.condition() {
			return misused(k)
		}
	}
	allowed := map[attr.Type]bool(nil)
	switch n.op {
	case "attribute_exists", "attribute_not_exists", "if_not_exists":
		if n.kids[0].path == nil {
			return fmt.Errorf("Operator or function requires a document path; operator or function: %s", n.op)
		}
	case "attribute_type":
		return n.checkTypeName()
	case "<", "<=", ">", ">=", "BETWEEN":
		allowed = types("S", "N", "B")
	case "begins_with":
		allowed = types("S", "B")
	case "size":
		allowed = types("S", "B", "L", "M", "SS", "NS", "BS")
	case "list_append":
		allowed = types("L")
	case "+", "-":
		allowed = types("N")
	case "IN":
		if len(n.kids)-1 > maxIn {
			return fmt.Errorf("The IN operator is provided with too many operands; number of operands: %d", len(n.kids)-1)
		}
	}
	for _, k := range n.kids {
		if k.literal != nil && allowed != nil && !allowed[k.literal.Type()] {
			return wrongType(n.op, k.literal.Type())
		}
	}
	if n.op == "BETWEEN" {
		return checkBounds(n.kids[1].literal, n.kids[2].literal)
	}
	if len(n.kids) == 2 && n.kids[0].path != nil && n.kids[1].path != nil && n.kids[0].path.String() == n.kids[1].path.String() && n.condition() {
		return fmt.Errorf("The first operand must be distinct from the remaining operands for this operator or function; operator: %s, first operand: %s", n.op, n.kids[0].path)
	}
	return nil
}

func types(list ...attr.Type) map[attr.Type]bool {
	set := map[attr.Type]bool{}
	for _, t := range list {
		set[t] = true
	}
	return set
}

func wrongType(op string, t attr.Type) error {
	return fmt.Errorf("Incorrect operand type for operator or function; operator or function: %s, operand type: %s", op, t)
}

var allTypes = types("S", "N", "B", "BOOL", "NULL", "L", "M", "SS", "NS", "BS")

func (n *node) checkTypeName() error {
	switch t := n.kids[1].literal.(type) {
	case nil:
		return wrongType(n.op, "path")
	case attr.String:
		if allTypes[attr.Type(t)] {
			return nil
		}
		return fmt.Errorf("Invalid attribute type name found; type: %s, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}", t)
	default:
		return wrongType(n.op, t.Type())
	}
}

func checkBounds(low, high attr.Value) error {
	if low == nil || high == nil {
		return nil
	}
	show := func(v attr.Value) string { return fmt.Sprintf("AttributeValue: {%s:%v}", v.Type(), v) }
	switch order, ok := attr.Compare(low, high); {
	case !ok:
		return fmt.Errorf("The BETWEEN operator requires same data type for lower and upper bounds; lower bound operand: %s, upper bound operand: %s", show(low), show(high))
	case order > 0:
		return fmt.Errorf("The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound operand: %s, upper bound operand: %s", show(low), show(high))
	}
	return nil
}
