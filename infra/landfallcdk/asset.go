package landfallcdk

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/schema"
)

// asset is a function's code: its binary and the resolved configuration that it needs beside it. Its hash depends on these two files
// alone.
func (b *builder) asset(name string) (awslambda.Code, error) {
	binary := filepath.Join(b.props.Dist, name, "bootstrap")
	if err := b.checkBinary(binary); err != nil {
		return nil, err
	}
	folder := filepath.Join(*awscdk.Stage_Of(b.scope).AssetOutdir(), "landfall-"+*b.scope.Node().Addr(), name)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, fmt.Errorf("prepare function %s: %w", name, err)
	}
	if err := copyProgram(filepath.Join(folder, "bootstrap"), binary); err != nil {
		return nil, fmt.Errorf("prepare function %s: %w", name, err)
	}
	resolved, err := b.resolvedFor(name)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(folder, schema.ConfigFile), resolved, 0o644); err != nil {
		return nil, fmt.Errorf("prepare function %s: %w", name, err)
	}
	return awslambda.Code_FromAsset(jsii.String(folder), nil), nil
}

// resolvedFor is the configuration that a function reads. Route's has no destinations: it does not need their headers.
func (b *builder) resolvedFor(name string) ([]byte, error) {
	if name != "route" {
		return b.resolved, nil
	}
	groups := *b.config
	groups.Destinations = map[string]config.Destination{}
	return groups.Resolved()
}

// checkBinary finds a wrong binary at synthesis. Lambda would report "exec format error" at every run.
func (b *builder) checkBinary(path string) error {
	const remedy = "run make build GOARCH_LAMBDA="
	arch, machine := "arm64", elf.EM_AARCH64
	if *b.props.Architecture.Name() == *awslambda.Architecture_X86_64().Name() {
		arch, machine = "amd64", elf.EM_X86_64
	}
	program, err := elf.Open(path)
	var format *elf.FormatError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s does not exist: %s%s", path, remedy, arch)
	case errors.As(err, &format), errors.Is(err, io.EOF): // EOF: the file is too short
		return fmt.Errorf("%s is not a Linux program: %s%s", path, remedy, arch)
	case err != nil:
		return fmt.Errorf("read the built function: %w", err)
	}
	defer program.Close()
	if program.Machine != machine {
		return fmt.Errorf("%s is built for %v, but the functions run on %s: %s%s, or set the other architecture",
			path, program.Machine, *b.props.Architecture.Name(), remedy, arch)
	}
	return nil
}

func copyProgram(to, from string) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	_, err = io.Copy(target, source)
	return err
}
