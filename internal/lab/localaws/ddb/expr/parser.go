package expr

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/landfall-dev/landfall/internal/lab/localaws/attr"
)

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

// parser turns one expression into nodes. The first error wins: nothing is read after it, and nodes may lack parts.
type parser struct {
	older     bool // the condition is made of older parameters, which do not bound IN
	src       string
	toks      []token
	at        int
	scope     *Scope
	update    bool // which functions may be used
	operators int
	nested    int
	redundant bool
	err       error
}

func newParser(src string, scope *Scope, update bool) *parser {
	toks, bad := tokens(src)
	p := &parser{src: src, toks: toks, scope: scope, update: update}
	switch {
	case strings.TrimSpace(src) == "":
		p.fail("The expression can not be empty;")
	case len(src) > maxBytes:
		p.fail("Expression size has exceeded the maximum allowed size; expression size: %d", len(src))
	case bad >= 0:
		p.unexpected(bad)
	}
	return p
}

// fail keeps the first error, and goes to the end.
func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, args...)
		p.at = len(p.toks) - 1
	}
}

// unexpected is a syntax error at a token.
func (p *parser) unexpected(at int) {
	from, to := p.toks[max(at-1, 0)].start, p.toks[min(at+1, len(p.toks)-1)].end
	p.fail("Syntax error; token: \"%s\", near: \"%s\"", p.toks[at].text, p.src[from:to])
}

// must is a syntax error at the next token unless something is so.
func (p *parser) must(so bool) {
	if !so {
		p.unexpected(p.at)
	}
}

func (p *parser) peek() token { return p.toks[p.at] }

// take is the next token, past which it moves, but for the end.
func (p *parser) take() token {
	t := p.peek()
	p.at = min(p.at+1, len(p.toks)-1)
	return t
}

func (p *parser) isKeyword(w string) bool {
	return p.peek().kind == word && strings.EqualFold(p.peek().text, w)
}

// skip takes the next token if that is so.
func (p *parser) skip(so bool) bool {
	if so {
		p.take()
	}
	return so
}

// keyword takes a keyword if it is the next token.
func (p *parser) keyword(w string) bool { return p.skip(p.isKeyword(w)) }

// symbol takes a symbol if it is the next token.
func (p *parser) symbol(s string) bool { return p.skip(p.peek().kind == symbol && p.peek().text == s) }

func (p *parser) expect(s string) { p.must(p.symbol(s)) }

// limit bounds the operators, and the recursion: no legal expression nests deeper than it has operators.
func (p *parser) limit() {
	if n := max(p.nested, p.operators); n > maxOperators {
		p.fail("The expression contains too many operators; operator count: %d", n)
	}
}

// nest goes one level deeper, and returns what leaves it.
func (p *parser) nest() (leave func()) {
	p.nested++
	p.limit()
	return func() { p.nested-- }
}

// list reads elements between commas.
func (p *parser) list(element func()) {
	element()
	for p.symbol(",") {
		element()
	}
}

// inParentheses reads a list in parentheses.
func (p *parser) inParentheses(element func()) {
	p.expect("(")
	p.list(element)
	p.expect(")")
}

// placeholder takes a placeholder: what it stands for, or the error that refusal words.
func placeholder[V any](p *parser, declared map[string]V, refusal string) V {
	t := p.take()
	if p.scope.used == nil {
		p.scope.used = map[string]bool{}
	}
	p.scope.used[t.text] = true
	v, ok := declared[t.text]
	if !ok {
		p.fail(refusal, t.text)
	}
	return v
}

// path reads a document path. Bare names must not be reserved words; placeholders stand for any name.
func (p *parser) path() Path {
	path := Path{{Name: p.pathName()}}
	for {
		switch {
		case p.symbol("."):
			path = append(path, Step{Name: p.pathName()})
		case p.symbol("["):
			path = append(path, Step{Index: p.index()})
			p.expect("]")
		default:
			return path
		}
		p.scope.Entered = append(p.scope.Entered, path[0].Name)
		if len(path) > maxPath {
			p.fail("The document path has too many nesting elements; nesting levels: %d", len(path))
		}
	}
}

func (p *parser) pathName() string {
	t := p.peek()
	if t.kind == name {
		return placeholder(p, p.scope.Names,
			"An expression attribute name used in the document path is not defined; attribute name: %s")
	}
	p.must(t.kind == word)
	if Reserved(t.text) {
		p.fail("Attribute name is a reserved keyword; reserved keyword: %s", t.text)
	}
	return p.take().text
}

func (p *parser) index() int {
	p.must(p.peek().kind == number)
	t := p.take()
	if len(t.text) > 8 {
		p.fail("List index is not within the allowable range; index: [%s]", t.text)
	}
	i, _ := strconv.Atoi(t.text) // up to 8 digits
	return i
}

// disjoint refuses paths if one leads through another one, or if two use the same attribute as list and as map.
func (p *parser) disjoint(paths []Path) {
	for i, second := range paths {
		for _, first := range paths[:i] {
			n := min(len(first), len(second))
			same := 0
			for same < n && first[same] == second[same] {
				same++
			}
			if same == n {
				p.fail("Two document paths overlap with each other; must remove or rewrite one of these paths; path "+
					"one: %s, path two: %s", first, second)
			} else if (first[same].Name == "") != (second[same].Name == "") {
				p.fail("Two document paths conflict with each other; must remove or rewrite one of these paths; "+
					"path one: %s, path two: %s", first, second)
			}
		}
	}
}
