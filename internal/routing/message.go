package routing

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"slices"
	"strconv"
)

// Message is what a routing function may know of a message. It formats and logs itself as its id: fields and
// attributes are the application's.
type Message struct {
	// ID is the same for every copy of the message; within a group it names the receipt.
	ID     string
	Fields Fields
	// Attributes are the texts and numbers that travelled beside the body.
	Attributes map[string]string
}

// Format keeps fields and attributes out of everything that is printed.
func (m Message) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "message "+m.ID) }

// LogValue keeps fields and attributes out of structured logs.
func (m Message) LogValue() slog.Value { return slog.StringValue(m.ID) }

// Fields are the plain members of a body that is a JSON object, sorted by name.
type Fields []Field

// Field is one of them.
type Field struct {
	Name  string
	Value Value
}

// ValueKind says which member of a Value counts.
type ValueKind int

// A field is a text, a whole number, another number, a truth value, or null.
const (
	NullValue ValueKind = iota
	TextValue
	IntValue
	FloatValue
	BoolValue
)

// Value is the value of a field. Float is finite: JSON numbers beyond its range are null.
type Value struct {
	Kind  ValueKind
	Text  string
	Int   int64
	Float float64
	Bool  bool
}

// ParseFields reads the fields of any body. A body that is not a JSON object has none. Members that are objects or
// lists are left out. Of a repeated name the last one counts. A number is whole if it is written without
// fraction and exponent and fits into 64 bits.
func ParseFields(body []byte) Fields {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil {
		return nil
	}
	fields := make(Fields, 0, len(members))
	for name, raw := range members {
		if v, plain := parseValue(raw); plain {
			fields = append(fields, Field{Name: name, Value: v})
		}
	}
	fields.Sort()
	return fields
}

// Sort puts fields into the order of their names.
func (f Fields) Sort() {
	slices.SortFunc(f, func(a, b Field) int { return cmp.Compare(a.Name, b.Name) })
}

func parseValue(raw json.RawMessage) (v Value, plain bool) {
	switch raw[0] {
	case '{', '[':
		return Value{}, false
	case '"':
		v.Kind = TextValue
		return v, json.Unmarshal(raw, &v.Text) == nil
	case 't', 'f':
		return Value{Kind: BoolValue, Bool: raw[0] == 't'}, true
	case 'n':
		return Value{}, true
	}
	text := string(raw)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return Value{Kind: IntValue, Int: n}, true
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return Value{}, true
	}
	return Value{Kind: FloatValue, Float: f + 0}, true // -0 is 0
}

// Get is the value of a field.
func (f Fields) Get(name string) (Value, bool) {
	i, found := f.Index(name)
	if !found {
		return Value{}, false
	}
	return f[i].Value, true
}

// Index is the place of a field.
func (f Fields) Index(name string) (int, bool) {
	return slices.BinarySearchFunc(f, name, func(f Field, name string) int { return cmp.Compare(f.Name, name) })
}

// String is the value as text, the same for the same value however its number was written; null is "".
func (v Value) String() string {
	switch v.Kind {
	case TextValue:
		return v.Text
	case IntValue:
		return strconv.FormatInt(v.Int, 10)
	case FloatValue:
		return strconv.FormatFloat(v.Float, 'f', -1, 64)
	case BoolValue:
		return strconv.FormatBool(v.Bool)
	}
	return ""
}
