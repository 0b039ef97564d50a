package devstack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// pattern is an event pattern
// (https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-event-patterns.html), decoded: an object
// names members that a record must have, a list the values of which one must be there.
type pattern map[string]any

// parsePattern reads a pattern; operators are refused by name.
func parsePattern(text string) (pattern, error) {
	var p pattern
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&p); err != nil || p == nil || d.More() {
		return nil, fmt.Errorf("filter %s: not a JSON object", text)
	}
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("filter %s: %w", text, err)
	}
	return p, nil
}

func (p pattern) check() error {
	for _, name := range slices.Sorted(maps.Keys(p)) {
		switch v := p[name].(type) {
		case map[string]any:
			if err := pattern(v).check(); err != nil {
				return err
			}
		case []any:
			if err := checkValues(name, v); err != nil {
				return err
			}
		default:
			return fmt.Errorf("%s: want an object or a list of values", name)
		}
	}
	if len(p) == 0 {
		return fmt.Errorf("an empty object matches nothing")
	}
	return nil
}

func checkValues(name string, values []any) error {
	if strings.HasPrefix(name, "$") {
		return fmt.Errorf("operator %q is not supported; use equality", name)
	}
	if len(values) == 0 {
		return fmt.Errorf("%s: an empty list matches nothing", name)
	}
	for _, v := range values {
		switch v := v.(type) {
		case map[string]any:
			operators := slices.Sorted(maps.Keys(v))
			return fmt.Errorf("%s: operator %q is not supported; use equality", name, strings.Join(operators, ", "))
		case []any:
			return fmt.Errorf("%s: a list inside a list", name)
		}
	}
	return nil
}

// matches reports whether a decoded record has all that the pattern names. Of a list in the record one
// element must be right.
func (p pattern) matches(record map[string]any) bool {
	for name, want := range p {
		got, ok := record[name]
		if !ok {
			return false
		}
		switch want := want.(type) {
		case map[string]any:
			inner, ok := got.(map[string]any)
			if !ok || !pattern(want).matches(inner) {
				return false
			}
		case []any:
			list, ok := got.([]any)
			if !ok {
				list = []any{got}
			}
			if !slices.ContainsFunc(list, func(v any) bool { return isOneOf(v, want) }) {
				return false
			}
		}
	}
	return true
}

// isOneOf reports whether a value, which may be of a type that does not compare, is in a list of scalars.
func isOneOf(v any, list []any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return slices.Contains(list, v)
}

// passes reports whether a record, a JSON text, matches one of the patterns; any does if there are none.
func passes(patterns []pattern, record []byte) bool {
	if len(patterns) == 0 {
		return true
	}
	var decoded map[string]any
	d := json.NewDecoder(bytes.NewReader(record))
	d.UseNumber()
	if err := d.Decode(&decoded); err != nil {
		return false // what was just encoded can be decoded
	}
	return slices.ContainsFunc(patterns, func(p pattern) bool { return p.matches(decoded) })
}
