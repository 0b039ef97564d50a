package ddb

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/landfall-dev/landfall/internal/localaws/ddb/attr"
	"github.com/landfall-dev/landfall/internal/localaws/ddb/expr"
)

// params are the parameters that the expressions of a request share, and those that expressions have replaced.
type params struct {
	ExpressionAttributeNames  map[string]string `json:",omitempty"`
	ExpressionAttributeValues values            `json:",omitempty"`
	legacy
}

// legacy are parameters that are refused: expressions can do all that they could.
type legacy struct {
	AttributesToGet     json.RawMessage `json:",omitempty"`
	AttributeUpdates    json.RawMessage `json:",omitempty"`
	ConditionalOperator json.RawMessage `json:",omitempty"`
	Expected            json.RawMessage `json:",omitempty"`
	KeyConditions       json.RawMessage `json:",omitempty"`
	QueryFilter         json.RawMessage `json:",omitempty"`
	ScanFilter          json.RawMessage `json:",omitempty"`
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

// scope is what expressions are resolved in. expressions are those that the request may have, nil where it has not.
func (p *params) scope(expressions map[string]*string) (*expr.Scope, error) {
	var given, absent []string
	for _, name := range slices.Sorted(maps.Keys(expressions)) {
		if expressions[name] != nil {
			given = append(given, name)
		} else {
			absent = append(absent, name)
		}
	}
	if err := p.refuse(given); err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(p.ExpressionAttributeNames))
	err := checkPlaceholders("ExpressionAttributeNames", '#', names, p.ExpressionAttributeNames != nil, given, absent)
	if err == nil {
		values := slices.Sorted(maps.Keys(p.ExpressionAttributeValues))
		err = checkPlaceholders("ExpressionAttributeValues", ':', values, p.ExpressionAttributeValues != nil, given, absent)
	}
	for _, k := range names {
		if p.ExpressionAttributeNames[k] == "" {
			err = cmp.Or(err, error(validation("ExpressionAttributeNames contains invalid value: Empty attribute name for key %s", k)))
		}
	}
	return &expr.Scope{Names: p.ExpressionAttributeNames, Values: attr.Map(p.ExpressionAttributeValues)}, err
}

func checkPlaceholders(parameter string, mark byte, keys []string, set bool, given, absent []string) error {
	switch {
	case !set:
		return nil
	case len(given) == 0 && len(absent) == 1:
		return validation("%s can only be specified when using expressions: %s is null", parameter, absent[0])
	case len(given) == 0:
		return validation("%s can only be specified when using expressions: %s are null", parameter, strings.Join(absent, " and "))
	case len(keys) == 0:
		return validation("%s must not be empty", parameter)
	}
	for _, k := range keys {
		if len(k) < 2 || k[0] != mark {
			return validation("%s contains invalid key: Syntax error; key: \"%s\"", parameter, k)
		}
	}
	return nil
}

// refuse is an error if any legacy parameter is there.
func (l *legacy) refuse(expressions []string) error {
	var old []string
	for name, value := range map[string]json.RawMessage{
		"AttributesToGet": l.AttributesToGet, "AttributeUpdates": l.AttributeUpdates, "ConditionalOperator": l.ConditionalOperator,
		"Expected": l.Expected, "KeyConditions": l.KeyConditions, "QueryFilter": l.QueryFilter, "ScanFilter": l.ScanFilter,
	} {
		if len(value) > 0 && string(value) != "null" {
			old = append(old, name)
		}
	}
	slices.Sort(old)
	switch {
	case len(old) == 0:
		return nil
	case len(expressions) > 0:
		return validation("Can not use both expression and non-expression parameters in the same request: Non-expression parameters: {%s} Expression parameters: {%s}", strings.Join(old, ", "), strings.Join(expressions, ", "))
	}
	return validation("The local DynamoDB does not support %s; use expressions, which have replaced it", strings.Join(old, ", "))
}

// MarshalJSON writes them.
func (v values) MarshalJSON() ([]byte, error) { return attr.Map(v).MarshalJSON() }

// parsed is an expression of the request, nil if it has none.
func parsed[T any](kind string, src *string, scope *expr.Scope, parse func(string, *expr.Scope) (*T, error)) (*T, error) {
	if src == nil {
		return nil, nil
	}
	e, err := parse(*src, scope)
	return e, invalid("Invalid "+kind+": ", err)
}

func parseCondition(kind string, src *string, scope *expr.Scope) (*expr.Condition, error) {
	return parsed(kind, src, scope, expr.ParseCondition)
}

func parseProjection(src *string, scope *expr.Scope) (*expr.Projection, error) {
	return parsed("ProjectionExpression", src, scope, expr.ParseProjection)
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
