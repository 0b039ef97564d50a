package doctor

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

// Tools examines what building and deploying need, if folder is Landfall's source tree.
func Tools(ctx context.Context, folder string) []Finding {
	wanted, ok := GoWanted(folder)
	if !ok {
		return one(NotChecked, "tools", "this folder is not Landfall's source tree; they are needed only there", "")
	}
	found := []Finding{goTool(ctx, folder, wanted)}
	var pinned struct {
		Engines         struct{ Node string }
		DevDependencies map[string]string
	}
	if err := readJSON(filepath.Join(folder, "package.json"), &pinned); err != nil {
		return append(found, Finding{Bad, "package.json", err.Error(), "restore it"})
	}
	return append(found, node(ctx, folder, pinned.Engines.Node), cdk(folder, pinned.DevDependencies[cdkPackage]))
}

func goTool(ctx context.Context, folder, wanted string) Finding {
	has, err := output(ctx, folder, "go", "env", "GOVERSION")
	if err != nil {
		return Finding{Bad, "go", err.Error(), "install Go " + wanted}
	}
	if has, _, _ = strings.Cut(has, " "); goversion.Compare(has, "go"+wanted) < 0 {
		return Finding{Bad, "go", has + " is older than " + wanted + ", which go.mod asks for", "install a newer Go"}
	}
	return Finding{OK, "go", has, ""}
}

const cdkPackage = "aws-cdk"

// cdk compares the installed CDK with the pinned version.
func cdk(folder, pinned string) Finding {
	var installed struct{ Version string }
	err := readJSON(filepath.Join(folder, "node_modules", cdkPackage, "package.json"), &installed)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Finding{Warning, "cdk", "the CDK's command line is not installed; only deploying needs it", "npm ci"}
	case err != nil:
		return Finding{Warning, "cdk", err.Error(), "npm ci"}
	case installed.Version != pinned:
		return Finding{Warning, "cdk", installed.Version + " is installed, package.json pins " + pinned, "npm ci"}
	}
	return Finding{OK, "cdk", installed.Version, ""}
}

// node compares major versions; wanted is such as ">=20".
func node(ctx context.Context, folder, wanted string) Finding {
	has, err := output(ctx, folder, "node", "--version")
	if err != nil {
		return Finding{Warning, "node", err.Error() + "; only deploying needs it", "install Node.js " + wanted}
	}
	major, _, _ := strings.Cut(strings.TrimPrefix(has, "v"), ".")
	n, err := strconv.Atoi(major)
	least, wrong := strconv.Atoi(strings.TrimPrefix(wanted, ">="))
	switch {
	case err != nil || wrong != nil:
		return Finding{Warning, "node", fmt.Sprintf("version %q cannot be compared with package.json's %q", has, wanted), "compare them yourself"}
	case n < least:
		return Finding{Bad, "node", has + " is older than " + wanted + ", which package.json asks for", "install a newer Node.js"}
	}
	return Finding{OK, "node", has, ""}
}

// GoWanted is the version of Go that go.mod asks for; false if folder is not Landfall's source tree.
func GoWanted(folder string) (string, bool) {
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
