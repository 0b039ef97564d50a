package expr

import (
	"errors"
	"fmt"
	"slices"

	"github.com/landfall-dev/landfall/internal/lab/localaws/attr"
)

// KeyCondition selects a range of one partition. Op is empty if there is no condition on the sort key, else one of
// = < <= > >= BETWEEN begins_with; High is the upper bound of BETWEEN.
type KeyCondition struct {
	Hash      attr.Value
	Op        string
	Low, High attr.Value
}

var errKeyCondition = errors.New("Query key condition not supported")

// keyOperators are the operators of conditions on keys.
var keyOperators = []string{"=", "<", "<=", ">", ">=", "BETWEEN", "begins_with"}

// KeyCondition is what a condition says of the key attributes hash and sort; sort is empty if the key has none. Types of
// values are the caller's to check. The error text is complete: the service words these without a prefix.
func (c *Condition) KeyCondition(hash, sort string) (KeyCondition, error) {
	var k KeyCondition
	terms := c.root.terms()
	for _, t := range terms {
		if !slices.Contains(keyOperators, t.op) {
			return k, fmt.Errorf("Invalid KeyConditionExpression: Invalid operator used in KeyConditionExpression: %s", t.op)
		}
	}
	var names []string
	for _, t := range terms {
		key, err := t.keyName()
		if err != nil {
			return k, err
		}
		if slices.Contains(names, key) {
			return k, errors.New("Invalid KeyConditionExpression: KeyConditionExpressions must only contain one " +
				"condition per key")
		}
		names = append(names, key)
	}
	if !slices.Contains(names, hash) {
		return k, fmt.Errorf("Query condition missed key schema element: %s", hash)
	}
	for i, t := range terms {
		switch key := names[i]; {
		case key == hash && t.op != "=", key != hash && sort == "":
			return k, errKeyCondition
		case key == hash:
			k.Hash = t.kids[1].literal
		case key != sort:
			return k, fmt.Errorf("Query condition missed key schema element: %s", sort)
		default:
			k.Op, k.Low = t.op, t.kids[1].literal
		}
		if t.op == "BETWEEN" {
			k.High = t.kids[2].literal
		}
	}
	return k, nil
}

// terms are the conditions that AND joins.
func (n *node) terms() []*node {
	if n.op != "AND" {
		return []*node{n}
	}
	return append(n.kids[0].terms(), n.kids[1].terms()...)
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
			return "", errors.New("Invalid KeyConditionExpression: KeyConditionExpressions cannot have conditions " +
				"on nested attributes")
		}
	}
	return n.kids[0].path[0].Name, nil
}
