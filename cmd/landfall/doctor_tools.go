package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	goversion "go/version"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// module is what the source tree calls itself.
const module = "github.com/landfall-dev/landfall"

// tools examines what building and deploying need, if the folder is the source tree.
func (e *examination) tools(ctx context.Context, folder string) {
	wanted, ok := goWanted(folder)
	if !ok {
		e.notChecked("tools", "this folder is not Landfall's source tree, where they are needed")
		return
	}
	if has, err := output(ctx, folder, "go", "env", "GOVERSION"); err != nil {
		e.bad("go", err.Error(), "install Go "+wanted)
	} else if has, _, _ = strings.Cut(has, " "); goversion.Compare(has, "go"+wanted) < 0 {
		e.bad("go", has+" is older than go.mod's "+wanted, "install a newer one")
	} else {
		e.ok("go", has)
	}
	var pinned struct {
		Engines         struct{ Node string }
		DevDependencies map[string]string
	}
	if err := readJSON(filepath.Join(folder, "package.json"), &pinned); err != nil {
		e.bad("package.json", err.Error(), "restore it")
		return
	}
	e.node(ctx, folder, pinned.Engines.Node)
	const cdk = "aws-cdk"
	var installed struct{ Version string }
	switch err := readJSON(filepath.Join(folder, "node_modules", cdk, "package.json"), &installed); {
	case errors.Is(err, fs.ErrNotExist):
		e.warn("cdk", "the CDK's command line is not installed; only deploying needs it", "npm ci")
	case err != nil:
		e.warn("cdk", err.Error(), "npm ci")
	case installed.Version != pinned.DevDependencies[cdk]:
		e.warn("cdk", installed.Version+" is installed, package.json pins "+pinned.DevDependencies[cdk], "npm ci")
	default:
		e.ok("cdk", installed.Version)
	}
}

// node compares major versions: wanted is such as ">=20".
func (e *examination) node(ctx context.Context, folder, wanted string) {
	has, err := output(ctx, folder, "node", "--version")
	if err != nil {
		e.warn("node", err.Error()+"; only deploying needs it", "install Node.js "+wanted)
		return
	}
	major, _, _ := strings.Cut(strings.TrimPrefix(has, "v"), ".")
	n, err := strconv.Atoi(major)
	least, wrong := strconv.Atoi(strings.TrimPrefix(wanted, ">="))
	switch {
	case err != nil || wrong != nil:
		e.warn("node", fmt.Sprintf("%q cannot be compared with package.json's %q", has, wanted), "compare them")
	case n < least:
		e.bad("node", has+" is older than package.json's "+wanted, "install a newer one")
	default:
		e.ok("node", has)
	}
}

// goWanted is the version that the source tree's go.mod asks for.
func goWanted(folder string) (string, bool) {
	text, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	if err != nil {
		return "", false
	}
	ours, wanted := false, ""
	for line := range strings.Lines(string(text)) {
		switch f := strings.Fields(line); {
		case len(f) != 2:
		case f[0] == "module":
			ours = f[1] == module
		case f[0] == "go":
			wanted = f[1]
		}
	}
	return wanted, ours && wanted != ""
}

// output is what a program prints, without spaces around it.
func output(ctx context.Context, folder, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = folder
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s does not run: %w", program, err)
	}
	return strings.TrimSpace(string(text)), nil
}

func readJSON(path string, to any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, to); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}
