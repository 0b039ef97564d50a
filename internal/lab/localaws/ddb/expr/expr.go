// Package expr is DynamoDB's expression language: condition, filter, key condition, update and projection expressions
// are parsed, checked as the service checks them before it looks at any item, and applied to items.
//
// It knows attribute values (package attr) and nothing of tables, indexes or requests. Every error it returns is meant
// for the caller of the service, as the message of a ValidationException.
package expr

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/landfall-dev/landfall/internal/lab/localaws/attr"
)

// Limits of https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
const (
	maxBytes     = 4096
	maxOperators = 300
	maxIn        = 100
	maxPath      = attr.MaxDepth
)

// Scope resolves the placeholders of a request's expressions, which share it, and knows which of them were used.
type Scope struct {
	Names  map[string]string
	Values attr.Map

	// Entered are the attributes that parsed paths lead into: they cannot be scalars.
	Entered []string

	used map[string]bool
}

// Unused is an error if a placeholder was declared that no parsed expression uses.
func (s *Scope) Unused() error {
	return cmp.Or(
		s.unused("ExpressionAttributeNames", maps.Keys(s.Names)),
		s.unused("ExpressionAttributeValues", maps.Keys(s.Values)),
	)
}

func (s *Scope) unused(parameter string, declared iter.Seq[string]) error {
	keys := slices.DeleteFunc(slices.Sorted(declared), func(k string) bool { return s.used[k] })
	if len(keys) == 0 {
		return nil
	}
	return fmt.Errorf("Value provided in %s unused in expressions: keys: {%s}", parameter, strings.Join(keys, ", "))
}

// Path leads to an attribute: a name, then names of map entries and indexes of lists.
type Path []Step

// Step is one step of a path: into a list if Name is empty.
type Step struct {
	Name  string
	Index int
}

func (s Step) compare(t Step) int { return cmp.Or(strings.Compare(s.Name, t.Name), s.Index-t.Index) }

// String is the path as error messages of the service show it.
func (p Path) String() string {
	parts := make([]string, len(p))
	for i, s := range p {
		parts[i] = s.Name
		if s.Name == "" {
			parts[i] = fmt.Sprintf("[%d]", s.Index)
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// Lookup is the value that the path leads to, nil if there is none.
func (p Path) Lookup(item attr.Map) attr.Value {
	var v attr.Value = item
	for _, s := range p {
		v = s.from(v)
	}
	return v
}

// from is the value that the step leads to from a container, nil if there is none.
func (s Step) from(container attr.Value) attr.Value {
	switch c := container.(type) {
	case attr.Map:
		if s.Name != "" {
			return c[s.Name]
		}
	case attr.List:
		if s.Name == "" && s.Index < len(c) {
			return c[s.Index]
		}
	}
	return nil
}
