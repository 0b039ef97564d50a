// Package payloads reads real messages to send: webhooks as they were recorded, which Go downloads, or the
// files of any folder. The demonstration and the figures use it; the product does not.
package payloads

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

// Payload is one message.
type Payload struct {
	// Name is its path below the payloads' folder, the source of its idempotency keys: escaped as in a
	// URL, because keys travel in a header.
	Name string
	Body []byte
}

// module holds recorded webhooks of GitHub, GitLab, Bitbucket, Gogs, Gitea, Docker and Azure DevOps
// in its testdata; tools/go.mod pins its version.
const module = "github.com/go-playground/webhooks/v6"

// Recorded is the folder of the recorded webhooks. Go downloads their module, unless it has it. source is a folder of
// Landfall's source tree.
func Recorded(ctx context.Context, source string) (string, error) {
	download := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	download.Dir = filepath.Join(source, "tools")
	out, err := download.Output()
	var answer struct{ Dir, Error string }
	if jsonErr := json.Unmarshal(out, &answer); jsonErr == nil && answer.Error != "" {
		err = errors.New(answer.Error)
	}
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
		}
		return "", fmt.Errorf("download the payloads with Go: %w", err)
	}
	return filepath.Join(answer.Dir, "testdata"), nil
}

// Load reads every file below dir, in the order of their paths. A folder without any is an error.
func Load(dir string) (all []Payload, err error) {
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		all = append(all, Payload{(&url.URL{Path: filepath.ToSlash(name)}).EscapedPath(), body})
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
