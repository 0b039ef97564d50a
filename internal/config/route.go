package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Route says which routing function picks a message's consumer. It is written as a word, such as least_loaded, or, for
// those that take an argument, as one key and its value, such as {rendezvous: customer_id}.
type Route struct {
	// Kind is one of the words of [Routes].
	Kind string
	// Argument is the field of rendezvous and affinity, the expression of cel, the function of lambda; "" for the
	// others.
	Argument string
}

// routeTable has the routing functions that take an argument as keys, the others as words.
var routeTable = &Table{
	Title: "route", OneKey: true, Words: []string{"first_with_capacity", "least_loaded", "weighted"},
	Help: "A word (`first_with_capacity`, `least_loaded` or `weighted`), or one of these keys with its argument; see docs/routing.md.",
	Keys: []Key{
		{Name: "affinity", Type: fieldType, Example: "region", Help: "The least loaded of the consumers that have the value of this field as a tag."},
		{Name: "cel", Type: bounded("an expression", maxExpression), Example: "'consumers[0].id'", Help: "A CEL expression."},
		{Name: "lambda", Type: functionType, Example: "pick-courier", Help: "A function that picks."},
		{Name: "rendezvous", Type: fieldType, Example: "customer_id", Help: "The same consumer for the same value of this field."},
	},
}

var routeType = Type{Form: Mapping, Want: "the name of a routing function, or one with its argument, such as {cel: EXPRESSION}", Keys: routeTable}

var fieldType = bounded("the name of a field of the message", maxField)

// Bounds of arguments, as internal/routefn has them.
const (
	maxField      = 256
	maxExpression = 8 << 10
)

// Routes are the kinds of routing functions, sorted.
func Routes() []string {
	kinds := slices.Concat(routeTable.Words, routeTable.Names())
	slices.Sort(kinds)
	return kinds
}

func orList(words []string) string {
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

func (c *checker) route(path string, r Route) {
	k, word := routeTable.Key(r.Kind), slices.Contains(routeTable.Words, r.Kind)
	switch {
	case r.Kind == "":
	case word && r.Argument != "":
		c.failf(path+"."+r.Kind, "%s takes no argument; write route: %s", r.Kind, r.Kind)
	case word:
	case k == nil:
		what := "write " + orList(Routes())
		if meant := Nearest(r.Kind, Routes()); meant != "" {
			what = "did you mean " + meant + "?"
		}
		c.failf(path, "unknown routing function %s; %s", Quote(r.Kind), what)
	case r.Argument == "":
		c.failf(path, "%s needs %s; write {%s: ...}", r.Kind, k.Type.Want, r.Kind)
	default:
		c.text(path+"."+r.Kind, &k.Type, r.Argument)
	}
}

// MarshalJSON writes what a person would.
func (r Route) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // expressions stay readable
	var v any = r.Kind
	if r.Argument != "" {
		v = map[string]string{r.Kind: r.Argument}
	}
	err := enc.Encode(v)
	return b.Bytes(), err
}

// UnmarshalJSON reads what a configuration may contain.
func (r *Route) UnmarshalJSON(src []byte) error {
	if len(src) > 0 && src[0] == '"' {
		*r = Route{}
		return json.Unmarshal(src, &r.Kind)
	}
	var one map[string]string
	if err := json.Unmarshal(src, &one); err != nil || len(one) != 1 {
		return errors.New("route: write the name of a routing function, or one name with its argument")
	}
	for kind, argument := range one {
		if argument == "" {
			return fmt.Errorf("route: %s: the argument is empty; write it", Clip(kind))
		}
		*r = Route{Kind: kind, Argument: argument}
	}
	return nil
}

// Expressions is a check of the routes that are expressions: that they compile, with the compiler of the caller. Other
// routes are checked in any case.
func Expressions(compile func(expression string) error) Check {
	return func(cfg *Config) (problems []Problem) {
		for _, name := range cfg.GroupNames() {
			route := cfg.Groups[name].Route
			if route.Kind != "cel" || route.Argument == "" {
				continue
			}
			if err := compile(route.Argument); err != nil {
				problems = append(problems, Problem{Path: "groups." + name + ".route.cel", Message: err.Error()})
			}
		}
		return problems
	}
}
