package config

import (
	"encoding/json"
	"maps"
	"slices"
)

// Resolve fills in the defaults of a landfall.yaml. written has what the file says, in the forms of JSON, by the keys of
// [File]; it is changed. What could not be read is left out.
func Resolve(written map[string]any) (*Config, error) {
	fromFile, _ := written["defaults"].(map[string]any)
	delete(written, "defaults")
	base := map[string]any{}
	merge(base, fromFile)
	destinations, _ := written["destinations"].(map[string]any)
	for _, d := range destinations {
		d := d.(map[string]any)
		merge(d, kindFor(slices.Sorted(maps.Keys(d))).begin(base))
	}
	if destinations == nil {
		written["destinations"] = map[string]any{}
	}
	File.fill(written)
	src, err := json.Marshal(written)
	if err != nil {
		return nil, err
	}
	cfg, err := decodeConfig(src)
	if err != nil {
		return nil, err
	}
	for name, d := range cfg.Destinations {
		d.Target.finish(&d)
		cfg.Destinations[name] = d
	}
	return cfg, nil
}

// merge adds what to lacks, here and below.
func merge(to, from map[string]any) {
	for key, value := range from {
		inner, isMap := value.(map[string]any)
		switch there, found := to[key].(map[string]any); {
		case isMap && (found || to[key] == nil):
			if !found {
				there = map[string]any{}
				to[key] = there
			}
			merge(there, inner)
		case to[key] == nil:
			to[key] = value
		}
	}
}

// CheckDefaults reports what is wrong with `defaults`, whichever destinations use them.
func CheckDefaults(written map[string]any) []Problem {
	var c checker
	var s Settings
	all := map[string]any{}
	merge(all, written)
	settingsTable.fill(all)
	if src, err := json.Marshal(all); err == nil && decode(src, &s) == nil {
		c.keys("defaults", settingsTable, s)
		c.backoff("defaults.backoff", s.Backoff)
	}
	return c.problems
}
