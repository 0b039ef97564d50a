package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
)

// payload is one real message: a webhook as it was recorded.
type payload struct {
	// name is its path below the payloads' folder, the source of its idempotency keys: escaped as in a
	// URL, because keys travel in a header.
	name string
	body []byte
}

// payloadModule holds recorded webhooks of GitHub, GitLab, Bitbucket, Gogs, Gitea, Docker and Azure DevOps
// in its testdata; tools/go.mod pins its version.
const payloadModule = "github.com/go-playground/webhooks/v6"

// moduleFolder lets Go download the pinned module, unless it has it, and returns its folder.
func moduleFolder(ctx context.Context, source string) (string, error) {
	download := exec.CommandContext(ctx, "go", "mod", "download", "-json", payloadModule)
	download.Dir = filepath.Join(source, "tools")
	out, err := download.Output()
	var module struct{ Dir, Error string }
	if jsonErr := json.Unmarshal(out, &module); jsonErr == nil && module.Error != "" {
		err = errors.New(module.Error)
	}
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
		}
		return "", fmt.Errorf("download the payloads with Go: %w (or name a folder of your own with --payloads)", err)
	}
	return filepath.Join(module.Dir, "testdata"), nil
}

// load reads every file below dir, in the order of their paths.
func load(dir string) (all []payload, err error) {
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		all = append(all, payload{(&url.URL{Path: filepath.ToSlash(name)}).EscapedPath(), body})
		return err
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the payloads: %w", err)
	case len(all) == 0:
		return nil, fmt.Errorf("read the payloads: no file below %s", dir)
	}
	return all, nil
}
