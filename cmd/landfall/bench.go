package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/landfall-dev/landfall/internal/lab/bench"
)

func (a *app) benchCommand() *cobra.Command {
	o := bench.Options{}
	cmd := a.command("bench", "Measure what an effect costs",
		`Figures are capacity units, requests, CPU time and dollars for each effect. It
runs counting tests on a local AWS with a virtual clock, and Go's benchmarks. It
writes all figures as JSON, and with --html as a page with plots. It takes a few
minutes. Exit code 1: a figure is above its bound, or a test failed.

Run it from Landfall's source tree; it needs only Go.`,
		takes(0, 0), func(ctx context.Context, _ []string) error {
			if err := inSourceTree(); err != nil {
				return err
			}
			o.Output = a.stderr
			r, err := bench.Run(ctx, o)
			if len(r.Details.Effects) > 0 {
				err = errors.Join(err, a.printFigures(r.Figures()))
			}
			return err
		})
	flags := cmd.Flags()
	flags.StringVar(&o.Report, "report", "build/bench.json", "JSON file to write")
	flags.StringVar(&o.HTML, "html", "", "HTML page with plots to write")
	flags.StringVar(&o.Page, "page", "", "page whose tables to replace, such as docs/cost.md")
	flags.StringVar(&o.Plots, "plots", "", "folder to write plots to, as SVG")
	return cmd
}

func (a *app) printFigures(figures []bench.Figure) error {
	var rows [][]string
	for _, f := range figures {
		rows = append(rows, []string{f.Name, fmt.Sprintf("%.4g", f.Value)})
	}
	return a.print(figures, rows)
}
