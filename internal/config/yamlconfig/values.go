package yamlconfig

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/landfall-dev/landfall/internal/config"
)

// value reads a value of a type, in the form of JSON. ok is false if it cannot be read, which is reported then.
func (d *document) value(path string, n ast.Node, t *config.Type) (value any, ok bool) {
	if t.Masked {
		d.maskValues(n)
	}
	before := len(d.problems)
	switch t.Form {
	case config.Text:
		value = d.text(path, n, t)
	case config.Integer:
		value = d.integer(path, n, t)
	case config.Number:
		value = d.number(path, n, t)
	case config.Boolean:
		if b, is := n.(*ast.BoolNode); is {
			return b.Value, true
		}
		d.want(path, n, t)
	case config.DurationForm, config.WindowForm, config.Scalar:
		value = d.scalar(path, n, t)
	case config.List:
		if list, is := n.(*ast.SequenceNode); is {
			return d.list(path, list.Values, t), true
		}
		if t.One && isScalar(n) {
			return d.list(path, []ast.Node{n}, t), true
		}
		d.want(path, n, t)
	case config.Map:
		if _, is := mappingValues(n); is {
			return d.names(path, n, t), true
		}
		d.want(path, n, t)
	case config.Mapping:
		return d.struct_(path, n, t)
	}
	return value, len(d.problems) == before
}

// struct_ reads what is a mapping with the keys of a table, or what may stand in its place.
func (d *document) struct_(path string, n ast.Node, t *config.Type) (any, bool) {
	if _, is := mappingValues(n); is {
		read := d.mapping(path, n, t.Keys)
		if t.Keys.Words != nil && len(read) == 0 {
			d.unread[path] = true
		}
		return read, !d.unread[path]
	}
	before := len(d.problems)
	switch short := t.Keys.Key(t.Keys.Short); {
	case short != nil && isScalar(n):
		return map[string]any{short.Name: d.text(path, n, &short.Type)}, len(d.problems) == before
	case t.Keys.Words != nil && isScalar(n):
		return d.text(path, n, t), len(d.problems) == before
	}
	d.want(path, n, t)
	return nil, false
}

// want reports a value of the wrong type.
func (d *document) want(path string, n ast.Node, t *config.Type) {
	if t.Masked {
		d.unreadable(n, path, "write %s", t.Want)
		return
	}
	d.unreadable(n, path, "%s; write %s", found(n), t.Want)
}

// text takes nothing for text that YAML takes for something else. It does not repeat the value: it may be secret.
func (d *document) text(path string, n ast.Node, t *config.Type) any {
	s, ok := n.(*ast.StringNode)
	switch {
	case ok && s.Value == "":
		d.unreadable(n, path, "empty; write %s", t.Want)
	case ok && t.Words != nil && !slices.Contains(t.Words, s.Value):
		d.unreadable(n, path, "%s is not allowed; write %s", config.Quote(s.Value), t.Want)
	case ok && t.Canonical != nil:
		return t.Canonical(s.Value)
	case ok:
		return s.Value
	case isScalar(n):
		d.unreadable(n, path, "YAML does not take this for text; write it in quotes")
	default:
		d.want(path, n, t)
	}
	return nil
}

func (d *document) scalar(path string, n ast.Node, t *config.Type) any {
	if !isScalar(n) {
		d.want(path, n, t)
		return nil
	}
	text := n.GetToken().Value
	var err error
	switch t.Form {
	case config.DurationForm:
		_, err = config.ParseDuration(text, t.Unit)
	case config.WindowForm:
		_, err = config.ParseWindow(text)
	}
	if err != nil {
		d.unreadable(n, path, "%s", err)
	}
	return text
}

// jsonNumber is the one way of writing numbers that all readers understand alike: no octal, no underscores.
var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

func (d *document) number(path string, n ast.Node, t *config.Type) any {
	written := bare(n)
	v, err := strconv.ParseFloat(written, 64)
	if !jsonNumber.MatchString(written) || err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
		d.want(path, n, t)
	}
	return v
}

func (d *document) integer(path string, n ast.Node, t *config.Type) any {
	written := bare(n)
	if !jsonNumber.MatchString(written) || strings.ContainsAny(written, ".eE") {
		d.want(path, n, t)
		return nil
	}
	v, err := strconv.ParseInt(written, 10, 64)
	switch {
	case v > math.MaxInt32 || err != nil && written[0] != '-':
		d.unreadable(n, path, "%s is too large; the maximum is %d", config.Clip(written), t.Max)
	case v < math.MinInt32 || err != nil:
		d.unreadable(n, path, "%s is too small; the minimum is %d", config.Clip(written), t.Min)
	case v == 0 && t.Min > 0:
		d.unreadable(n, path, "0 is too small; the minimum is %d", t.Min) // zero would mean that there is no value
	}
	return v
}

func mappingValues(n ast.Node) ([]*ast.MappingValueNode, bool) {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	}
	return nil, false
}

func isNull(n ast.Node) bool {
	_, ok := n.(*ast.NullNode)
	return ok
}

func isText(n ast.Node) bool {
	_, ok := n.(*ast.StringNode)
	return ok
}

func isScalar(n ast.Node) bool {
	_, ok := n.(ast.ScalarNode)
	return ok
}

// found names what stands where something else is wanted.
func found(n ast.Node) string {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "this has keys"
	case *ast.SequenceNode:
		return "this is a list"
	case *ast.NullNode:
		return "there is no value"
	}
	if isQuoted(n) {
		return config.Quote(n.GetToken().Value) + " is not allowed"
	}
	return config.Clip(n.GetToken().Value) + " is not allowed"
}

// bare is the text of a scalar without quotes around it, else "".
func bare(n ast.Node) string {
	if !isScalar(n) || isQuoted(n) {
		return ""
	}
	return n.GetToken().Value
}

func isQuoted(n ast.Node) bool {
	t := n.GetToken().Type
	return t == token.SingleQuoteType || t == token.DoubleQuoteType
}

func indexed(path string, i int) string { return path + "." + strconv.Itoa(i) }
