package attr

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
)

// MaxDepth is how many lists and maps an attribute may nest.
const MaxDepth = 32

// MaxName is how many bytes the name of an attribute has at most; that of a key has fewer.
const MaxName = 1<<16 - 1

// InvalidError is a value that JSON can hold but DynamoDB cannot: a ValidationException.
type InvalidError struct {
	Message string
	Key     string // the top-level attribute that holds it
}

func (e *InvalidError) Error() string { return e.Message }

func invalid(format string, args ...any) error {
	return &InvalidError{Message: fmt.Sprintf(format, args...)}
}

// UnmarshalJSON reads a map of attribute values: an item, a key. JSON's null leaves it nil.
func (m *Map) UnmarshalJSON(data []byte) error {
	decoded, err := decodeMap(data, 0)
	*m = decoded
	return err
}

func read[T any](data []byte) (v T, err error) {
	err = json.Unmarshal(data, &v)
	return v, err
}

// decodeMap decodes a map that lies in depth others.
func decodeMap(data []byte, depth int) (Map, error) {
	members, err := read[map[string]json.RawMessage](data)
	if err != nil || members == nil {
		return nil, err
	}
	m := make(Map, len(members))
	for name, raw := range members {
		switch {
		case depth == 0 && name == "":
			return nil, invalid("One or more parameter values were invalid: Empty attribute name")
		case len(name) > MaxName:
			return nil, invalid("One or more parameter values were invalid: Attribute name is too large, must be less than %d bytes", MaxName+1)
		}
		v, err := decode(raw, depth)
		var bad *InvalidError
		if errors.As(err, &bad) {
			bad.Key = name // the outermost remains
		}
		if err != nil {
			return nil, err
		}
		m[name] = v
	}
	return m, nil
}

// decode decodes a value, which names its type and nothing else.
func decode(data []byte, depth int) (Value, error) {
	typed, err := read[map[Type]json.RawMessage](data)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(typed, func(_ Type, raw json.RawMessage) bool { return string(raw) == "null" })
	if len(typed) > 1 {
		return nil, invalid("Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes")
	}
	for t, raw := range typed {
		if (t == TypeL || t == TypeM) && depth >= MaxDepth {
			return nil, invalid("Nesting Levels have exceeded supported limits: Attributes can have at most %d levels", MaxDepth)
		}
		switch t {
		case TypeS, TypeN, TypeB:
			return decodeScalar(t, raw)
		case TypeSS, TypeNS, TypeBS:
			return decodeSet(t[:1], raw)
		case TypeBool, TypeNull:
			b, err := read[bool](raw)
			if t == TypeBool || err != nil {
				return Bool(b), err
			}
			if !b {
				return nil, invalid("One or more parameter values were invalid: Null attribute value types must have the value of true")
			}
			return Null{}, nil
		case TypeM:
			return decodeMap(raw, depth+1)
		case TypeL:
			return decodeList(raw, func(raw json.RawMessage) (Value, error) { return decode(raw, depth+1) })
		}
	}
	return nil, invalid("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
}

func decodeScalar(t Type, raw json.RawMessage) (Value, error) {
	if t == TypeB {
		b, err := read[[]byte](raw)
		return Binary(b), err
	}
	s, err := read[string](raw)
	if err != nil || t == TypeS {
		return String(s), err
	}
	n, err := ParseNumber(s)
	if err != nil {
		return nil, invalid("%s", err)
	}
	return n, nil
}

func decodeList(raw json.RawMessage, one func(json.RawMessage) (Value, error)) (List, error) {
	elements, err := read[[]json.RawMessage](raw)
	if err != nil {
		return nil, err
	}
	list := make(List, len(elements))
	for i, e := range elements {
		if list[i], err = one(e); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// emptySets is how empty sets are refused, by the type of their members.
var emptySets = map[Type]string{
	TypeS: "An string set  may not be empty", TypeN: "An number set  may not be empty", TypeB: "Binary sets should not be empty",
}

func decodeSet(of Type, raw json.RawMessage) (Value, error) {
	members, err := decodeList(raw, func(raw json.RawMessage) (Value, error) { return decodeScalar(of, raw) })
	if err != nil {
		return nil, err
	}
	if len(members) == 0 {
		return nil, invalid("One or more parameter values were invalid: %s", emptySets[of])
	}
	set, ok := NewSet(of, members)
	if !ok {
		texts := make([]string, len(members))
		for i, m := range members {
			texts[i] = fmt.Sprint(m)
		}
		return nil, invalid("One or more parameter values were invalid: Input collection [%s] contains duplicates.", strings.Join(texts, ", "))
	}
	return set, nil
}

// MarshalJSON writes the map with its names in order, so that equal items are equal bytes.
func (m Map) MarshalJSON() ([]byte, error) { return json.Marshal(bare(m)) }

// typed is a value with the name of its type.
func typed(v Value) any { return map[Type]any{v.Type(): bare(v)} }

// bare is a value without the name of its type, as sets hold them.
func bare(v Value) any {
	switch v := v.(type) {
	case Null:
		return true
	case Number:
		return v.String()
	case Binary:
		return []byte(v)
	case List:
		return each(v, typed)
	case Set:
		return each(v.Members, bare)
	case Map:
		members := make(map[string]any, len(v))
		for name, m := range v {
			members[name] = typed(m)
		}
		return members
	}
	return v // a string or a boolean
}

func each(values []Value, one func(Value) any) []any {
	list := make([]any, len(values))
	for i, v := range values {
		list[i] = one(v)
	}
	return list
}
