package devstack

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// module makes a Go module with one function that builds and one that does not.
func module(t *testing.T) string {
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":                     "module example.com/m\n\ngo 1.25\n",
		"functions/good/main.go":     "package main\n\nfunc main() { println(\"built\") }\n",
		"functions/bad/main.go":      "package main\n\nfunc main() { undefined() }\n",
		"functions/good/sub/file.go": "package sub\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func TestBuiltFunctionIsForThisMachine(t *testing.T) { // alone: it sets variables
	t.Setenv("GOOS", "plan9")
	t.Setenv("GOARCH", "arm")
	root := module(t)
	path, err := Build(t.Context(), filepath.Join(root, "functions", "good", "sub"), "good") // from anywhere in the module
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(root, "build", "desk", "good", "bootstrap"); path != want {
		t.Errorf("built %s, not %s", path, want)
	}
	if out, err := exec.Command(path).CombinedOutput(); err != nil || string(out) != "built\n" {
		t.Errorf("ran to %q, %v", out, err)
	}
}

func TestFailedBuildSaysWhy(t *testing.T) {
	t.Parallel()
	root := module(t)
	for name, c := range map[string]struct{ dir, function, want string }{
		"no such function": {root, "other", filepath.Join(root, "functions", "other") + " not found: run this from the source tree"},
		"not a name":       {root, "../good", "invalid function name"},
		"does not compile": {root, "bad", "undefined: undefined"},
		"no module":        {t.TempDir(), "good", "is not inside a Go module"},
	} {
		if _, err := Build(context.Background(), c.dir, c.function); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestMissingGoIsNamedInTheError(t *testing.T) { // alone: it sets variables
	t.Setenv("PATH", t.TempDir())
	if _, err := Build(t.Context(), ".", "good"); !errors.Is(err, ErrNoGo) {
		t.Errorf("got %v", err)
	}
}
