package config

import (
	"cmp"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// field reads the value of one key.
type field func(d *document, path string, n ast.Node)

// known has every key of the format, but not those of versions to come.
var known = func() map[string]bool {
	words := map[string]bool{}
	for _, word := range []string{
		"concurrency", "defaults", "destinations", "groups", "log_successes", "parallelism",
		"allow_private", "deduplicates", "group", "lookup", "retired", "factor", "first", "max", "header", "pointer",
		"equals", "rules", "status", "then",
	} {
		words[word] = true
	}
	for _, fields := range []map[string]field{
		new(Settings).fields(), new(HTTP).fields(), new(SQS).fields(), new(Group).fields(), new(Consumer).fields(),
	} {
		for word := range fields {
			words[word] = true
		}
	}
	return words
}()

// mapping reads a mapping with the keys of fields and no others.
func (d *document) mapping(path string, n ast.Node, fields map[string]field) {
	d.mappingBut(path, n, fields, nil)
}

// mappingBut is mapping where some keys are known, but do not belong there, for these reasons.
func (d *document) mappingBut(path string, n ast.Node, fields map[string]field, foreign map[string]string) {
	d.entries(path, n, func(key ast.MapKeyNode, name, path string, n ast.Node) {
		read, ok := fields[name]
		switch {
		case ok:
			read(d, path, n)
		case foreign[name] != "":
			d.failf(key, path, "%s", foreign[name])
			d.mask(n)
		case later[name]:
			d.failf(key, path, "is not in this version")
			d.mask(n)
		default:
			d.unknownKey(key, path, name, slices.Sorted(maps.Keys(fields)), n)
		}
	})
}

// unknownKey hides the value unless the key was meant to be one that cannot hold a secret.
func (d *document) unknownKey(key ast.Node, path, name string, allowed []string, value ast.Node) {
	meant := nearest(name, allowed)
	if meant == "" || meant == "headers" || meant == "secret" || !isScalar(value) {
		d.mask(value)
	}
	if meant != "" {
		meant = ": " + meant + "?"
	}
	d.failf(key, path, "is no key of Landfall%s Allowed here are %s", cmp.Or(meant, "."), strings.Join(allowed, ", "))
}

// entries calls each for every entry of a mapping, once per key.
func (d *document) entries(path string, n ast.Node, each func(key ast.MapKeyNode, name, path string, value ast.Node)) {
	values, ok := mappingValues(n)
	if !ok {
		d.failf(n, path, "%s, want keys with values (key: value)", found(n))
		return
	}
	seen := map[string]int{}
	for _, v := range values {
		name := v.Key.GetToken().Value
		at := plain(name)
		if path != "" {
			at = path + "." + at
		}
		if line, twice := seen[name]; twice {
			d.failf(v.Key, at, "is there twice, first in line %d", line)
			d.mask(v.Value)
			continue
		}
		seen[name] = v.Key.GetToken().Position.Line
		d.keys[at] = v.Key.GetToken()
		if _, ok := v.Value.(ast.ScalarNode); ok && !isNull(v.Value) {
			d.values[at] = v.Value.GetToken()
		}
		if isNull(v.Value) {
			d.failf(v.Key, at, "has no value")
			continue
		}
		each(v.Key, name, at, v.Value)
	}
}

// named reads a mapping whose keys are names that a person chose, and whose values are mappings.
func (d *document) named(path string, n ast.Node, each func(name, path string, value ast.Node)) {
	d.entries(path, n, func(key ast.MapKeyNode, name, path string, n ast.Node) {
		if !isText(key) {
			d.failf(key, path, "looks like something else than a name: write it in quotes")
		}
		if _, ok := mappingValues(n); !ok {
			d.failf(n, path, "%s, want keys with values (key: value)", found(n))
			return
		}
		each(name, path, n)
	})
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

// found names what stands there instead of what is wanted.
func found(n ast.Node) string {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "has keys"
	case *ast.SequenceNode:
		return "is a list"
	case *ast.NullNode:
		return "has no value"
	}
	if isQuoted(n) {
		return "is " + quote(n.GetToken().Value)
	}
	return "is " + clip(n.GetToken().Value)
}

// scalar reads a value by its text, quoted or not.
func scalar[T any](want string, parse func(string) (T, error), to *T) field {
	return func(d *document, path string, n ast.Node) {
		s, ok := n.(ast.ScalarNode)
		if !ok {
			d.failf(n, path, "%s, want %s", found(n), want)
			return
		}
		v, err := parse(s.GetToken().Value)
		if err != nil {
			d.failf(n, path, "%s", err)
			return
		}
		*to = v
	}
}

// duration proposes the unit where a number has none.
func duration(to *Duration, unit string) field {
	return scalar("a duration, such as 30s", func(text string) (Duration, error) { return parseDuration(text, unit) }, to)
}

// text takes nothing for text that YAML takes for something else. It does not repeat the value: it may be secret.
func text(to *string) field {
	return func(d *document, path string, n ast.Node) {
		s, ok := n.(*ast.StringNode)
		switch {
		case ok && s.Value != "":
			*to = s.Value
		case ok:
			d.failf(n, path, "is empty")
		case isScalar(n):
			d.failf(n, path, "is not text for YAML: write it in quotes")
		default:
			d.failf(n, path, "%s, want text", found(n))
		}
	}
}

// texts reads a list of them. each stands for what they are, with an example.
func texts(to *[]string, each string) field {
	return func(d *document, path string, n ast.Node) {
		list, ok := n.(*ast.SequenceNode)
		if !ok {
			d.failf(n, path, "%s, want a list of %s", found(n), each)
			return
		}
		for i, n := range list.Values {
			var one string
			path := path + "." + strconv.Itoa(i)
			d.values[path] = n.GetToken()
			text(&one)(d, path, n)
			*to = append(*to, one)
		}
	}
}

func isScalar(n ast.Node) bool {
	_, ok := n.(ast.ScalarNode)
	return ok
}

func boolean(to *bool) field {
	return func(d *document, path string, n ast.Node) {
		b, ok := n.(*ast.BoolNode)
		if !ok {
			d.failf(n, path, "%s, want true or false", found(n))
			return
		}
		*to = b.Value
	}
}

// jsonNumber is the one way of writing numbers that all readers understand alike: no octal, no underscores.
var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

func number(to *float64) field {
	return func(d *document, path string, n ast.Node) {
		written := bare(n)
		v, err := strconv.ParseFloat(written, 64)
		if !jsonNumber.MatchString(written) || err != nil || !finite(v) {
			d.failf(n, path, "%s, want a number, such as 4 or 1.5", found(n))
			return
		}
		*to = v
	}
}

func integer[T int | int64](to *T) field {
	return func(d *document, path string, n ast.Node) {
		written := bare(n)
		if !jsonNumber.MatchString(written) || strings.ContainsAny(written, ".eE") {
			d.failf(n, path, "%s, want a whole number, such as 4", found(n))
			return
		}
		v, err := strconv.ParseInt(written, 10, 64)
		if err != nil || v > math.MaxInt32 || v < math.MinInt32 {
			d.failf(n, path, "%s is too large or too small", clip(written))
			return
		}
		*to = T(v)
	}
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
