// Package yamlconfig reads landfall.yaml into a [config.Config]. Errors show the line, and a caret under the place.
//
// It is apart from package config so that functions and applications, which read resolved configurations, need no YAML
// parser. What keys there are it knows from the tables of package config alone.
package yamlconfig

import (
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/landfall-dev/landfall/internal/config"
)

// LoadFile reads a file of either kind: a resolved one if its name ends in .json, else a landfall.yaml. What the checks
// find is reported with everything else.
func LoadFile(path string, checks ...config.Check) (*config.Config, error) {
	src, err := config.Read(path)
	switch {
	case err != nil:
		return nil, err
	case strings.HasSuffix(path, ".json"):
		return config.ParseJSON(path, src, checks...)
	}
	return Parse(path, src, checks...)
}

// Parse reads a landfall.yaml and fills in the defaults. name is what errors call the file; an error is a
// [*config.Error] and names everything that is wrong.
func Parse(name string, src []byte, checks ...config.Check) (*config.Config, error) {
	d := newDocument(src)
	root := d.parse(src)
	if root == nil {
		return nil, d.err(name)
	}
	written := d.mapping("", root, config.File)
	if defaults, ok := written["defaults"].(map[string]any); ok {
		d.locate(config.CheckDefaults(defaults))
	}
	cfg, err := config.Resolve(written)
	if err != nil {
		d.fail(0, 0, "", err.Error())
		return nil, d.err(name)
	}
	d.locate(cfg.Check(checks...))
	if len(d.problems) > 0 {
		return nil, d.err(name)
	}
	return cfg, nil
}

// entry is one key of a mapping, with its value.
type entry struct {
	key   ast.MapKeyNode
	name  string
	path  string
	value ast.Node
}

// entries of a mapping, each key once.
func (d *document) entries(path string, values []*ast.MappingValueNode) (all []entry) {
	seen := map[string]int{}
	for _, v := range values {
		name := v.Key.GetToken().Value
		e := entry{v.Key, name, config.Join(path, config.Plain(name)), v.Value}
		if line, twice := seen[name]; twice {
			d.failf(v.Key, e.path, "this key is also in line %d; remove one", line)
			d.maskLikely(name, v.Value)
			continue
		}
		seen[name] = v.Key.GetToken().Position.Line
		d.note(e)
		if isNull(v.Value) {
			d.unreadable(v.Key, e.path, "the key has no value; write one, or remove the key")
			continue
		}
		all = append(all, e)
	}
	return all
}

// note remembers where a key and its value stand.
func (d *document) note(e entry) {
	d.keys[e.path] = e.key.GetToken()
	if _, ok := e.value.(ast.ScalarNode); ok && !isNull(e.value) {
		d.values[e.path] = e.value.GetToken()
	}
}

// mapping reads a mapping with the keys of a table and no others. Keys that cannot be read are left out.
func (d *document) mapping(path string, n ast.Node, t *config.Table) map[string]any {
	values, _ := mappingValues(n)
	var names []string
	for _, v := range values {
		names = append(names, v.Key.GetToken().Value)
	}
	read := map[string]any{}
	t = t.For(names)
	before := len(d.problems)
	for _, e := range d.entries(path, values) {
		k := t.Key(e.name)
		if k == nil {
			if meant := d.unknown(e, t, names); meant != nil {
				at := config.Join(path, meant.Name)
				d.unread[at] = true
				if value, ok := d.value(e.path, e.value, &meant.Type); ok { // so that what refers to it finds it
					read[meant.Name] = value
				} else {
					setStandIn(read, meant)
				}
			}
			continue
		}
		if value, ok := d.value(e.path, e.value, &k.Type); ok {
			read[k.Name] = value
		} else {
			setStandIn(read, k)
		}
	}
	for _, name := range names { // without a value
		if k := t.Key(name); k != nil && read[name] == nil && d.unread[config.Join(path, name)] {
			setStandIn(read, k)
		}
	}
	if t.OneKey && len(values) != 1 && len(d.problems) == before {
		d.unreadable(n, path, "write exactly one of %s", strings.Join(slices.Sorted(slices.Values(append(t.Names(), t.Words...))), ", "))
	}
	return read
}

// setStandIn puts a value where one could not be read, so that the checks do not call it missing. Its own problems are
// dropped, because the value is reported already.
func setStandIn(read map[string]any, k *config.Key) {
	switch t := k.Type; {
	case t.Form == config.Mapping && t.Keys.Words != nil:
		read[k.Name] = t.Keys.Words[0]
	case t.Form == config.Text && len(t.Words) > 0:
		read[k.Name] = t.Words[0]
	case t.Form == config.Text:
		read[k.Name] = "unread"
	}
}

// names reads a map whose keys a person chose.
func (d *document) names(path string, n ast.Node, t *config.Type) map[string]any {
	read := map[string]any{}
	values, _ := mappingValues(n)
	for _, e := range d.entries(path, values) {
		if t.Of.Form == config.Mapping && !isText(e.key) {
			d.failf(e.key, e.path, "YAML does not take this for a name; write it in quotes")
		}
		name := e.name
		if t.Names.Canonical != nil {
			name = t.Names.Canonical(name)
		}
		if _, twice := read[name]; twice {
			d.failf(e.key, e.path, "this header stands here twice (upper and lower case are the same); remove one")
		}
		e.path = config.Join(path, config.Plain(name))
		d.note(e)
		if t.Of.Form != config.Mapping && t.Names.Canonical == nil && t.Names.Check(name) != "" {
			d.failf(e.key, e.path, "%s", t.Names.Check(name))
			continue
		}
		if value, ok := d.value(e.path, e.value, t.Of); ok {
			read[name] = value
		} else if len(t.Of.Words) > 0 {
			read[name] = t.Of.Words[0]
		} else if t.Of.Form == config.Text {
			read[name] = "unread"
		}
	}
	if len(read) == 0 && len(values) > 0 {
		d.unread[path] = true
	}
	return read
}

// list reads a list.
func (d *document) list(path string, nodes []ast.Node, t *config.Type) []any {
	read := []any{}
	for i, n := range nodes {
		e := entry{value: n, path: indexed(path, i)}
		d.keys[e.path] = beginning(n)
		value, ok := d.value(e.path, n, t.Of)
		switch {
		case ok:
			read = append(read, value)
		case t.Of.Form == config.Mapping:
			read = append(read, map[string]any{})
		default:
			read = append(read, e.path) // unlike all others
		}
	}
	return read
}
