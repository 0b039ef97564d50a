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
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Count what an effect costs: units, requests, CPU, dollars",
		Long: `Count what an effect costs: units, requests, CPU, dollars.

It runs tests that count, on a local AWS and a virtual clock, and Go's benchmarks, writes all figures as JSON, and
with --html as a page with plots. Exit code 0 only if no figure is above its bound. It takes a few minutes.

Run it in the source tree: it needs Go, and nothing else.`,
		Args: cobra.NoArgs,
		RunE: a.do(func(ctx context.Context, _ []string) error {
			if err := inSourceTree(); err != nil {
				return err
			}
			o.Output = a.stderr
			r, err := bench.Run(ctx, o)
			if len(r.Details.Effects) > 0 {
				err = errors.Join(err, a.printFigures(r.Figures()))
			}
			return err
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Report, "report", "build/bench.json", "JSON file to write")
	flags.StringVar(&o.HTML, "html", "", "HTML page to write, with plots")
	flags.StringVar(&o.Page, "page", "", "page whose tables are replaced, such as docs/cost.md")
	flags.StringVar(&o.Plots, "plots", "", "folder to write plots to, as SVG")
	return cmd
}

func (a *app) printFigures(figures []bench.Figure) error {
	if a.output == inJSON {
		return a.printJSON(figures)
	}
	var rows [][]string
	for _, f := range figures {
		rows = append(rows, []string{f.Name, fmt.Sprintf("%.4g", f.Value)})
	}
	return a.printTable(rows)
}
