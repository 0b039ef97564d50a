package yamlconfig

import (
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/landfall-dev/landfall/internal/config"
)

// What a person writes beside the key that is wrong may be a credential, and errors end in logs. So before a line
// becomes an excerpt, values of headers, and user, password and query of URLs, turn into stars: as many, so that the
// caret stays where it belongs.

var urls = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://\S*`)

// err is the document's problems as a [*config.Error], with excerpts.
func (d *document) err(name string) *config.Error {
	for i := range d.lines {
		d.hideURLs(i)
	}
	for i, p := range d.problems {
		if p.Line >= 1 && p.Line <= len(d.lines) {
			d.problems[i].Excerpt = d.lines[p.Line-1]
		}
	}
	return config.NewError(name, d.problems)
}

func (d *document) hideURLs(line int) {
	d.lines[line] = urls.ReplaceAllStringFunc(d.lines[line], func(u string) string {
		start := strings.Index(u, "://") + len("://")
		if query := strings.IndexByte(u, '?'); query >= 0 {
			u = u[:query+1] + stars(u[query+1:])
		}
		if at := strings.LastIndexByte(u, '@'); at >= start {
			u = u[:start] + stars(u[start:at]) + u[at:]
		}
		return u
	})
}

// mask hides every scalar of a node.
func (d *document) mask(n ast.Node) { ast.Walk(masker{d}, n) }

// maskValues hides every scalar of a node but the keys of a mapping.
func (d *document) maskValues(n ast.Node) {
	values, ok := mappingValues(n)
	if !ok {
		d.mask(n)
	}
	for _, v := range values {
		d.mask(v.Value)
	}
}

type masker struct{ d *document }

func (m masker) Visit(n ast.Node) ast.Visitor {
	if _, ok := n.(ast.ScalarNode); ok {
		m.d.maskToken(n.GetToken())
	}
	return m
}

func (d *document) maskToken(tk *token.Token) {
	written := strings.Split(strings.Trim(tk.Origin, " \n"), "\n")
	for i, part := range written {
		line := tk.Position.Line - 1 + i
		if line >= len(d.lines) {
			return
		}
		runes := []rune(d.lines[line])
		from, to := 0, len(runes)
		if i == 0 {
			from = min(max(tk.Position.Column-1, 0), len(runes))
			// Where the token is not what stands there, everything up to the end of the line goes.
			if strings.HasPrefix(string(runes[from:]), part) {
				to = from + len([]rune(part))
			}
		}
		d.lines[line] = string(slices.Concat(runes[:from], []rune(stars(string(runes[from:to]))), runes[to:]))
	}
}

// credential finds keys whose values may be credentials.
var credential = regexp.MustCompile(`(?i)auth|key|token|secret|passw|pwd|credential|cookie|header|sign`)

// maskLikely hides what a key that does not belong there may hold a credential under; everything else stays readable.
func (d *document) maskLikely(name string, value ast.Node) {
	values, isMapping := mappingValues(value)
	switch {
	case credential.MatchString(name):
		d.mask(value)
	case isMapping:
		for _, v := range values {
			d.maskLikely(v.Key.GetToken().Value, v.Value)
		}
	}
}

// hideUnparsed is for a file that is not YAML, where values of headers look like all others: only lines that begin with
// a key of the format stay readable.
func (d *document) hideUnparsed() {
	for i, line := range d.lines {
		word := strings.TrimLeft(line, ` {["'-`)
		if end := strings.IndexAny(word, ` :"'`); end >= 0 {
			word = word[:end]
		}
		end := strings.Index(line, word) + len(word)
		rest := strings.TrimLeft(line[end:], ` :"'`)
		if places[word] == nil && !strings.HasPrefix(rest, "{") {
			line = line[:end] + stars(line[end:])
		}
		for _, word := range []string{"headers", "secret"} {
			if at := strings.Index(line, word); at >= 0 {
				at += len(word)
				line = line[:at] + stars(line[at:])
			}
		}
		d.lines[i] = line
	}
}

// stars keeps the length and the colon and spaces that make a line recognisable.
func stars(s string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case ' ', ':':
			return r
		}
		return '*'
	}, s)
}
