package landfallcdk_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/jsii-runtime-go"

	"github.com/landfall-dev/landfall/infra/landfallcdk"
)

// The tests of this package share one Node.js process, which does one thing at a time: they are not parallel.

func TestMain(m *testing.M) {
	code := m.Run()
	jsii.Close()
	os.Exit(code)
}

const twoDestinations = `
destinations:
  charge: {http: "https://api.example.com/charges", deduplicates: 24h}
  mail: {http: "https://mail.example.com/send", deduplicates: never}
`

// props are those of a stack with that configuration and functions that never run.
func props(t *testing.T, yaml string) landfallcdk.Props {
	t.Helper()
	return landfallcdk.Props{ConfigFile: write(t, "landfall.yaml", yaml), Dist: dist(t, elf.EM_AARCH64)}
}

func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// dist has a file for each function that looks like a program for the machine.
func dist(t *testing.T, machine elf.Machine) string {
	t.Helper()
	header := elf.Header64{
		Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:  uint16(elf.ET_EXEC), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT), Ehsize: 64,
	}
	var program bytes.Buffer
	if err := binary.Write(&program, binary.LittleEndian, header); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for _, name := range []string{"dispatch", "reconcile", "route", "stream"} {
		if err := os.Mkdir(filepath.Join(folder, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name, "bootstrap"), program.Bytes(), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// newStack is a stack in an app of its own, without anything in it.
func newStack(t *testing.T) awscdk.Stack {
	t.Helper()
	app := awscdk.NewApp(&awscdk.AppProps{Outdir: jsii.String(t.TempDir())})
	return awscdk.NewStack(app, jsii.String("Landfall"), nil)
}

func landfall(t *testing.T, stack awscdk.Stack, p landfallcdk.Props) *landfallcdk.Landfall {
	t.Helper()
	l, err := landfallcdk.NewLandfall(stack, "Landfall", p)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// synth is the template of a stack that holds one Landfall.
func synth(t *testing.T, p landfallcdk.Props) *template {
	t.Helper()
	stack := newStack(t)
	landfall(t, stack, p)
	return read(t, stack)
}

// template is a CloudFormation template as the service reads it.
type template struct {
	t         *testing.T
	Resources map[string]resource
	Outputs   map[string]struct{ Value any }
}

type resource struct {
	Type                string
	Properties          properties
	DeletionPolicy      string
	UpdateReplacePolicy string
	DependsOn           []string
}

type properties map[string]any

func read(t *testing.T, stack awscdk.Stack) *template {
	t.Helper()
	text, err := json.Marshal(assertions.Template_FromStack(stack, nil).ToJSON())
	if err != nil {
		t.Fatal(err)
	}
	parsed := &template{t: t}
	if err := json.Unmarshal(text, parsed); err != nil {
		t.Fatal(err)
	}
	return parsed
}

// all resources of a type, by logical id.
func (got *template) all(kind string) map[string]resource {
	found := map[string]resource{}
	for id, r := range got.Resources {
		if r.Type == "AWS::"+kind {
			found[id] = r
		}
	}
	return found
}

// one is the resource of a type whose logical id begins so.
func (got *template) one(kind, prefix string) (string, resource) {
	got.t.Helper()
	var ids []string
	for id := range got.all(kind) {
		// What follows the name is a hash of eight digits.
		if strings.HasPrefix(id, prefix) && len(id) == len(prefix)+8 {
			ids = append(ids, id)
		}
	}
	if len(ids) != 1 {
		got.t.Fatalf("%d resources %s %s, want one", len(ids), kind, prefix)
	}
	return ids[0], got.Resources[ids[0]]
}

// at follows names and numbers into nested properties.
func (p properties) at(path string) any {
	var v any = map[string]any(p)
	for _, step := range strings.Split(path, ".") {
		switch node := v.(type) {
		case map[string]any:
			v = node[step]
		case []any:
			var i int
			if _, err := fmt.Sscan(step, &i); err != nil || i >= len(node) {
				return nil
			}
			v = node[i]
		default:
			return nil
		}
	}
	return v
}

// want compares properties, written as JSON.
func (got *template) want(r resource, expected map[string]string) {
	got.t.Helper()
	for path, want := range expected {
		if value := text(got.t, r.Properties.at(path)); value != want {
			got.t.Errorf("%s %s is %s, want %s", r.Type, path, value, want)
		}
	}
}

func text(t *testing.T, v any) string {
	t.Helper()
	b := &bytes.Buffer{}
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

// list is a property that holds one text or several.
func list(v any) (all []string) {
	switch v := v.(type) {
	case string:
		all = []string{v}
	case []any:
		for _, each := range v {
			all = append(all, fmt.Sprint(each))
		}
	}
	slices.Sort(all)
	return all
}
