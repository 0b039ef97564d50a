package attr

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxDepth is how many lists and maps an attribute may nest.
const MaxDepth = 32

// InvalidError is a value that JSON can hold but DynamoDB cannot: a ValidationException.
type InvalidError struct {
	Message string
	Key     string // the top-level attribute that holds it
}

func (e *InvalidError) Error() string { return e.Message }

// document is an attribute value as JSON has it: exactly one member is there.
type document struct {
	S, N       *string
	B          *[]byte
	BOOL, NULL *bool
	L          *[]document
	M          *map[string]document
	SS, NS     *[]string
	BS         *[][]byte
}

// UnmarshalJSON reads a map of attribute values: an item, a key. JSON's null leaves it nil.
func (m *Map) UnmarshalJSON(data []byte) error {
	var documents map[string]document
	if err := json.Unmarshal(data, &documents); err != nil || documents == nil {
		*m = nil
		return err
	}
	*m = make(Map, len(documents))
	for name, d := range documents {
		v, err := d.value(0)
		if err != nil {
			return &InvalidError{Message: err.Error(), Key: name}
		}
		(*m)[name] = v
	}
	return nil
}

var (
	errEmpty  = errors.New("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
	errTwo    = errors.New("Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes")
	errNull   = errors.New("One or more parameter values were invalid: Null attribute value types must have the value of true")
	errNested = fmt.Errorf("Nesting Levels have exceeded supported limits: Attributes can have at most %d levels", MaxDepth)
)

// value is the value that a document stands for, depth levels below its attribute.
func (d document) value(depth int) (v Value, err error) {
	members := 0
	member := func(is bool) bool {
		if is {
			members++
		}
		return is
	}
	if member(d.S != nil) {
		v = String(*d.S)
	}
	if member(d.N != nil) {
		v, err = parseValue(*d.N)
	}
	if member(d.B != nil) {
		v = Binary(*d.B)
	}
	if member(d.BOOL != nil) {
		v = Bool(*d.BOOL)
	}
	if member(d.NULL != nil) {
		if v = (Null{}); !*d.NULL {
			err = errNull
		}
	}
	if member(d.L != nil) {
		v, err = list(*d.L, depth)
	}
	if member(d.M != nil) {
		v, err = nested(*d.M, depth)
	}
	if member(d.SS != nil) {
		v, err = set(TypeS, *d.SS, func(s string) (Value, error) { return String(s), nil })
	}
	if member(d.NS != nil) {
		v, err = set(TypeN, *d.NS, parseValue)
	}
	if member(d.BS != nil) {
		v, err = set(TypeB, *d.BS, func(b []byte) (Value, error) { return Binary(b), nil })
	}
	switch members {
	case 0:
		return nil, errEmpty
	case 1:
		return v, err
	}
	return nil, errTwo
}

func parseValue(text string) (Value, error) {
	n, err := ParseNumber(text)
	if err == ErrNotNumber {
		err = fmt.Errorf("%w: %s", err, text)
	}
	return n, err
}

func list(documents []document, depth int) (Value, error) {
	if depth >= MaxDepth {
		return nil, errNested
	}
	l := make(List, len(documents))
	for i, d := range documents {
		var err error
		if l[i], err = d.value(depth + 1); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func nested(documents map[string]document, depth int) (Value, error) {
	if depth >= MaxDepth {
		return nil, errNested
	}
	m := make(Map, len(documents))
	for name, d := range documents {
		var err error
		if m[name], err = d.value(depth + 1); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func set[T any](of Type, documents []T, one func(T) (Value, error)) (Value, error) {
	members, texts := make([]Value, len(documents)), make([]string, len(documents))
	for i, d := range documents {
		var err error
		if members[i], err = one(d); err != nil {
			return nil, err
		}
		texts[i] = fmt.Sprint(members[i])
	}
	s, ok := NewSet(of, members)
	switch {
	case ok:
		return s, nil
	case len(members) > 0:
		return nil, fmt.Errorf("One or more parameter values were invalid: Input collection [%s] contains duplicates.", strings.Join(texts, ", "))
	case of == TypeB:
		return nil, errors.New("One or more parameter values were invalid: Binary sets should not be empty")
	}
	return nil, fmt.Errorf("One or more parameter values were invalid: An %s set  may not be empty", map[Type]string{TypeS: "string", TypeN: "number"}[of])
}

// MarshalJSON writes the map with its names in order, so that equal items are equal bytes.
func (m Map) MarshalJSON() ([]byte, error) { return m.appendJSON(nil), nil }

// AppendJSON appends the JSON form of a value.
func AppendJSON(dst []byte, v Value) []byte {
	dst = append(dst, `{"`...)
	dst = append(dst, v.Type()...)
	dst = append(dst, `":`...)
	switch v := v.(type) {
	case String:
		dst = appendString(dst, string(v))
	case Number, Binary:
		dst = appendScalarText(dst, v)
	case Bool:
		dst = fmt.Appendf(dst, "%t", bool(v))
	case Null:
		dst = append(dst, "true"...)
	case Map:
		dst = v.appendJSON(dst)
	case List:
		dst = appendList(dst, v, AppendJSON)
	case Set:
		dst = appendList(dst, v.Members, appendScalarText)
	}
	return append(dst, '}')
}

// appendScalarText appends a string, number or binary as sets hold them: without its type.
func appendScalarText(dst []byte, v Value) []byte {
	switch v := v.(type) {
	case Number:
		return append(append(append(dst, '"'), v.String()...), '"')
	case Binary:
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, []byte(v))
		return append(dst, '"')
	case String:
		return appendString(dst, string(v))
	}
	return dst
}

func appendList(dst []byte, list []Value, one func([]byte, Value) []byte) []byte {
	dst = append(dst, '[')
	for i, v := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = one(dst, v)
	}
	return append(dst, ']')
}

func (m Map) appendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	for i, name := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, name), ':')
		dst = AppendJSON(dst, m[name])
	}
	return append(dst, '}')
}

func appendString(dst []byte, s string) []byte {
	plain := func(r rune) bool { return r >= ' ' && r != '"' && r != '\\' && r != utf8.RuneError }
	if strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return append(append(append(dst, '"'), s...), '"')
	}
	quoted, _ := json.Marshal(s) // of a string: cannot fail
	return append(dst, quoted...)
}
