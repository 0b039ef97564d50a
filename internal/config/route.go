package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
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

// routes are the kinds in the order of the alphabet, with what each wants for an argument.
var routes = []struct{ kind, argument, want string }{
	{"affinity", "FIELD", "the name of a field of the message"},
	{"cel", "EXPRESSION", "an expression"},
	{"first_with_capacity", "", ""},
	{"lambda", "FUNCTION", "a function's name or ARN"},
	{"least_loaded", "", ""},
	{"rendezvous", "FIELD", "the name of a field of the message"},
	{"weighted", "", ""},
}

// Bounds of arguments, as internal/routefn has them.
const (
	maxField      = 256
	maxExpression = 8 << 10
)

// Routes are the kinds of routing functions, sorted.
func Routes() []string {
	var kinds []string
	for _, r := range routes {
		kinds = append(kinds, r.kind)
	}
	return kinds
}

func (r *Route) read(d *document, path string, n ast.Node) {
	r.Kind = "least_loaded" // whatever it is, it is not missing
	if isScalar(n) {
		text(&r.Kind)(d, path, n)
		return
	}
	fields := map[string]field{}
	for _, known := range routes {
		fields[known.kind] = func(d *document, path string, n ast.Node) {
			r.Kind = known.kind
			if known.argument == "" {
				d.failf(n, path, "takes no argument: write route: %s", known.kind)
				return
			}
			r.Argument = unread
			text(&r.Argument)(d, path, n)
		}
	}
	before := len(d.problems)
	d.mapping(path, n, fields)
	if values, ok := mappingValues(n); ok && len(values) != 1 && len(d.problems) == before {
		d.failf(n, path, "takes exactly one of %s", strings.Join(Routes(), ", "))
	}
}

func (c *checker) route(path string, r Route) {
	if r.Kind == "" {
		c.failf(path, "is missing: allowed are %s", strings.Join(Routes(), ", "))
		return
	}
	for _, known := range routes {
		if known.kind != r.Kind {
			continue
		}
		switch {
		case known.argument == "" && r.Argument != "":
			c.failf(path+"."+r.Kind, "takes no argument: write route: %s", r.Kind)
		case known.argument != "" && r.Argument == "":
			c.failf(path, "%s wants %s: write {%s: %s}", r.Kind, known.want, r.Kind, known.argument)
		case known.argument == "FIELD" && len(r.Argument) > maxField:
			c.failf(path+"."+r.Kind, "the name of a field is at most %d bytes long", maxField)
		case r.Kind == "cel" && len(r.Argument) > maxExpression:
			c.failf(path+".cel", "%d bytes are too many: at most %d", len(r.Argument), maxExpression)
		case r.Kind == "lambda":
			c.function(path+".lambda", r.Argument)
		}
		return
	}
	meant := nearest(r.Kind, Routes())
	if meant != "" {
		meant += "? "
	}
	c.failf(path, "%s is no routing function: %sallowed are %s", quote(r.Kind), meant, strings.Join(Routes(), ", "))
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
		return errors.New("route: want the name of a routing function, or one name with its argument")
	}
	for kind, argument := range one {
		if argument == "" {
			return fmt.Errorf("route: %s: the argument is empty", clip(kind))
		}
		*r = Route{Kind: kind, Argument: argument}
	}
	return nil
}

// Expressions is a check of the routes that are expressions: that they compile, as whoever has the compiler says. Other
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
