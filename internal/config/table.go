package config

import (
	"maps"
	"slices"
	"strings"
)

// Table describes one kind of mapping in a configuration. The reader of landfall.yaml, the checks of single values, the
// JSON Schema and docs/configuration.md come from it. What several keys say together is checked by code beside the
// struct.
type Table struct {
	// Title and Help head the section of docs/configuration.md. Example is a complete landfall.yaml.
	Title, Help, Example string
	// Keys in the order of the alphabet.
	Keys []Key
	// Short is the key that the mapping may be written as, when no other is needed: `secret: NAME`. "" if there is none.
	Short string
	// Words may stand in place of the mapping. OneKey says that the mapping has exactly one key.
	Words  []string
	OneKey bool
	// Kinds is set for destinations: which further keys there are depends on the kind.
	Kinds []*Kind
	// Foreign are keys that only other kinds of destinations have, with the name of that kind.
	Foreign map[string]string
	// Schema is JSON with what the JSON Schema says besides, about several keys.
	Schema string
}

// Key describes one key of a [Table].
type Key struct {
	Name string
	Type Type
	// Default is a value as JSON has it; nil: there is none. Derive, if set, finds it from the keys beside it.
	Default any
	Derive  func(beside map[string]any) any
	// Required keys have no default. Missing says what to write; "" stands for any kind of destination.
	Required bool
	Missing  string
	// Help says what the key is for. Why is the reason for its largest value, "" if none is needed.
	Help, Why string
	// Example is a value, as YAML.
	Example string
}

// Form is how a value is written.
type Form int

// The forms. A Window is never, always or a duration. A Scalar is a text, a number, true or false. A Map has names
// that a person chose, a Mapping has the keys of a table.
const (
	Text Form = iota
	Integer
	Number
	Boolean
	DurationForm
	WindowForm
	Scalar
	List
	Map
	Mapping
)

// Type is which values a key takes.
type Type struct {
	Form Form
	// Want is what to write, with an example where that helps.
	Want string
	// Min and Max bound an Integer, a Number, a Duration (in nanoseconds), and the length of a List or Map. Max 0: no
	// bound.
	Min, Max int64
	// Unit is proposed where a duration has none.
	Unit string
	// Words are the only texts that are allowed, if there are any.
	Words []string
	// Canonical is how a text is stored; nil: as it is written. Check says what is wrong with it; "" if nothing is.
	Canonical func(string) string
	Check     func(string) string
	// Of is the type of what a List or a Map holds, Names that of the names in a Map. One says that a List of one may be
	// written without the list.
	Of, Names *Type
	One       bool
	// Keys of a Mapping.
	Keys *Table
	// Masked values never appear in errors: they may be credentials.
	Masked bool
	// Define is the name in the JSON Schema's $defs, Schema what is said there, as JSON.
	Define, Schema string
}

// Key is the key of that name; nil if there is none.
func (t *Table) Key(name string) *Key {
	for i := range t.Keys {
		if t.Keys[i].Name == name {
			return &t.Keys[i]
		}
	}
	return nil
}

// Names of the keys, sorted.
func (t *Table) Names() (names []string) {
	for _, k := range t.Keys {
		names = append(names, k.Name)
	}
	return names
}

// For is the table for a mapping with these keys: of a destination that of its kind.
func (t *Table) For(written []string) *Table {
	if t.Kinds == nil {
		return t
	}
	return kindFor(written).table()
}

// fill adds the defaults of the keys that are not written, here and below.
func (t *Table) fill(written map[string]any) {
	for _, k := range t.Keys {
		value, found := written[k.Name]
		if !found {
			if value = k.Default; k.Derive != nil {
				value = k.Derive(written)
			}
			if k.Type.Keys != nil && k.Default != nil {
				value = map[string]any{}
			}
			if value == nil {
				continue
			}
			written[k.Name] = value
		}
		k.Type.fill(value)
	}
}

func (t *Type) fill(value any) {
	switch value := value.(type) {
	case map[string]any:
		if t.Keys != nil {
			t.Keys.For(slices.Collect(maps.Keys(value))).fill(value)
		} else if t.Of != nil {
			for _, one := range value {
				t.Of.fill(one)
			}
		}
	case []any:
		for _, one := range value {
			t.Of.fill(one)
		}
	}
}

// sorted puts keys in the order of the alphabet.
func sorted(keys ...[]Key) []Key {
	all := slices.Concat(keys...)
	slices.SortFunc(all, func(a, b Key) int { return strings.Compare(a.Name, b.Name) })
	return all
}
