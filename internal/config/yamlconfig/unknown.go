package yamlconfig

import (
	"slices"
	"strings"

	"github.com/landfall-dev/landfall/internal/config"
)

// unknown reports a key that does not belong where it stands, and returns the key that was probably meant, if there is
// one of this mapping that is not written as well.
func (d *document) unknown(e entry, t *config.Table, beside []string) *config.Key {
	d.maskLikely(e.name, e.value)
	switch of, meant := t.Foreign[e.name], config.Nearest(e.name, t.Names()); {
	case of != "":
		d.failf(e.key, e.path, "%s", config.ForeignKey(e.name, of, kindOf(t, beside)))
	case config.Later(e.name):
		d.failf(e.key, e.path, "this key is not supported in this version; remove it")
		return target(t, beside)
	case slices.Contains(t.Words, e.name):
		d.unreadable(e.key, strings.TrimSuffix(e.path, "."+e.name), "%s takes no argument; write route: %s", e.name, e.name)
	case meant != "":
		if at := maskedIn(t, meant); at {
			d.mask(e.value)
		}
		d.failf(e.key, e.path, "unknown key; did you mean %s?", meant)
		if !slices.Contains(beside, meant) {
			return t.Key(meant)
		}
	case len(places[e.name]) > 0:
		d.failf(e.key, e.path, "unknown key here; %s belongs under %s", e.name, strings.Join(places[e.name], " or "))
	default:
		d.suggest(e, t)
	}
	return nil
}

// suggest looks for the key in the rest of the format.
func (d *document) suggest(e entry, t *config.Table) {
	if meant := config.Nearest(e.name, keysOf(t.Foreign)); meant != "" {
		d.failf(e.key, e.path, "unknown key; did you mean %s? Only destinations of kind %s have it", meant, t.Foreign[meant])
		return
	}
	if meant := config.Nearest(e.name, keysOf(places)); meant != "" {
		d.failf(e.key, e.path, "unknown key; did you mean %s? It belongs under %s", meant, strings.Join(places[meant], " or "))
		return
	}
	d.failf(e.key, e.path, "unknown key; allowed keys: %s", strings.Join(t.Names(), ", "))
}

func keysOf[V any](m map[string]V) []string {
	var keys []string
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func maskedIn(t *config.Table, key string) bool { return t.Key(key).Type.Masked }

// kindOf is the kind of the destination that a table is for.
func kindOf(t *config.Table, beside []string) string {
	if k := target(t, nil); k != nil {
		return k.Name
	}
	return strings.Join(beside, ", ")
}

// target is the key of a destination that says where rows go, unless it is written.
func target(t *config.Table, beside []string) *config.Key {
	if t.Kinds == nil {
		return nil
	}
	for _, kind := range config.KindNames() {
		if k := t.Key(kind); k != nil && !slices.Contains(beside, kind) {
			return k
		}
	}
	return nil
}

// places are where each key belongs.
var places = func() map[string][]string {
	all := map[string][]string{}
	var walk func(path string, t *config.Table)
	add := func(path string, t *config.Table) {
		for _, k := range t.Keys {
			if path != "" && !slices.Contains(all[k.Name], path) {
				all[k.Name] = append(all[k.Name], path)
			}
			if path == "" {
				all[k.Name] = append(all[k.Name], "the top level")
			}
			at := config.Join(path, k.Name)
			if of := k.Type.Of; of != nil && of.Keys != nil {
				if k.Type.Form == config.Map {
					at += ".NAME"
				}
				walk(at, of.Keys)
			}
			if k.Type.Keys != nil {
				walk(at, k.Type.Keys)
			}
		}
	}
	walk = func(path string, t *config.Table) {
		if t.Kinds == nil {
			add(path, t)
			return
		}
		for _, kind := range t.Kinds {
			add(path, t.For([]string{kind.Name}))
		}
	}
	walk("", config.File)
	return all
}()
