package expr

import (
	"errors"
	"fmt"

	"github.com/landfall-dev/landfall/internal/localaws/ddb/attr"
)

// KeyCondition selects a range of one partition. Op is empty if there is no condition on the sort key, else one of
// = < <= > >= BETWEEN begins_with; High is the upper bound of BETWEEN.
type KeyCondition struct {
	Hash      attr.Value
	Op        string
	Low, High attr.Value
}

var errKeyCondition = errors.New("Query key condition not supported")

// ParseKeyCondition parses a key condition over the key attributes hash and sort; sort is empty if the key has none.
// Types of values are the caller's to check. The error text is complete: the service words these without a prefix.
func ParseKeyCondition(src string, scope *Scope, hash, sort string) (KeyCondition, error) {
	const prefix = "Invalid KeyConditionExpression: "
	c, err := ParseCondition(src, scope)
	if err != nil {
		return KeyCondition{}, fmt.Errorf(prefix+"%w", err)
	}
	terms, err := keyTerms(c.root, nil)
	if err != nil {
		return KeyCondition{}, fmt.Errorf(prefix+"%w", err)
	}
	var k KeyCondition
	seen := map[string]bool{}
	for _, t := range terms {
		key, err := t.keyName()
		if err != nil {
			return k, err
		}
		if seen[key] {
			return k, errors.New(prefix + "KeyConditionExpressions must only contain one condition per key")
		}
		seen[key] = true
	}
	if !seen[hash] {
		return k, fmt.Errorf("Query condition missed key schema element: %s", hash)
	}
	for _, t := range terms {
		switch key, _ := t.keyName(); {
		case key == hash && t.op != "=":
			return k, errKeyCondition
		case key == hash:
			k.Hash = t.literalOperand(1)
		case sort == "":
			return k, errKeyCondition
		case key != sort:
			return k, fmt.Errorf("Query condition missed key schema element: %s", sort)
		default:
			k.Op, k.Low, k.High = t.op, t.literalOperand(1), t.literalOperand(2)
		}
	}
	return k, nil
}

// keyTerms are the conditions that AND joins.
func keyTerms(n *node, list []*node) ([]*node, error) {
	switch n.op {
	case "AND":
		list, err := keyTerms(n.kids[0], list)
		if err != nil {
			return nil, err
		}
		return keyTerms(n.kids[1], list)
	case "OR", "NOT", "<>", "IN", "contains", "attribute_exists", "attribute_not_exists", "attribute_type":
		return nil, fmt.Errorf("Invalid operator used in KeyConditionExpression: %s", n.op)
	}
	return append(list, n), nil
}

// keyName is the attribute of a condition of the form: attribute, operator, literals.
func (n *node) keyName() (string, error) {
	if first := n.kids[0]; first.literal != nil && len(n.kids) == 2 && n.kids[1].path != nil && n.op != "begins_with" {
		flip := map[string]string{"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
		n.op, n.kids = flip[n.op], []*node{n.kids[1], first}
	}
	for i, o := range n.kids {
		switch {
		case o.op != "":
			return "", fmt.Errorf("Invalid operator used in KeyConditionExpression: %s", o.op)
		case (i == 0) != (o.path != nil):
			return "", errKeyCondition
		case len(o.path) > 1:
			return "", errors.New("Invalid KeyConditionExpression: KeyConditionExpressions cannot have conditions on nested attributes")
		}
	}
	return n.kids[0].path[0].Name, nil
}

func (n *node) literalOperand(i int) attr.Value {
	if i < len(n.kids) {
		return n.kids[i].literal
	}
	return nil
}
