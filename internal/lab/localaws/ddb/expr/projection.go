package expr

import (
	"maps"
	"slices"

	"github.com/landfall-dev/landfall/internal/lab/localaws/attr"
)

// Projection picks parts of items.
type Projection struct {
	paths []Path
	root  branch
}

// branch is a tree of steps; an empty one takes all that is there.
type branch map[Step]branch

// ParseProjection parses a projection expression.
func ParseProjection(src string, scope *Scope) (*Projection, error) {
	p := newParser(src, scope, false)
	var paths []Path
	p.list(func() { paths = append(paths, p.path()) })
	p.must(p.peek().kind == end)
	p.disjoint(paths)
	return Project(paths), p.err
}

// Project is the projection to paths, none of which leads through another one.
func Project(paths []Path) *Projection {
	p := &Projection{paths, branch{}}
	for _, path := range paths {
		b := p.root
		for _, s := range path {
			if b[s] == nil {
				b[s] = branch{}
			}
			b = b[s]
		}
	}
	return p
}

// Names are the top-level attributes that are picked from.
func (p *Projection) Names() []string {
	names := make([]string, len(p.paths))
	for i, path := range p.paths {
		names[i] = path[0].Name
	}
	return names
}

// Apply is what the projection picks of an item; elements of lists move together.
func (p *Projection) Apply(item attr.Map) attr.Map {
	if picked, ok := p.root.pick(item).(attr.Map); ok && len(p.paths) > 0 {
		return picked
	}
	return attr.Map{}
}

// pick is nil if nothing is there.
func (b branch) pick(v attr.Value) attr.Value {
	if len(b) == 0 {
		return v
	}
	entries, elements := attr.Map{}, attr.List{} // of which v can only have one kind
	for _, s := range slices.SortedFunc(maps.Keys(b), Step.compare) {
		switch picked := b[s].pick(s.from(v)); {
		case picked == nil:
		case s.Name != "":
			entries[s.Name] = picked
		default:
			elements = append(elements, picked)
		}
	}
	switch {
	case len(entries) > 0:
		return entries
	case len(elements) > 0:
		return elements
	}
	return nil
}
