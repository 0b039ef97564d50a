package ddb

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/landfall-dev/landfall/internal/localaws/ddb/attr"
	"github.com/landfall-dev/landfall/internal/localaws/ddb/expr"
)

// placeholders are the parameters that the expressions of a request share.
type placeholders struct {
	ExpressionAttributeNames  map[string]string
	ExpressionAttributeValues values
}

// values are placeholders for values; what is wrong with one is said with its name.
type values attr.Map

// UnmarshalJSON reads them.
func (v *values) UnmarshalJSON(data []byte) error {
	err := (*attr.Map)(v).UnmarshalJSON(data)
	var bad *attr.InvalidError
	if errors.As(err, &bad) {
		return validation("ExpressionAttributeValues contains invalid value: %s for key %s", bad.Message, bad.Key)
	}
	return err
}

// scope is what expressions are resolved in. expressions are those of the request that may be given; nil ones are not.
func (p *placeholders) scope(expressions map[string]*string) (*expr.Scope, error) {
	given := false
	for _, e := range expressions {
		given = given || e != nil
	}
	for _, m := range []struct {
		name, mark string
		keys       []string
		set        bool
	}{
		{"ExpressionAttributeNames", "#", slices.Sorted(maps.Keys(p.ExpressionAttributeNames)), p.ExpressionAttributeNames != nil},
		{"ExpressionAttributeValues", ":", slices.Sorted(maps.Keys(p.ExpressionAttributeValues)), p.ExpressionAttributeValues != nil},
	} {
		switch {
		case m.set && !given:
			return nil, validation("%s can only be specified when using expressions: %s", m.name, nullNames(expressions))
		case m.set && len(m.keys) == 0:
			return nil, validation("%s must not be empty", m.name)
		}
		for _, k := range m.keys {
			if !strings.HasPrefix(k, m.mark) || len(k) == 1 {
				return nil, validation("%s contains invalid key: Syntax error; key: \"%s\"", m.name, k)
			}
		}
	}
	for k, n := range p.ExpressionAttributeNames {
		if n == "" {
			return nil, validation("ExpressionAttributeNames contains invalid value: Empty attribute name for key %s", k)
		}
	}
	return &expr.Scope{Names: p.ExpressionAttributeNames, Values: attr.Map(p.ExpressionAttributeValues)}, nil
}

func nullNames(expressions map[string]*string) string {
	names := slices.Sorted(maps.Keys(expressions))
	if len(names) == 1 {
		return names[0] + " is null"
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1] + " are null"
}

func parseCondition(kind string, src *string, scope *expr.Scope) (*expr.Condition, error) {
	if src == nil {
		return nil, nil
	}
	c, err := expr.ParseCondition(*src, scope)
	return c, invalid("Invalid "+kind+": ", err)
}

func parseProjection(src *string, scope *expr.Scope) (*expr.Projection, error) {
	if src == nil {
		return nil, nil
	}
	p, err := expr.ParseProjection(*src, scope)
	return p, invalid("Invalid ProjectionExpression: ", err)
}

// named are parameters by name; legacy ones are not supported, and never allowed beside expressions.
type named map[string]json.RawMessage

func (n named) given() []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(n)) {
		if len(n[name]) > 0 && string(n[name]) != "null" {
			list = append(list, name)
		}
	}
	return list
}

// refuseLegacy is an error if any parameter is used that expressions have replaced.
func refuseLegacy(legacy named, expressions map[string]*string) error {
	old := legacy.given()
	if len(old) == 0 {
		return nil
	}
	var new []string
	for _, name := range slices.Sorted(maps.Keys(expressions)) {
		if expressions[name] != nil {
			new = append(new, name)
		}
	}
	if len(new) > 0 {
		return validation("Can not use both expression and non-expression parameters in the same request: Non-expression parameters: {%s} Expression parameters: {%s}", strings.Join(old, ", "), strings.Join(new, ", "))
	}
	return validation("The local DynamoDB does not support %s; use expressions, which have replaced it", strings.Join(old, ", "))
}

// keyNotFilter is an error if a filter uses the key of what is queried.
func keyNotFilter(filter *expr.Condition, key keySchema) error {
	if filter == nil {
		return nil
	}
	for _, n := range filter.Names() {
		if key.has(n) {
			return validation("Filter Expression can only contain non-primary key attributes: Primary key attribute: %s", n)
		}
	}
	return nil
}
