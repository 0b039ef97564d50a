package ddb

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/landfall-dev/landfall/internal/lab/localaws/attr"
	"github.com/landfall-dev/landfall/internal/lab/localaws/ddb/expr"
	"github.com/landfall-dev/landfall/internal/lab/localaws/wire"
)

type attributeUpdate struct {
	Action string
	Value  *value
}

// comparison has an operator, or says what a value must be.
type comparison struct {
	ComparisonOperator string
	AttributeValueList []value
	Exists             *bool
	Value              *value
}

// value is an attribute value that stands alone.
type value struct{ Value attr.Value }

// UnmarshalJSON reads it.
func (v *value) UnmarshalJSON(data []byte) error {
	var m attr.Map
	err := m.UnmarshalJSON(slices.Concat([]byte(`{"v":`), data, []byte("}")))
	v.Value = m["v"]
	return err
}

// checkLegacy is an error if a parameter is there beside those that have replaced it, or contradicts itself.
func (p *params) checkLegacy(expressions []string) error {
	there := map[string]bool{
		"AttributesToGet": p.AttributesToGet != nil, "AttributeUpdates": p.AttributeUpdates != nil,
		"ConditionalOperator": p.ConditionalOperator != "", "Expected": p.Expected != nil,
		"KeyConditions": p.KeyConditions != nil && p.KeyConditionExpression != nil, // with other expressions they are fine
		"QueryFilter":   p.QueryFilter != nil, "ScanFilter": p.ScanFilter != nil,
	}
	maps.DeleteFunc(there, func(_ string, is bool) bool { return !is })
	old, given := strings.Join(slices.Sorted(maps.Keys(there)), ", "), strings.Join(expressions, ", ")
	names := slices.Sorted(slices.Values(p.AttributesToGet))
	var c wire.Constraints
	c.Enum("conditionalOperator", p.ConditionalOperator, "OR", "AND")
	joined := len(p.Expected) + len(p.QueryFilter) + len(p.ScanFilter)
	return cmp.Or(
		wire.Forbid(old != "" && given != "",
			"Can not use both expression and non-expression parameters in the same request: Non-expression "+
				"parameters: {%s} Expression parameters: {%s}", old, given),
		c.Err(),
		wire.Forbid(p.ConditionalOperator != "" && joined == 0, "ConditionalOperator cannot be used without Filter or Expected"),
		wire.Forbid(p.ConditionalOperator != "" && joined == 1,
			"ConditionalOperator can only be used when Filter or Expected has two or more elements"),
		wire.Forbid(len(slices.Compact(names)) < len(p.AttributesToGet), invalidParameters+"Duplicate value in attribute name: %v", p.AttributesToGet),
	)
}

// projection is that of AttributesToGet, nil if it is not there.
func (p *params) legacyProjection() *expr.Projection {
	if len(p.AttributesToGet) == 0 {
		return nil
	}
	paths := make([]expr.Path, len(p.AttributesToGet))
	for i, name := range p.AttributesToGet {
		paths[i] = expr.Path{{Name: name}}
	}
	return expr.Project(paths)
}

// updates is the update of AttributeUpdates, nil if there are none.
func (e *expressions) updates(p *params) *expr.Update {
	if e.err != nil || len(p.AttributeUpdates) == 0 {
		return nil
	}
	changes := map[string]expr.Change{}
	for name, u := range p.AttributeUpdates {
		var c wire.Constraints
		c.Enum("attributeUpdates."+name+".member.action", u.Action, "ADD", "PUT", "DELETE")
		e.err = cmp.Or(e.err, c.Err())
		change := expr.Change{Action: cmp.Or(u.Action, "PUT")}
		if u.Value != nil {
			change.Value = u.Value.Value
		}
		changes[name] = change
	}
	if e.err != nil {
		return nil
	}
	update, err := expr.Changes(changes)
	e.err = invalid(invalidParameters, err)
	return update
}

// comparisons is the condition of comparisons, nil if there are none.
func (e *expressions) comparisons(byName map[string]comparison, operator string) *expr.Condition {
	if e.err != nil || len(byName) == 0 {
		return nil
	}
	all := map[string]expr.Comparison{}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		if all[name], e.err = byName[name].comparison(name); e.err != nil {
			return nil
		}
	}
	condition, err := expr.Compare(all, operator == "OR")
	e.err = invalid(invalidParameters, err)
	return condition
}

// comparison is what a comparison of an attribute says. Without an operator it says whether the attribute is there, and
// what it is.
func (c comparison) comparison(name string) (expr.Comparison, error) {
	op, values := c.ComparisonOperator, c.AttributeValueList
	unary := op == "NULL" || op == "NOT_NULL"
	exists, shown := true, "null"
	if c.Exists != nil {
		exists, shown = *c.Exists, fmt.Sprint(*c.Exists)
	}
	err := cmp.Or(
		wire.Forbid(values != nil && c.Value != nil,
			invalidParameters+"Value and AttributeValueList cannot be used together for Attribute: %s", name),
		wire.Forbid(op != "" && c.Exists != nil,
			invalidParameters+"Exists and ComparisonOperator cannot be used together for Attribute: %s", name),
		wire.Forbid(op != "" && !unary && values == nil && c.Value == nil,
			invalidParameters+"Value or AttributeValueList must be used with ComparisonOperator: %s for Attribute: %s", op, name),
		wire.Forbid(op == "" && values != nil,
			invalidParameters+"AttributeValueList can only be used with a ComparisonOperator for Attribute: %s", name),
		wire.Forbid(op == "" && exists && c.Value == nil,
			invalidParameters+"Value must be provided when Exists is %s for Attribute: %s", shown, name),
		wire.Forbid(op == "" && !exists && c.Value != nil,
			invalidParameters+"Value cannot be used when Exists is false for Attribute: %s", name),
	)
	if c.Value != nil {
		values = []value{*c.Value}
	}
	one := expr.Comparison{Op: cmp.Or(op, map[bool]string{true: "EQ", false: "NULL"}[exists])}
	for _, v := range values {
		one.Values = append(one.Values, v.Value)
	}
	return one, err
}
