package devstack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ErrNoGo says that functions cannot be built because the Go toolchain is missing.
var ErrNoGo = errors.New("go command not found on the PATH: install Go from https://go.dev/dl/, or give built executables")

// Build compiles the function in functions/<name> of the Go module that dir lies in, for this
// machine, as it is compiled for Lambda otherwise, and returns the executable's path:
// build/desk/<name>/bootstrap in the module's folder. A compiler's complaint is part of the error.
func Build(ctx context.Context, dir, name string) (string, error) {
	if !functionName.MatchString(name) {
		return "", fmt.Errorf("build function %q: invalid function name", name)
	}
	root, err := moduleRoot(ctx, dir)
	if err != nil {
		return "", fmt.Errorf("build function %s: %w", name, err)
	}
	source := filepath.Join(root, "functions", name)
	if info, err := os.Stat(source); err != nil || !info.IsDir() {
		return "", fmt.Errorf("build function %s: folder %s not found: run this from the source tree", name, source)
	}
	binary := filepath.Join(root, "build", "desk", name, "bootstrap")
	if _, err := runGo(ctx, root, "build", "-trimpath", "-ldflags=-s -w", "-tags=lambda.norpc",
		"-o", binary, "./functions/"+name); err != nil {
		return "", fmt.Errorf("build function %s: %w", name, err)
	}
	return binary, nil
}

// moduleRoot returns the folder of the go.mod that governs dir.
func moduleRoot(ctx context.Context, dir string) (string, error) {
	gomod, err := runGo(ctx, dir, "env", "GOMOD")
	if err != nil {
		return "", err
	}
	if gomod == "" || gomod == os.DevNull {
		return "", fmt.Errorf("%s is not inside a Go module: run this from the source tree", dir)
	}
	return filepath.Dir(gomod), nil
}

// runGo runs the go command for this machine, whatever GOOS and GOARCH say, without cgo, and returns
// what it prints.
func runGo(ctx context.Context, dir string, args ...string) (string, error) {
	path, err := exec.LookPath("go")
	if err != nil {
		return "", ErrNoGo
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=", "GOARCH=")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(stdout.String()), nil
}
