package yamlconfig

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/landfall-dev/landfall/internal/config"
)

// maxDepth bounds how deep brackets may be nested. The format itself needs four levels.
const maxDepth = 32

// maxKeys bounds the keys of a file: the parser's time grows with the square of the keys of one mapping, and a file
// of nothing else would take minutes.
const maxKeys = 20_000

// document is one landfall.yaml while it is read: its lines for excerpts, where each key and value stands, and what
// is wrong so far.
type document struct {
	lines  []string
	keys   map[string]*token.Token
	values map[string]*token.Token
	// unread are the paths of what could not be read. What is wrong there, or below, follows from that.
	unread   map[string]bool
	problems []config.Problem
}

func newDocument(src []byte) *document {
	return &document{
		lines:  strings.Split(string(normalise(src)), "\n"),
		keys:   map[string]*token.Token{},
		values: map[string]*token.Token{},
		unread: map[string]bool{},
	}
}

// normalise takes away what editors add: a byte order mark, and line ends of other systems.
func normalise(src []byte) []byte {
	src = bytes.TrimPrefix(src, []byte("\ufeff"))
	src = bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n"))
	return bytes.ReplaceAll(src, []byte("\r"), []byte("\n"))
}

// parse returns the file's only document, a mapping; nil if there is none, with the problem noted.
func (d *document) parse(src []byte) ast.Node {
	if !d.readable(src) {
		return nil
	}
	docs, ok := d.syntax(string(normalise(src)))
	if !ok {
		return nil
	}
	docs = slices.DeleteFunc(docs, func(doc *ast.DocumentNode) bool { return doc.Body == nil })
	if len(docs) == 0 {
		d.fail(0, 0, "", "the file is empty; write at least one destination under destinations:")
		return nil
	}
	if len(docs) > 1 {
		d.failf(docs[1].Body, "", "a second document begins here; write one configuration per file")
		return nil
	}
	root := docs[0].Body
	if _, ok := mappingValues(root); !ok {
		d.failf(root, "", "%s; write keys with values (key: value)", found(root))
		return nil
	}
	return root
}

// readable refuses what is no text, or text that YAML readers disagree about.
func (d *document) readable(src []byte) bool {
	if len(src) > config.MaxBytes {
		d.fail(0, 0, "", config.TooLong)
		return false
	}
	for i, line := range d.lines {
		if !utf8.ValidString(line) {
			at := strings.IndexFunc(line, func(r rune) bool { return r == utf8.RuneError })
			d.fail(i+1, utf8.RuneCountInString(line[:at])+1, "", "the text is not UTF-8 from here on; save the file as UTF-8")
			return false
		}
		if at := strings.IndexFunc(line, isControl); at >= 0 {
			d.fail(i+1, utf8.RuneCountInString(line[:at])+1, "", "a control character is not allowed; remove it")
			return false
		}
		indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		if tab := strings.IndexByte(indent, '\t'); tab >= 0 && len(indent) < len(line) && line[len(indent)] != '#' {
			d.fail(i+1, tab+1, "", "a tab cannot indent; use spaces")
			return false
		}
	}
	return true
}

func isControl(r rune) bool {
	return r < ' ' && r != '\t' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' || r == '\ufeff'
}

// syntax runs the YAML parser, on what it is safe to run it on.
func (d *document) syntax(src string) (docs []*ast.DocumentNode, ok bool) {
	defer func() {
		// What was read comes from outside, and a parser's defect must not end the process.
		if recover() != nil {
			d.fail(0, 0, "", "invalid YAML")
			docs, ok = nil, false
		}
	}()
	tokens := lexer.Tokenize(src)
	if tk, why := unwanted(tokens); tk != nil {
		d.hideUnparsed()
		d.failAt(tk, "", why)
		return nil, false
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		d.hideUnparsed()
		if at, is := err.(interface {
			GetToken() *token.Token
			GetMessage() string
		}); is && at.GetToken() != nil {
			d.failAt(at.GetToken(), "", config.Clip(at.GetMessage()))
		} else {
			d.fail(0, 0, "", "invalid YAML")
		}
		return nil, false
	}
	return file.Docs, true
}

