// Package figures measures the source tree: lines by room, embedded fields, long functions, and what the root package
// depends on. `make figures` prints them; a test of the root package holds the bound on embedded fields. Test files
// (*_test.go) and folders that the go command ignores do not count.
package figures

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
)

// Figures of one tree.
type Figures struct {
	// Lines by room, a path such as "internal/outbox"; the root package's room is ".".
	Lines map[string]int
	// Embedded are the struct fields without a name, by position.
	Embedded []string
	// Functions with the number of their lines, longest first.
	Functions []Function
}

// Function is one function or method.
type Function struct {
	Name, Position string
	Lines          int
}

// Measure reads the Go files below dir, the root of a tree.
func Measure(dir string) (Figures, error) {
	f := Figures{Lines: map[string]int{}}
	tree := os.DirFS(dir)
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && ignored(entry.Name()):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		source, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		return f.add(name, source)
	})
	slices.SortStableFunc(f.Functions, func(a, b Function) int { return cmp.Compare(b.Lines, a.Lines) })
	return f, err
}

// ignored folders hold no source of the tree; build and dist are made by the Makefile.
func ignored(folder string) bool {
	return folder == "testdata" || folder == "node_modules" || folder == "build" || folder == "dist" ||
		strings.HasPrefix(folder, ".") || strings.HasPrefix(folder, "_")
}

func (f *Figures) add(name string, source []byte) error {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	f.Lines[room(name)] += bytes.Count(source, []byte("\n"))
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.StructType:
			for _, field := range node.Fields.List {
				if len(field.Names) == 0 {
					f.Embedded = append(f.Embedded, files.Position(field.Pos()).String())
				}
			}
		case *ast.FuncDecl:
			first, last := files.Position(node.Pos()), files.Position(node.End())
			f.Functions = append(f.Functions, Function{Name: node.Name.Name, Position: first.String(), Lines: last.Line - first.Line + 1})
		}
		return true
	})
	return nil
}

// room of a file: internal/lab has rooms of its own, everything else at most two levels.
func room(name string) string {
	parts := strings.Split(path.Dir(name), "/")
	depth := 2
	if strings.HasPrefix(name, "internal/lab/") {
		depth = 3
	}
	return strings.Join(parts[:min(depth, len(parts))], "/")
}

// Laboratory says whether a room serves only development and proof.
func Laboratory(room string) bool { return strings.HasPrefix(room, "internal/lab/") }

// Dependencies of the package in dir: the packages outside the standard library and outside its own module.
func Dependencies(dir string) ([]string, error) {
	list := exec.Command("go", "list", "-deps", "-f", "{{if not (or .Standard .Module.Main)}}{{.ImportPath}}{{end}}", ".")
	list.Dir = dir
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list -deps: %w", err)
	}
	return strings.Fields(string(out)), nil
}

// longest is how many functions Write names.
const longest = 10

// Write prints the figures and what the root package depends on. With every, it lists each embedded field and each
// dependency.
func (f Figures) Write(w io.Writer, dependencies []string, every bool) {
	product, laboratory := 0, 0
	fmt.Fprintln(w, "non-test lines of Go, by room")
	for _, room := range slices.Sorted(maps.Keys(f.Lines)) {
		fmt.Fprintf(w, "%8d  %s\n", f.Lines[room], room)
		if Laboratory(room) {
			laboratory += f.Lines[room]
		} else {
			product += f.Lines[room]
		}
	}
	fmt.Fprintf(w, "%8d  deployed, imported, or the command line\n%8d  internal/lab\n%8d  in all\n\n", product, laboratory, product+laboratory)

	fmt.Fprintf(w, "%8d  embedded struct fields\n", len(f.Embedded))
	list(w, f.Embedded, every)
	fmt.Fprintf(w, "%8d  packages that the root package depends on, outside the standard library and this module\n", len(dependencies))
	list(w, dependencies, every)

	fmt.Fprintln(w, "\nlines of the longest functions")
	for _, function := range f.Functions[:min(longest, len(f.Functions))] {
		fmt.Fprintf(w, "%8d  %s (%s)\n", function.Lines, function.Name, function.Position)
	}
}

func list(w io.Writer, items []string, every bool) {
	if !every {
		return
	}
	for _, item := range items {
		fmt.Fprintln(w, "         ", item)
	}
}
