package config

import (
	"maps"
	"strings"
	"sync"
)

// kinds of destinations. A new kind is one file beside this one, one line here, and one in [anyKind].
var kinds = []*Kind{kindHTTP, kindSQS, kindGroup}

// later are keys that the format reserves for versions to come: kinds, and keys of destinations and of the file.
var later = map[string]bool{
	"stages": true, "sns": true, "eventbridge": true, "lambda": true, "auth": true, "signing": true, "cloudevents": true,
}

// Kind is one kind of destination.
type Kind struct {
	// Name of the kind, and of the key that says where rows go.
	Name string
	// Address is what to write there, for the error of a destination that goes nowhere.
	Address string
	// Keys are those that only destinations of this kind have.
	Keys *Table
	// Fixed are keys that can have one value only, as landfall.yaml has it.
	Fixed map[string]string
	// defaults changes the settings that a destination begins with. fromFile are those that `defaults` writes.
	defaults func(settings, fromFile map[string]any)

	once sync.Once
	all  *Table
}

// Target is where the rows of a destination go, and what its kind alone has.
type Target interface {
	// Kind is what the target is one of.
	Kind() *Kind
	// String is the address that a person may see: nothing in it is a credential.
	String() string
	// Names are the names or ARNs of what AWS keeps, by their keys.
	Names() map[string]string
	// check reports what several keys say together.
	check(c *checker, path string, d Destination, cfg *Config)
	// finish fills in what follows from other keys.
	finish(d *Destination)
	// warn says what is valid but will not do what its owner seems to expect.
	warn(d Destination) []string
}

// table has the keys of a destination of this kind.
func (k *Kind) table() *Table {
	k.once.Do(func() {
		all := *destinationTable
		all.Keys, all.Foreign = sorted(destinationTable.Keys, k.Keys.Keys), map[string]string{}
		for _, other := range kinds {
			for _, name := range other.Keys.Names() {
				if other != k {
					all.Foreign[name] = other.Name
				}
			}
		}
		for i := range all.Keys {
			if k.Fixed[all.Keys[i].Name] != "" {
				all.Keys[i].Required = false
			}
		}
		k.all = &all
	})
	return k.all
}

// kindFor is the kind of a destination by the first of its keys that names one, or nearly; http where none does.
func kindFor(written []string) *Kind {
	var names []string
	for _, k := range kinds {
		names = append(names, k.Name)
	}
	for _, near := range []bool{false, true} {
		for _, key := range written {
			if near && destinationTable.Key(key) == nil && kindHTTP.Keys.Key(key) == nil {
				key = Nearest(key, names)
			}
			for _, k := range kinds {
				if k.Name == key {
					return k
				}
			}
		}
	}
	return kindHTTP
}

// addresses lists the kinds for a person who has to choose one.
func addresses() (all string) {
	for i, k := range kinds {
		switch {
		case i == len(kinds)-1:
			all += " or "
		case i > 0:
			all += ", "
		}
		all += k.Name + " (" + k.Address + ")"
	}
	return all
}

// KindNames are the names of the kinds, for messages.
func KindNames() (names []string) {
	for _, k := range kinds {
		names = append(names, k.Name)
	}
	return names
}

// Later says whether the format reserves a key for a version to come.
func Later(key string) bool { return later[key] }

// begin is the settings that a destination of this kind begins with.
func (k *Kind) begin(fromFile map[string]any) map[string]any {
	settings := maps.Clone(fromFile)
	if k.defaults != nil {
		k.defaults(settings, fromFile)
	}
	for key, value := range k.Fixed {
		settings[key] = value
	}
	return settings
}

// ForeignKey is what is wrong with a key that only destinations of another kind have.
func ForeignKey(key, of, kind string) string {
	message := "only destinations of kind " + of + " have this key, and this one is of kind " + kind
	if key == of {
		message += "; write exactly one of " + strings.Join(KindNames(), ", ")
	}
	return message
}

// Kind is the name of the destination's kind: "http", "sqs" or "group".
func (d Destination) Kind() string { return d.Target.Kind().Name }
