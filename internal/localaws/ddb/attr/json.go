package attr

import (
	"encoding/base64"
	"encoding/json"
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

// ShapeError is JSON of another shape than an attribute value has: a SerializationException.
type ShapeError struct{ Message string }

func (e *ShapeError) Error() string { return e.Message }

func invalid(format string, args ...any) error {
	return &InvalidError{Message: fmt.Sprintf(format, args...)}
}

// UnmarshalJSON reads a map of attribute values: an item, a key. JSON's null leaves it nil.
func (m *Map) UnmarshalJSON(data []byte) error {
	d := decoder{data: data}
	if d.null() {
		*m = nil
		return nil
	}
	decoded, err := d.attributes(0)
	if err != nil {
		return err
	}
	*m = decoded
	return nil
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

// decoder reads attribute values straight from JSON text, in one pass. It is given whole, valid documents by
// encoding/json, but does not rely on it.
type decoder struct {
	data []byte
	at   int
}

func (d *decoder) space() {
	for d.at < len(d.data) && (d.data[d.at] == ' ' || d.data[d.at] == '\t' || d.data[d.at] == '\n' || d.data[d.at] == '\r') {
		d.at++
	}
}

// peek is the next byte that is not white space, 0 at the end.
func (d *decoder) peek() byte {
	d.space()
	if d.at < len(d.data) {
		return d.data[d.at]
	}
	return 0
}

func (d *decoder) take(c byte) bool {
	if d.peek() == c {
		d.at++
		return true
	}
	return false
}

func (d *decoder) word(w string) bool {
	d.space()
	if strings.HasPrefix(string(d.data[d.at:min(len(d.data), d.at+len(w))]), w) {
		d.at += len(w)
		return true
	}
	return false
}

func (d *decoder) null() bool { return d.word("null") }

// mismatch names what stands where something else was expected, as the service does.
func (d *decoder) mismatch(want string) error {
	got := "Unexpected token"
	switch c := d.peek(); {
	case c == '{':
		got = "Start of structure or map"
	case c == '[':
		got = "Start of list"
	case c == '"':
		got = "STRING_VALUE"
	case c == 't':
		got = "TRUE_VALUE"
	case c == 'f':
		got = "FALSE_VALUE"
	case c == '-' || c >= '0' && c <= '9':
		got = "NUMBER_VALUE"
	}
	return &ShapeError{fmt.Sprintf("%s cannot be converted to %s", got, want)}
}

func (d *decoder) str() (string, error) {
	if d.peek() != '"' {
		return "", d.mismatch("String")
	}
	start := d.at
	escaped := false
	for d.at++; d.at < len(d.data); d.at++ {
		switch c := d.data[d.at]; {
		case c == '\\':
			escaped = true
			d.at++
		case c == '"':
			d.at++
			if raw := d.data[start+1 : d.at-1]; !escaped && utf8.Valid(raw) {
				return string(raw), nil
			}
			var s string
			if err := json.Unmarshal(d.data[start:d.at], &s); err != nil {
				return "", &ShapeError{"a string is not valid JSON"}
			}
			return s, nil
		}
	}
	return "", &ShapeError{"a string does not end"}
}

// each reads an object: one is called with every name, at its value.
func (d *decoder) each(one func(name string) error) error {
	if !d.take('{') {
		return d.mismatch("Map")
	}
	for first := true; !d.take('}'); first = false {
		if !first && !d.take(',') {
			return &ShapeError{"a map is not valid JSON"}
		}
		name, err := d.str()
		if err != nil {
			return err
		}
		if !d.take(':') {
			return &ShapeError{"a map is not valid JSON"}
		}
		if err := one(name); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) list(one func() error) error {
	if !d.take('[') {
		return d.mismatch("List")
	}
	for first := true; !d.take(']'); first = false {
		if !first && !d.take(',') {
			return &ShapeError{"a list is not valid JSON"}
		}
		if err := one(); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) attributes(depth int) (Map, error) {
	m := Map{}
	err := d.each(func(name string) error {
		v, err := d.value(depth)
		if err == nil {
			m[name] = v
			return nil
		}
		if e, ok := err.(*InvalidError); ok && depth == 0 {
			e.Key = name
		}
		return err
	})
	return m, err
}

func (d *decoder) value(depth int) (Value, error) {
	if d.peek() != '{' {
		return nil, d.mismatch("AttributeValue")
	}
	var v Value
	err := d.each(func(name string) error {
		if d.null() {
			return nil
		}
		if v != nil {
			return invalid("Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes")
		}
		var err error
		v, err = d.typed(Type(name), depth)
		return err
	})
	if err == nil && v == nil {
		err = invalid("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
	}
	return v, err
}

func (d *decoder) typed(t Type, depth int) (Value, error) {
	switch t {
	case TypeS, TypeN, TypeB:
		return d.scalar(t)
	case TypeSS, TypeNS, TypeBS:
		return d.set(t[:1])
	case TypeBool, TypeNull:
		return d.boolean(t)
	case TypeL, TypeM:
		if depth >= MaxDepth {
			return nil, invalid("Nesting Levels have exceeded supported limits: Attributes can have at most %d levels", MaxDepth)
		}
		if t == TypeM {
			return d.attributes(depth + 1)
		}
		list := List{}
		err := d.list(func() error {
			v, err := d.value(depth + 1)
			list = append(list, v)
			return err
		})
		return list, err
	}
	return nil, invalid("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
}

func (d *decoder) scalar(t Type) (Value, error) {
	text, err := d.str()
	switch {
	case err != nil:
		return nil, err
	case t == TypeS:
		return String(text), nil
	case t == TypeB:
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, &ShapeError{"a binary value is not valid base64"}
		}
		return Binary(raw), nil
	}
	n, err := ParseNumber(text)
	if err == ErrNotNumber {
		return nil, invalid("%s: %s", err, text)
	}
	if err != nil {
		return nil, invalid("%s", err)
	}
	return n, nil
}

func (d *decoder) boolean(t Type) (Value, error) {
	yes := d.word("true")
	if !yes && !d.word("false") {
		return nil, d.mismatch("Boolean")
	}
	if t == TypeBool {
		return Bool(yes), nil
	}
	if !yes {
		return nil, invalid("One or more parameter values were invalid: Null attribute value types must have the value of true")
	}
	return Null{}, nil
}

var setNames = map[Type]string{TypeS: "string", TypeN: "number"}

func join(members []Value) string {
	texts := make([]string, len(members))
	for i, m := range members {
		texts[i] = fmt.Sprint(m)
	}
	return strings.Join(texts, ", ")
}

func (d *decoder) set(of Type) (Value, error) {
	var members []Value
	err := d.list(func() error {
		v, err := d.scalar(of)
		members = append(members, v)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(members) == 0 {
		if of == TypeB {
			return nil, invalid("One or more parameter values were invalid: Binary sets should not be empty")
		}
		return nil, invalid("One or more parameter values were invalid: An %s set  may not be empty", setNames[of])
	}
	set, ok := NewSet(of, members)
	if !ok {
		return nil, invalid("One or more parameter values were invalid: Input collection [%s] contains duplicates.", join(members))
	}
	return set, nil
}
