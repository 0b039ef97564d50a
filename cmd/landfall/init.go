package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

// starter has the files that init writes.
//
//go:embed starter
var starter embed.FS

func (a *app) initCommand() *cobra.Command {
	return a.command("init [FOLDER]", "Write a first landfall.yaml",
		`Into FOLDER (default: this one) go landfall.yaml with comments, payload.json, a
sample payload, and compose.yaml, which starts LocalStack for those who have
Docker. A file that exists is left unchanged.`,
		takes(0, 1), func(_ context.Context, args []string) error {
			folder := "."
			if len(args) == 1 {
				folder = args[0]
			}
			return a.initialise(folder)
		})
}

func (a *app) initialise(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("create the folder: %w", err)
	}
	files, err := starter.ReadDir("starter")
	if err != nil {
		return err
	}
	for _, file := range files {
		path := filepath.Join(folder, file.Name())
		content, err := starter.ReadFile("starter/" + file.Name())
		if err != nil {
			return err
		}
		err = writeNew(path, content)
		switch {
		case errors.Is(err, fs.ErrExist):
			fmt.Fprintf(a.stdout, "%s exists: left unchanged\n", printable(path))
		case err != nil:
			return fmt.Errorf("write %s: %w", path, err)
		default:
			fmt.Fprintf(a.stdout, "%s written\n", printable(path))
		}
	}
	fmt.Fprintf(a.stdout, "\nNext: enter your destinations in %s, then run: landfall validate %[1]s\n", printable(filepath.Join(folder, "landfall.yaml")))
	return nil
}

// writeNew writes a file that does not exist yet. It never overwrites one, not even through a link.
func writeNew(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}
