package main

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show what was built",
		Args:  cobra.NoArgs,
		RunE: a.do(func(context.Context, []string) error {
			v := version()
			if a.output == inJSON {
				return a.printJSON(v)
			}
			_, err := fmt.Fprintf(a.stdout, "landfall %s %s %s\n", v.Version, v.Revision, v.Go)
			return err
		}),
	}
}

type built struct {
	Version  string `json:"version"`
	Revision string `json:"revision"`
	Go       string `json:"go"`
}

// version is what the Go tool wrote into the binary: a module version, or "(devel)" and the commit.
func version() built {
	v := built{Version: "unknown", Revision: "unknown", Go: "unknown"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v.Go = info.GoVersion
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Revision = s.Value
		}
	}
	return v
}
