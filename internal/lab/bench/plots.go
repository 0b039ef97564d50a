package bench

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// plots are the plots by the names of their files.
func (d Details) plots() map[string]string {
	return map[string]string{"cost.svg": d.costPlot(), "claims.svg": d.claimsPlot(), "latency.svg": d.latencyPlot()}
}

// costPlot is the bill of a million effects against the size of their items.
func (d Details) costPlot() string {
	var labels []string
	var stack []series
	for _, e := range d.Effects {
		if e.Way != InTransaction || !e.Gzip || e.Batch != fullBatch {
			continue
		}
		labels = append(labels, e.Name)
		for i, l := range d.Prices.bill(e.Name, e, e.Invocations, d.micros(benchSDK)).Lines {
			if i == len(stack) {
				stack = append(stack, series{name: l.What})
			}
			stack[i].y = append(stack[i].y, l.Dollars)
		}
	}
	stack = slices.DeleteFunc(stack, func(s series) bool { return slices.Max(s.y) < 0.02 }) // too thin to be seen
	return bars("What a million effects cost, in transactions, gzip, full batches", "Stacked bars in dollars, by the size of items before gzip; what is less than 2 cents is left out.",
		"size of the item", "dollars", labels, stack)
}

// claimsPlot is wasted claims against workers.
func (d Details) claimsPlot() string {
	lines := []series{{name: "disjoint parts, fast path", marked: true}, {name: "all sweep the same", marked: true}}
	for i, list := range [][]Claims{d.Deployed, d.Overlapping} {
		for _, c := range list {
			lines[i].x, lines[i].y = append(lines[i].x, float64(c.Workers)), append(lines[i].y, c.Wasted)
		}
	}
	return curves("Wasted claims of an effect, by workers", "As deployed it is none; workers that sweep the same shards waste one claim each.", "workers", "wasted claims", 1, 64,
		map[float64]string{1: "1", 2: "2", 4: "4", 8: "8", 16: "16", 32: "32", 64: "64"}, lines)
}

// latencyPlot is the distribution of the times from commit to send.
func (d Details) latencyPlot() string {
	lines := []series{{name: "fast path"}, {name: "sweep alone"}}
	for i, l := range []Latency{d.FastPath, d.Sweep} {
		for p, at := range l.At {
			lines[i].x, lines[i].y = append(lines[i].x, at), append(lines[i].y, float64(p))
		}
	}
	return curves("From commit to send", "Percent of rows whose send had begun after a time, modelled.", "time", "percent of rows", 50, 100_000,
		map[float64]string{100: "100 ms", 250: "250 ms", 700: "700 ms", 5000: "5 s", 60_000: "1 min"}, lines)
}

// savePlots writes the plots into a folder, which it makes.
func (d Details) savePlots(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("make the plots' folder: %w", err)
	}
	for name, plot := range d.plots() {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(plot), 0o644); err != nil {
			return fmt.Errorf("write a plot: %w", err)
		}
	}
	return nil
}

//go:embed page.html
var pageHTML string

// saveHTML writes one page that needs nothing else.
func (r Report) saveHTML(file string) error {
	page, err := template.New("page").Parse(pageHTML)
	if err != nil {
		return fmt.Errorf("read the page's template: %w", err)
	}
	var plots []template.HTML
	all := r.Details.plots()
	for _, name := range []string{"cost.svg", "claims.svg", "latency.svg"} {
		plots = append(plots, template.HTML(all[name])) // ours; texts in it are escaped
	}
	tables := r.Details.tables()
	var out bytes.Buffer
	err = page.Execute(&out, map[string]any{"Report": r, "Plots": plots, "Tables": tables, "Names": slices.Sorted(maps.Keys(tables))})
	if err != nil {
		return fmt.Errorf("make the page: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("make the page's folder: %w", err)
	}
	if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}
