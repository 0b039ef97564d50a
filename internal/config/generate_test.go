package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/config/yamlconfig"
)

// The JSON Schema and docs/configuration.md are made from the tables: go test ./internal/config -update writes them.

func TestSchemaFileIsTheOneThatTheTablesMake(t *testing.T) {
	compare(t, "../../docs/schema/landfall.schema.json", fileSchemaText(t))
}

func TestConfigurationPageIsTheOneThatTheTablesMake(t *testing.T) {
	compare(t, "../../docs/configuration.md", page())
}

func TestExamplesOfTheConfigurationPageAreValid(t *testing.T) {
	t.Parallel()
	for _, table := range tables() {
		if table.Example == "" {
			continue
		}
		if _, err := yamlconfig.Parse(table.Title, []byte(table.Example)); err != nil {
			t.Error(err)
		}
		if err := fitsSchema([]byte(table.Example)); err != nil {
			t.Errorf("%s: %v", table.Title, err)
		}
	}
}

func TestEveryKeyIsDescribedWithAnExample(t *testing.T) {
	t.Parallel()
	for _, table := range tables() {
		if table.Help == "" {
			t.Errorf("%s has no help", table.Title)
		}
		for i, k := range table.Keys {
			if k.Help == "" || k.Example == "" || k.Type.Want == "" {
				t.Errorf("%s.%s lacks its help, its example or its type", table.Title, k.Name)
			}
			if i > 0 && table.Keys[i-1].Name >= k.Name {
				t.Errorf("%s.%s is out of order", table.Title, k.Name)
			}
			if err := fitsKey(k); err != nil {
				t.Errorf("%s.%s: the example does not fit the schema: %v", table.Title, k.Name, err)
			}
		}
	}
}

// tables in the order of the page.
func tables() []*config.Table {
	var all []*config.Table
	var add func(t *config.Table)
	below := func(k config.Key) {
		for _, table := range []*config.Table{k.Type.Keys, ofKeys(k.Type)} {
			if table != nil {
				add(table)
			}
		}
	}
	add = func(t *config.Table) {
		for _, there := range all {
			if there.Title == t.Title {
				return
			}
		}
		all = append(all, t)
		for _, kind := range t.Kinds {
			all = append(all, kind.Keys)
		}
		for _, kind := range t.Kinds {
			for _, k := range kind.Keys.Keys {
				below(k)
			}
		}
		for _, k := range t.Keys {
			below(k)
		}
	}
	add(config.File)
	return all
}

func ofKeys(t config.Type) *config.Table {
	if t.Of == nil {
		return nil
	}
	return t.Of.Keys
}

type object = map[string]any

// generator makes JSON Schema. It collects the definitions that types refer to.
type generator struct{ defs object }

func fileSchemaText(t *testing.T) string {
	t.Helper()
	g := generator{object{}}
	all := g.table(config.File)
	maps.Copy(all, object{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "https://landfall.dev/schema/landfall.schema.json",
		"$defs": g.defs, "title": "landfall.yaml", "description": "Made from the tables of internal/config. What a schema cannot see, `landfall validate` does.",
	})
	return text(t, all)
}

