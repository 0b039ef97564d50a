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

// starter has the files to begin with, as init writes them.
//
//go:embed starter
var starter embed.FS

func (a *app) initCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init [FOLDER]",
		Short: "Write a landfall.yaml to begin with",
		Long: `Write what to begin with into FOLDER, by default this one: landfall.yaml with comments, a sample payload.json, and
compose.yaml, which starts LocalStack for those who have Docker. A file that exists is left as it is.`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.do(func(_ context.Context, args []string) error {
			folder := "."
			if len(args) == 1 {
				folder = args[0]
			}
			return a.initialise(folder)
		}),
	}
}

func (a *app) initialise(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("make the folder: %w", err)
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
			fmt.Fprintf(a.stdout, "%s exists already: left as it is\n", printable(path))
		case err != nil:
			return fmt.Errorf("write %s: %w", path, err)
		default:
			fmt.Fprintf(a.stdout, "%s is written\n", printable(path))
		}
	}
	fmt.Fprintf(a.stdout, "\nNext: say in %s where your effects go, then: landfall validate %[1]s\n", printable(filepath.Join(folder, "landfall.yaml")))
	return nil
}

// writeNew writes a file that does not exist: never over what somebody has, be it behind a link.
func writeNew(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}
