// Package expr is DynamoDB's expression language: condition, filter, key condition, update and projection expressions
// are parsed, checked as the service checks them before it looks at any item, and applied to items.
//
// It knows attribute values (package attr) and nothing of tables, indexes or requests. Every error it returns is meant
// for the caller of the service, as the message of a ValidationException.
package expr

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/landfall-dev/landfall/internal/localaws/ddb/attr"
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

	used map[string]bool
}

// Unused is an error if a placeholder was declared that no parsed expression uses.
func (s *Scope) Unused() error {
	return cmp.Or(s.unused("ExpressionAttributeNames", maps.Keys(s.Names)), s.unused("ExpressionAttributeValues", maps.Keys(s.Values)))
}

func (s *Scope) unused(parameter string, declared iter.Seq[string]) error {
	keys := slices.DeleteFunc(slices.Sorted(declared), func(k string) bool { return s.used[k] })
	if len(keys) == 0 {
		return nil
	}
	return fmt.Errorf("Value provided in %s unused in expressions: keys: {%s}", parameter, strings.Join(keys, ", "))
}

func (s *Scope) use(placeholder string) {
	if s.used == nil {
		s.used = map[string]bool{}
	}
	s.used[placeholder] = true
}

func (s *Scope) name(placeholder string) (string, error) {
	s.use(placeholder)
	if n, ok := s.Names[placeholder]; ok {
		return n, nil
	}
	return "", fmt.Errorf("An expression attribute name used in the document path is not defined; attribute name: %s", placeholder)
}

func (s *Scope) value(placeholder string) (attr.Value, error) {
	s.use(placeholder)
	if v, ok := s.Values[placeholder]; ok {
		return v, nil
	}
	return nil, fmt.Errorf("An expression attribute value used in expression is not defined; attribute value: %s", placeholder)
}

// Path leads to an attribute: a name, then names of map entries and indexes of lists.
type Path []Step

// Step is one step of a path: into a list if Name is empty.
type Step struct {
	Name  string
	Index int
}

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

// disjoint is an error if one path leads through another one, or if two use the same attribute as list and as map.
func disjoint(paths []Path) error {
	for i, p := range paths {
		for _, q := range paths[:i] {
			n := min(len(p), len(q))
			same := 0
			for same < n && p[same] == q[same] {
				same++
			}
			switch {
			case same == n:
				return fmt.Errorf("Two document paths overlap with each other; must remove or rewrite one of these paths; path one: %s, path two: %s", q, p)
			case (p[same].Name == "") != (q[same].Name == ""):
				return fmt.Errorf("Two document paths conflict with each other; must remove or rewrite one of these paths; path one: %s, path two: %s", q, p)
			}
		}
	}
	return nil
}

// node is a part of a parsed expression: a path, a literal, or an operator or function over kids.
type node struct {
	path    Path
	literal attr.Value
	op      string // AND OR NOT = <> < <= > >= BETWEEN IN + - or the name of a function
	kids    []*node
	paren   bool // it stood in parentheses
}

// condition reports whether the node is true or false, rather than an operand.
func (n *node) condition() bool {
	switch n.op {
	case "", "size", "if_not_exists", "list_append", "+", "-":
		return false
	}
	return true
}

// functions are all functions and their numbers of operands; those of updates are of no use in conditions.
var functions = map[string]struct {
	operands int
	update   bool
}{
	"attribute_exists": {operands: 1}, "attribute_not_exists": {operands: 1}, "attribute_type": {operands: 2},
	"begins_with": {operands: 2}, "contains": {operands: 2}, "size": {operands: 1},
	"if_not_exists": {operands: 2, update: true}, "list_append": {operands: 2, update: true},
}

// parser turns one expression into nodes. The first error wins.
type parser struct {
	src       string
	toks      []token
	at        int
	scope     *Scope
	update    bool // which functions may be used
	operators int
	nested    int
	redundant bool
}

func newParser(src string, scope *Scope, update bool) (*parser, error) {
	if strings.TrimSpace(src) == "" {
		return nil, errors.New("The expression can not be empty;")
	}
	if len(src) > maxBytes {
		return nil, fmt.Errorf("Expression size has exceeded the maximum allowed size; expression size: %d", len(src))
	}
	toks, bad := tokens(src)
	p := &parser{src: src, toks: toks, scope: scope, update: update}
	if bad.text != "" {
		p.toks = append(toks, bad, token{end: min(len(src), bad.end+1)})
		p.at = len(toks)
		return nil, p.unexpected()
	}
	return p, nil
}

// unexpected is the syntax error at the current token.
func (p *parser) unexpected() error {
	t := p.toks[p.at]
	from, to := t.start, t.end
	if p.at > 0 {
		from = p.toks[p.at-1].start
	}
	if p.at+1 < len(p.toks) {
		to = p.toks[p.at+1].end
	}
	return fmt.Errorf("Syntax error; token: \"%s\", near: \"%s\"", t.text, p.src[from:to])
}

func (p *parser) peek() token { return p.toks[p.at] }

// symbol takes a symbol if it is the next token.
func (p *parser) symbol(s string) bool {
	if p.peek().kind != symbol || p.peek().text != s {
		return false
	}
	p.at++
	return true
}

func (p *parser) isKeyword(w string) bool {
	return p.peek().kind == word && strings.EqualFold(p.peek().text, w)
}

// keyword takes a keyword if it is the next token.
func (p *parser) keyword(w string) bool {
	is := p.isKeyword(w)
	if is {
		p.at++
	}
	return is
}

// limit bounds the operators, and the recursion: no legal expression nests deeper than it has operators.
func (p *parser) limit() error {
	if n := max(p.nested, p.operators); n > maxOperators {
		return fmt.Errorf("The expression contains too many operators; operator count: %d", n)
	}
	return nil
}

func (p *parser) expect(s string) error {
	if !p.symbol(s) {
		return p.unexpected()
	}
	return nil
}

// list reads elements between commas.
func (p *parser) list(element func() error) error {
	err := element()
	for err == nil && p.symbol(",") {
		err = element()
	}
	return err
}

// path reads a document path. Bare names must not be reserved words; placeholders stand for any name.
func (p *parser) path() (Path, error) {
	first, err := p.pathName()
	if err != nil {
		return nil, err
	}
	path := Path{{Name: first}}
	for {
		switch {
		case p.symbol("."):
			n, err := p.pathName()
			if err != nil {
				return nil, err
			}
			path = append(path, Step{Name: n})
		case p.symbol("["):
			i, err := p.index()
			if err != nil {
				return nil, err
			}
			path = append(path, Step{Index: i})
		default:
			return path, nil
		}
		if len(path) > maxPath {
			return nil, fmt.Errorf("The document path has too many nesting elements; nesting levels: %d", len(path))
		}
	}
}

func (p *parser) pathName() (string, error) {
	t := p.peek()
	switch t.kind {
	case name:
		p.at++
		return p.scope.name(t.text)
	case word:
		if Reserved(t.text) {
			return "", fmt.Errorf("Attribute name is a reserved keyword; reserved keyword: %s", t.text)
		}
		p.at++
		return t.text, nil
	}
	return "", p.unexpected()
}

func (p *parser) index() (int, error) {
	t := p.peek()
	if t.kind != number {
		return 0, p.unexpected()
	}
	p.at++
	if len(t.text) > 8 {
		return 0, fmt.Errorf("List index is not within the allowable range; index: [%s]", t.text)
	}
	i := 0
	for _, d := range []byte(t.text) {
		i = i*10 + int(d-'0')
	}
	return i, p.expect("]")
}