func text(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func (g generator) table(t *config.Table) object {
	properties, required := object{}, []string{}
	for _, k := range t.Keys {
		properties[k.Name] = g.key(k)
		if k.Required && t.Kinds == nil {
			required = append(required, k.Name)
		}
	}
	s := object{"type": "object", "additionalProperties": false, "properties": properties}
	if len(required) > 0 {
		s["required"] = required
	}
	if t.OneKey {
		s["minProperties"], s["maxProperties"] = 1, 1
	}
	var kinds []any
	for _, kind := range t.Kinds {
		maps.Copy(properties, g.table(kind.Keys)["properties"].(object))
		kinds = append(kinds, kindSchema(kind, t))
	}
	if kinds != nil {
		s["oneOf"] = kinds
	}
	maps.Copy(s, raw(t.Schema))
	return s
}

// kindSchema allows the keys of one kind and refuses those of the others.
func kindSchema(kind *config.Kind, all *config.Table) object {
	properties, required := object{}, []string{kind.Name}
	for name := range all.For([]string{kind.Name}).Foreign {
		properties[name] = false
	}
	for name, value := range kind.Fixed {
		properties[name] = object{"const": value}
	}
	for _, k := range all.For([]string{kind.Name}).Keys {
		if k.Required && k.Name != kind.Name {
			required = append(required, k.Name)
		}
	}
	return object{"required": required, "properties": properties}
}

func (g generator) key(k config.Key) object {
	s := g.typ(k.Type)
	if k.Name == "lookup" || k.Type.Define == "secret" {
		g.defs[k.Name] = s
		s = object{"$ref": "#/$defs/" + k.Name}
	}
	s["description"] = k.Help
	if k.Default != nil && k.Type.Form != config.Mapping {
		s["default"] = k.Default
	}
	return s
}

func (g generator) typ(t config.Type) object {
	s := object{}
	switch t.Form {
	case config.Text:
		s["type"] = "string"
		if t.Words != nil {
			s = object{"enum": t.Words}
		}
	case config.Integer, config.Number:
		s = object{"type": map[config.Form]string{config.Integer: "integer", config.Number: "number"}[t.Form], "minimum": t.Min, "maximum": t.Max}
	case config.Boolean:
		s["type"] = "boolean"
	case config.List:
		s = object{"type": "array", "items": g.typ(*t.Of)}
		if t.Of.Form == config.Text || t.Of.Form == config.Scalar {
			s["uniqueItems"] = true
		}
		if t.Min > 0 {
			s["minItems"] = t.Min
		}
		if t.Max > 0 {
			s["maxItems"] = t.Max
		}
		if t.One {
			s = object{"anyOf": []any{g.typ(*t.Of), s}}
		}
	case config.Map:
		s = object{"type": "object", "propertyNames": g.typ(*t.Names), "additionalProperties": g.typ(*t.Of)}
		if t.Max > 0 {
			s["maxProperties"] = t.Max
		}
	case config.Mapping:
		s = g.table(t.Keys)
		if t.Keys.Words != nil {
			s = object{"anyOf": []any{object{"enum": t.Keys.Words}, s}}
		}
		if short := t.Keys.Key(t.Keys.Short); short != nil {
			s["type"] = []string{"string", "object"}
			maps.Copy(s, raw(short.Type.Schema))
		}
		return s
	case config.DurationForm:
		if t.Min == 0 && t.Max > 0 {
			zero := t
			zero.Min = 1
			return object{"anyOf": []any{object{"const": 0}, g.typ(zero)}}
		}
	}
	maps.Copy(s, raw(t.Schema))
	if t.Define == "" {
		return s
	}
	g.defs[t.Define] = s
	return object{"$ref": "#/$defs/" + t.Define}
}

func raw(text string) object {
	s := object{}
	if text != "" {
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			panic(fmt.Sprintf("%v in %s", err, text))
		}
	}
	return s
}

func page() string {
	var b strings.Builder
	b.WriteString("# Configuration\n\n" +
		"<!-- Made from the tables in internal/config: go test ./internal/config -update writes this page. -->\n\n" +
		"`landfall.yaml` says where rows go and how. `landfall validate` checks it and shows what it resolves to; the build writes that to\n" +
		"`landfall.json`, which the functions read. An editor that knows [the JSON Schema](schema/landfall.schema.json) completes keys.\n\n" +
		"A duration is a number with a unit: `ms`, `s`, `m`, `h` or `d` (24 hours), as in `30s`, `1h30m`, `7d`.\n")
	for _, t := range tables() {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| Key | Value | Default | Meaning | Example |\n|---|---|---|---|---|\n", t.Title, t.Help)
		for _, k := range t.Keys {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | `%s` |\n", k.Name, values(k.Type), byDefaultText(k), k.Help, k.Example)
		}
		if t.Example != "" {
			fmt.Fprintf(&b, "\n```yaml\n%s```\n", t.Example)
		}
	}
	return b.String()
}

// values says in words which values a type takes.
func values(t config.Type) string {
	switch {
	case t.Form == config.DurationForm && t.Max > 0:
		return fmt.Sprintf("a duration, %v to %v", config.Duration(t.Min), config.Duration(t.Max))
	case t.Form == config.Integer:
		return fmt.Sprintf("a whole number, %d to %d", t.Min, t.Max)
	case t.Form == config.Number:
		return fmt.Sprintf("a number, %d to %d", t.Min, t.Max)
	case ofKeys(t) != nil:
		return fmt.Sprintf("see [%s](#%s)", ofKeys(t).Title, ofKeys(t).Title)
	case t.Form == config.List && t.Max > 0:
		return fmt.Sprintf("%s, at most %d", t.Want, t.Max)
	case t.Words != nil:
		return "`" + strings.Join(t.Words, "`, `") + "`"
	case t.Keys != nil:
		return fmt.Sprintf("see [%s](#%s)", t.Keys.Title, t.Keys.Title)
	}
	return t.Want
}

func byDefaultText(k config.Key) string {
	switch {
	case k.Required:
		return "required"
	case k.Default == nil, k.Type.Form == config.Mapping:
		return ""
	}
	return fmt.Sprintf("`%v`", k.Default)
}

// fitsKey holds a key's example against its part of the schema.
func fitsKey(k config.Key) error {
	g := generator{object{}}
	g.table(config.File)
	s := g.key(k)
	s["$defs"] = g.defs
	src, err := yaml.YAMLToJSON([]byte(k.Example))
	if err != nil {
		return err
	}
	compiler := jsonschema.NewCompiler()
	definition, err := json.Marshal(s)
	if err != nil {
		return err
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(definition))
	if err != nil {
		return err
	}
	if err := compiler.AddResource("key.json", parsed); err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(src))
	if err != nil {
		return err
	}
	return compiler.MustCompile("key.json").Validate(value)
}