// unwanted finds what YAML has and a configuration does not need, before the parser, which recurses, sees it.
func unwanted(tokens token.Tokens) (*token.Token, string) {
	depth, keys := 0, 0
	for _, tk := range tokens {
		switch tk.Type {
		case token.AnchorType, token.AliasType:
			return tk, "anchors and aliases are not supported; write the value out, or use defaults"
		case token.MergeKeyType:
			return tk, "merging (<<) is not supported; use defaults"
		case token.TagType:
			return tk, "tags (!) are not supported; quote a text that begins with !"
		case token.DirectiveType:
			return tk, "directives (%) are not supported; remove this line"
		case token.MappingKeyType:
			return tk, "keys with ? are not supported; write key: value"
		case token.LiteralType, token.FoldedType:
			return tk, "block text (| or >) is not supported; write the value on one line"
		case token.MappingValueType:
			if keys++; keys > maxKeys {
				return tk, fmt.Sprintf("the file has too many keys; the maximum is %d", maxKeys)
			}
		case token.SequenceEntryType:
			if tk.Prev != nil && tk.Prev.Type == token.SequenceEntryType {
				return tk, "a list in a list is not supported"
			}
		case token.MappingStartType, token.SequenceStartType:
			if depth++; depth > maxDepth {
				return tk, "brackets are nested too deeply"
			}
		case token.MappingEndType, token.SequenceEndType:
			depth--
		}
	}
	return nil, ""
}

func (d *document) fail(line, column int, path, message string) {
	d.problems = append(d.problems, config.Problem{Line: line, Column: column, Path: path, Message: message})
}

func (d *document) failAt(tk *token.Token, path, message string) {
	d.fail(tk.Position.Line, tk.Position.Column, path, message)
}

// unreadable notes that a value cannot be read, so that the checks say nothing about it.
func (d *document) unreadable(n ast.Node, path, format string, args ...any) {
	d.unread[path] = true
	d.failf(n, path, format, args...)
}

// failf notes a problem with a node. What is inside a node of the wrong kind was never read, so it may be secret.
func (d *document) failf(n ast.Node, path, format string, args ...any) {
	d.failAt(beginning(n), path, fmt.Sprintf(format, args...))
	if !isScalar(n) {
		d.mask(n)
	}
}

// beginning is where a person sees a node begin; the token of a block of keys is its first colon.
func beginning(n ast.Node) *token.Token {
	if m, ok := n.(*ast.MappingNode); ok && m.IsFlowStyle {
		return m.Start
	}
	if values, ok := mappingValues(n); ok && len(values) > 0 {
		return values[0].Key.GetToken()
	}
	return n.GetToken()
}

// locate gives problems with values their places: where the value is written, else its key, else where the
// destination inherits it from, else the destination. Problems that follow from one that is reported already are
// dropped.
func (d *document) locate(problems []config.Problem) {
	reported := map[string]bool{}
	for _, p := range d.problems {
		reported[p.Path] = true
	}
	for _, p := range problems {
		if reported[p.Path] || d.follows(p.Path) {
			continue
		}
		tk := d.place(&p.Path)
		if tk == nil {
			d.fail(0, 0, p.Path, p.Message)
			continue
		}
		d.failAt(tk, p.Path, p.Message)
	}
}

// follows says whether a path is, or is below, one that could not be read.
func (d *document) follows(path string) bool {
	for at := path; ; {
		if d.unread[at] {
			return true
		}
		dot := strings.LastIndexByte(at, '.')
		if dot < 0 {
			return false
		}
		at = at[:dot]
	}
}

// place finds the token for a path and corrects the path to what is written there.
func (d *document) place(path *string) *token.Token {
	root := 1 // how many parts a path keeps: up to a destination or a group, or a top-level key
	if strings.HasPrefix(*path, "destinations.") || strings.HasPrefix(*path, "groups.") {
		root = 2
	}
	if tk := d.nearestKey(path, root+1); tk != nil {
		return tk
	}
	if from, ok := inherited(*path); ok {
		if tk := d.nearestKey(&from, 2); tk != nil {
			*path = from
			return tk
		}
	}
	at := *path
	return d.nearestKey(&at, root)
}

func (d *document) nearestKey(path *string, parts int) *token.Token {
	for at := *path; strings.Count(at, ".")+1 >= parts; {
		if tk := d.values[at]; tk != nil {
			return tk
		}
		if tk := d.keys[at]; tk != nil {
			return tk
		}
		dot := strings.LastIndexByte(at, '.')
		if dot < 0 {
			break
		}
		at = at[:dot]
	}
	return nil
}

// inherited is where a value of a destination that is not written there is written, if anywhere.
func inherited(path string) (string, bool) {
	parts := strings.SplitN(path, ".", 3)
	if len(parts) < 3 || parts[0] != "destinations" {
		return "", false
	}
	return "defaults." + parts[2], true
}
