package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/config/yamlconfig"
)

// fileSchema is what editors know a landfall.yaml by.
var fileSchema = sync.OnceValue(func() *jsonschema.Schema {
	return jsonschema.NewCompiler().MustCompile("../../docs/schema/landfall.schema.json")
})

// fitsSchema reports what the schema has against a file, as an editor would read it.
func fitsSchema(src []byte) error {
	text := src
	if !json.Valid(src) { // else it would be quoted anew, and not always well
		var err error
		if text, err = yaml.YAMLToJSON(src); err != nil {
			return err
		}
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return fileSchema().Validate(document)
}

func TestValidFilesFitTheSchema(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(golden, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, resolved := range slices.Clone(files) {
		files = append(files, strings.TrimSuffix(resolved, "json")+"yaml")
	}
	for _, path := range append(files, "../../landfall.yaml", "../lab/demo/landfall.yaml") {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		src = bytes.TrimPrefix(src, []byte("\ufeff")) // editors do so, too
		if err := fitsSchema(src); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// beyond are mistakes that no JSON Schema can see, or only at the cost of being unreadable: how large a duration is,
// how a number is written, the case of names of headers, and what two keys say together.
var beyond = []string{
	"1500ms", "99999d", "999999999999d", "106751d24h", "10m1s", "31d", "10ms", "8d", "2m", "1us",
	"010", "1_0", "0x10", "4.0", "{0400",
	"x:0/", "x:/", "x:65536", "[::1\"", "/../", "%2e", "a^b",
	"secret: a, http: \"http://", "169.254", "fd00:ec2", "0.0.0.0", // where an address leads
	"unreached", "answers: [{status: 409", // what an earlier rule decides
	"{name: a, header: X-A}", // nor that two keys name the same header
	"Host", "content-length", "transfer-encoding", "Content-Type", "idempotency-key", "x-a",
}

func TestBadValuesDoNotFitTheSchema(t *testing.T) {
	t.Parallel()
	for _, c := range badValues {
		fits := fitsSchema([]byte("destinations:\n  pay: "+c.value+"\n")) == nil
		unseen := slices.ContainsFunc(beyond, func(word string) bool { return strings.Contains(c.value, word) })
		if fits != unseen {
			t.Errorf("%s fits: %v", c.value, fits)
		}
	}
}

// least is the least that a landfall.yaml with a secret, a lookup and a group says.
const least = `{"destinations": {"pay": {"http": "https://x", "deduplicates": "never", "secret": {"name": "s"},
  "answers": [{"status": 422, "then": "retryable"}], "lookup": {"http": "https://x/{remote_ref}", "secret": {"name": "s"}, "rules": [{"status": 404, "then": "not_found"}]}}},
  "groups": {"couriers": {"accept": "explicit", "route": "least_loaded", "consumers": {"north": {"sqs": "courier-north"}}}}}`

// TestSchemaAgreesWithTheReader holds every key, word, bound and default of the schema against what reading a
// file does.
func TestSchemaAgreesWithTheReader(t *testing.T) {
	t.Parallel()
	cfg, err := yamlconfig.Parse("f", []byte(least))
	if err != nil {
		t.Fatal(err)
	}
	resolved, err := cfg.Resolved()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	walk(fileSchema(), nil, func(path []string, s *jsonschema.Schema) {
		seen++
		keys(t, path, s)
		words(t, path, s)
		bounds(t, path, s)
		byDefault(t, resolved, path, s)
	})
	if seen < 50 {
		t.Errorf("the schema describes %d places: too few to be all", seen)
	}
}

// named is what stands for any name in a path.
var named = map[string]string{"consumers": "north", "destinations": "pay", "groups": "couriers", "headers": "X-A", "statuses": "409"}

// walk calls each for everything that the schema describes, with the path of an example.
func walk(s *jsonschema.Schema, path []string, each func([]string, *jsonschema.Schema)) {
	each(path, s)
	for s.Ref != nil {
		s = s.Ref
	}
	for name, property := range s.Properties {
		walk(property, append(slices.Clone(path), name), each)
	}
	if any, ok := s.AdditionalProperties.(*jsonschema.Schema); ok {
		walk(any, append(slices.Clone(path), named[path[len(path)-1]]), each)
	}
	if s.Items2020 != nil {
		walk(s.Items2020, append(slices.Clone(path), "0"), each)
	}
}

// with is the least file, but for one value.
func with(path []string, value any) []byte {
	var document any
	if err := json.Unmarshal([]byte(least), &document); err != nil {
		panic(err)
	}
	src, err := json.Marshal(set(document, path, value))
	if err != nil {
		panic(err)
	}
	return src
}

func set(document any, path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	if path[0] == "0" {
		list, _ := document.([]any)
		var first any
		if len(list) > 0 {
			first = list[0]
		}
		return []any{set(first, path[1:], value)}
	}
	members, ok := document.(map[string]any)
	if !ok {
		members = map[string]any{}
	}
	members[path[0]] = set(members[path[0]], path[1:], value)
	return members
}

func get(t *testing.T, document []byte, path []string) any {
	t.Helper()
	at, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range path {
		if list, ok := at.([]any); ok {
			at = list[0]
			continue
		}
		members, _ := at.(map[string]any)
		at = members[name]
	}
	return at
}

// ofOtherKinds are keys of destinations that the one of least cannot have: it is of kind http.
var ofOtherKinds = slices.Collect(maps.Keys(config.File.Key("destinations").Type.Of.Keys.For([]string{"http"}).Foreign))

// keys compares the keys of a place with those that the error for a key that nobody knows allows.
func keys(t *testing.T, path []string, s *jsonschema.Schema) {
	for s.Ref != nil {
		s = s.Ref
	}
	if s.Properties == nil {
		return
	}
	var public []string
	for name := range s.Properties {
		if len(path) != 2 || path[0] != "destinations" || !slices.Contains(ofOtherKinds, name) {
			public = append(public, name)
		}
	}
	slices.Sort(public)
	at := append(slices.Clone(path), "qqq")
	want := fmt.Sprintf("%s: unknown key; allowed keys: %s\n", strings.Join(at, "."), strings.Join(public, ", "))
	if _, err := yamlconfig.Parse("f", with(at, 1)); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error = %v\nwant in it: %s", err, want)
	}
}

// words tries what the schema offers to choose from.
func words(t *testing.T, path []string, s *jsonschema.Schema) {
	if s.Enum == nil {
		return
	}
	for _, word := range s.Enum.Values {
		if _, err := yamlconfig.Parse("f", with(path, word)); err != nil {
			t.Errorf("%v of the schema is refused: %v", word, err)
		}
	}
	_, err := yamlconfig.Parse("f", with(path, "qqq"))
	for _, word := range s.Enum.Values {
		if err == nil || !strings.Contains(err.Error(), word.(string)) {
			t.Errorf("error = %v\nwant in it %v, as in the schema", err, word)
		}
	}
	if err != nil {
		list := err.Error()[strings.LastIndex(err.Error(), "write "):]
		if list, _, _ = strings.Cut(list, "\n"); strings.Count(list, ",")+2 != len(s.Enum.Values) {
			t.Errorf("%v: %s, but the schema has %d", path, list, len(s.Enum.Values))
		}
	}
}

// bounds tries the least and the largest number, and what is just beyond.
func bounds(t *testing.T, path []string, s *jsonschema.Schema) {
	for s.Ref != nil {
		s = s.Ref
	}
	if s.Minimum == nil || s.Maximum == nil {
		return
	}
	one := big.NewRat(1, 1)
	for _, c := range []struct {
		value *big.Rat
		good  bool
	}{
		{s.Minimum, true}, {s.Maximum, true},
		{new(big.Rat).Sub(s.Minimum, one), false}, {new(big.Rat).Add(s.Maximum, one), false},
	} {
		value, _ := c.value.Float64()
		if _, err := yamlconfig.Parse("f", with(path, value)); (err == nil) != c.good {
			t.Errorf("%s: %v: error = %v, but the schema says it is good = %v", strings.Join(path, "."), value, err, c.good)
		}
	}
}

// byDefault compares a default with what a file resolves to that does not say anything.
func byDefault(t *testing.T, resolved []byte, path []string, s *jsonschema.Schema) {
	at := path
	if len(path) > 0 && path[0] == "defaults" {
		at = append([]string{"destinations", "pay"}, path[1:]...)
	}
	if len(path) == 3 && path[0] == "destinations" && slices.Contains(ofOtherKinds, path[2]) {
		return
	}
	value := get(t, resolved, at)
	said := get(t, []byte(least), at) != nil
	var public any
	for ; s != nil && public == nil; s = s.Ref {
		if s.Default != nil {
			public = *s.Default
		}
	}
	switch value := value.(type) {
	case map[string]any, []any:
		return
	case json.Number:
		got, _ := strconv.ParseFloat(value.String(), 64)
		want, _ := strconv.ParseFloat(fmt.Sprint(public), 64)
		if !said && (public == nil || got != want) {
			t.Errorf("%v: the default is %v, not %v", path, value, public)
		}
	default:
		if diff := cmp.Diff(value, public); !said && diff != "" {
			t.Errorf("%v: the default in the schema is another (-code +schema):\n%s", path, diff)
		}
	}
}
