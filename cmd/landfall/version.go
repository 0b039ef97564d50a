package main

import (
	"context"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func (a *app) versionCommand() *cobra.Command {
	return a.command("version", "Show the version of this program",
		`Its version, the commit and the version of Go that it was built with.`,
		takes(0, 0), func(context.Context, []string) error {
			v := version()
			return a.say(v, "landfall %s %s %s", v.Version, v.Revision, v.Go)
		})
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
