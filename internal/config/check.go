package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// checker collects what is wrong with values. It knows paths, not places: the reader of YAML adds those.
type checker struct{ problems []Problem }

func (c *checker) failf(path, format string, args ...any) {
	c.problems = append(c.problems, Problem{Path: path, Message: fmt.Sprintf(format, args...)})
}

// Check looks for what this package cannot see, in a configuration in which some values may be wrong. Of a problem it
// says Path and Message.
type Check func(*Config) []Problem

// Check reports everything that is wrong with the values of a configuration.
func (cfg *Config) Check(more ...Check) []Problem {
	var c checker
	c.keys("", File, cfg)
	if len(cfg.Destinations)+len(cfg.Groups) == 0 {
		c.failf("destinations", "no destinations and no groups; add at least one")
	}
	for _, name := range cfg.Names() {
		c.destination("destinations."+Plain(name), name, cfg.Destinations[name], cfg)
	}
	for _, name := range cfg.GroupNames() {
		c.group("groups."+Plain(name), name, cfg.Groups[name], cfg)
	}
	for _, check := range more {
		c.problems = append(c.problems, check(cfg)...)
	}
	return c.problems
}

// keys checks the values of a struct, each by itself, against its table.
func (c *checker) keys(path string, t *Table, of any) {
	v := reflect.Indirect(reflect.ValueOf(of))
	fields := fieldsOf(v.Type())
	for i := range t.Keys {
		if at, found := fields[t.Keys[i].Name]; found {
			c.key(Join(path, t.Keys[i].Name), &t.Keys[i], v.FieldByIndex(at))
		}
	}
}

// fields has for each type of struct what [fieldsOf] found. A function reads one configuration while it starts, in which
// each type comes many times.
var fields sync.Map

// fieldsOf is where the fields of a struct are, by the names that JSON has for them.
func fieldsOf(t reflect.Type) map[string][]int {
	if known, found := fields.Load(t); found {
		return known.(map[string][]int)
	}
	found := map[string][]int{}
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			found[name] = f.Index
		}
	}
	fields.Store(t, found)
	return found
}

func (c *checker) key(path string, k *Key, v reflect.Value) {
	switch none := isUnset(v); {
	case none && k.Required && k.Missing == "":
		c.failf(path, "missing; a destination needs %s", addresses())
	case none && k.Required:
		c.failf(path, "missing; %s", k.Missing)
	case none && (k.Default == nil || k.Derive != nil) && k.Type.Form != DurationForm:
	default:
		c.value(path, &k.Type, v, k.Why)
	}
}

// isUnset tells values that are not there: most are zero then.
func isUnset(v reflect.Value) bool {
	if marked, ok := v.Interface().(interface{ isUnset() bool }); ok {
		return marked.isUnset()
	}
	return v.IsZero()
}

func (c *checker) value(path string, t *Type, v reflect.Value, why string) {
	switch t.Form {
	case Text, Scalar:
		if v.Kind() == reflect.String {
			c.text(path, t, v.String())
		}
	case Integer:
		c.number(path, t, float64(v.Int()))
	case Number:
		c.number(path, t, v.Float())
	case DurationForm:
		c.duration(path, t, Duration(v.Int()), why)
	case WindowForm:
		if wrong := badWindow(Window(v.Int())); wrong != "" {
			c.failf(path, "%s", wrong)
		}
	case List:
		c.length(path, t, v.Len())
		for i := range v.Len() {
			c.value(path+"."+strconv.Itoa(i), t.Of, v.Index(i), "")
		}
		c.repetitions(path, v)
	case Map:
		if t.Of.Form == Mapping {
			return // destinations, groups and consumers have checks of their own
		}
		c.length(path, t, v.Len())
		for _, name := range sortedKeys(v) {
			c.text(path+"."+Plain(fmt.Sprint(name)), t.Names, fmt.Sprint(name))
			c.value(path+"."+Plain(fmt.Sprint(name)), t.Of, v.MapIndex(name), "")
		}
	case Mapping:
		if v = reflect.Indirect(v); v.IsValid() {
			c.keys(path, t.Keys, v.Interface())
		}
	}
}

func sortedKeys(v reflect.Value) []reflect.Value {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return keys
}

func (c *checker) text(path string, t *Type, text string) {
	if t.Words != nil && !slices.Contains(t.Words, text) {
		c.failf(path, "%s is not allowed; write %s", Quote(text), t.Want)
	}
	wrong := ""
	if t.Check != nil {
		wrong = t.Check(text)
	}
	if wrong == "" && t.Canonical != nil && t.Canonical(text) != text {
		wrong = "write it " + t.Canonical(text)
	}
	if wrong != "" {
		c.failf(path, "%s", wrong)
	}
}

func (c *checker) number(path string, t *Type, n float64) {
	switch text := strconv.FormatFloat(n, 'f', -1, 64); {
	case !(n >= float64(t.Min)):
		c.failf(path, "%s is too small; the minimum is %d", text, t.Min)
	case !(n <= float64(t.Max)):
		c.failf(path, "%s is too large; the maximum is %d", text, t.Max)
	}
}

func (c *checker) duration(path string, t *Type, d Duration, why string) {
	switch {
	case d < Duration(t.Min):
		c.failf(path, "%v is too short; the minimum is %v", d, Duration(t.Min))
	case t.Max > 0 && d > Duration(t.Max):
		if why != "" {
			why = ", because " + why
		}
		c.failf(path, "%v is too long; the maximum is %v%s", d, Duration(t.Max), why)
	}
}

func (c *checker) length(path string, t *Type, n int) {
	switch {
	case t.Max > 0 && int64(n) > t.Max:
		c.failf(path, "%d entries are too many; the maximum is %d", n, t.Max)
	case int64(n) < t.Min:
		c.failf(path, "the list is empty; add an entry, or remove the key")
	}
}

func (c *checker) repetitions(path string, list reflect.Value) {
	if list.Type().Elem().Kind() != reflect.String {
		return
	}
	seen := map[string]bool{}
	for i := range list.Len() {
		text := list.Index(i).String()
		if seen[text] {
			c.failf(path+"."+strconv.Itoa(i), "%s stands twice in the list; remove one", Clip(text))
		}
		seen[text] = true
	}
}

// Join is the path of a key within what path leads to.
func Join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// Plain is a key as part of a path: as it is if it could be one of ours or a header's name, else quoted.
func Plain(key string) string {
	for _, r := range key {
		if r <= ' ' || r > '~' || r == '"' || r == '.' {
			return strconv.Quote(Clip(key))
		}
	}
	if key == "" || len(key) > 100 {
		return strconv.Quote(Clip(key))
	}
	return key
}
