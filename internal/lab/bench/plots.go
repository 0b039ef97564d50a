package bench

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"sort"
	"time"

	"github.com/go-analyze/charts"
)

// plot is an SVG by the name of its file. The same figures make the same bytes.
type plot struct {
	name string
	svg  []byte
}

// plots are those of docs/cost.md, in its order.
func (d Details) plots() (all []plot, err error) {
	for _, p := range []struct {
		name string
		draw func(*charts.Painter) error
	}{{"cost.svg", d.drawCost}, {"claims.svg", d.drawClaims}, {"latency.svg", d.drawLatency}} {
		painter := charts.NewPainter(charts.PainterOptions{OutputFormat: charts.ChartOutputSVG, Width: 860, Height: 400})
		if err := p.draw(painter); err != nil {
			return nil, fmt.Errorf("draw %s: %w", p.name, err)
		}
		svg, err := painter.Bytes()
		if err != nil {
			return nil, fmt.Errorf("draw %s: %w", p.name, err)
		}
		all = append(all, plot{p.name, svg})
	}
	return all, nil
}

// drawCost draws the bill of a million effects against the size of their items.
func (d Details) drawCost(painter *charts.Painter) error {
	var sizes, parts []string
	var dollars [][]float64
	for _, e := range d.Effects {
		if e.Way != InTransaction || !e.Gzip || e.Batch != fullBatch {
			continue
		}
		sizes = append(sizes, e.Name)
		for i, l := range d.Prices.bill(e.Name, e, e.Invocations, d.micros(benchSDK)).Lines {
			if i == len(dollars) {
				parts, dollars = append(parts, l.What), append(dollars, nil)
			}
			dollars[i] = append(dollars[i], l.Dollars)
		}
	}
	const visible = 0.02
	for i := len(parts) - 1; i >= 0; i-- {
		if slices.Max(dollars[i]) < visible {
			parts, dollars = slices.Delete(parts, i, i+1), slices.Delete(dollars, i, i+1)
		}
	}
	o := charts.NewBarChartOptionWithData(dollars)
	o.StackSeries = charts.Ptr(true)
	o.Title.Text = "Cost of a million effects, put in transactions, compressed, in full batches"
	o.Legend = legend(parts)
	o.CategoryAxis = charts.CategoryAxisOption{Labels: sizes, Title: "size of the item before compression"}
	o.ValueAxis = []charts.ValueAxisOption{{Title: "dollars", Min: charts.Ptr(0.0)}}
	return painter.BarChart(o)
}

// drawClaims draws wasted claims against workers.
func (d Details) drawClaims(painter *charts.Painter) error {
	var workers []string
	wasted := make([][]float64, 2)
	for i, c := range d.Deployed {
		workers = append(workers, fmt.Sprint(c.Workers))
		wasted[0], wasted[1] = append(wasted[0], c.Wasted), append(wasted[1], d.Overlapping[i].Wasted)
	}
	o := curves("Wasted claims of an effect, by workers", []string{"as deployed", "all sweep the same shards"}, wasted)
	o.Symbol = charts.Symbol{Shape: charts.SymbolDot}
	o.XAxis = charts.XAxisOption{Labels: workers, Title: "workers"}
	o.YAxis = []charts.YAxisOption{{Title: "wasted claims", Min: charts.Ptr(0.0)}}
	return painter.LineChart(o)
}

// drawLatency draws how many rows had been sent after a time, which doubles from label to label.
func (d Details) drawLatency(painter *charts.Painter) error {
	const perDoubling = 4
	var times []string
	sent := make([][]float64, 2)
	for i := range 11*perDoubling + 1 {
		at := 50 * math.Pow(2, float64(i)/perDoubling)
		times = append(times, time.Duration(at*float64(time.Millisecond)).Round(50*time.Millisecond).String())
		for k, l := range []Latency{d.FastPath, d.Sweep} {
			sent[k] = append(sent[k], float64(max(0, sort.Search(len(l.At), func(p int) bool { return l.At[p] > at })-1)))
		}
	}
	o := curves("From commit to send", []string{"fast path", "sweep alone"}, sent)
	o.XAxis = charts.XAxisOption{Labels: times, LabelCount: len(times)/perDoubling + 1, Title: "time after the commit"}
	o.YAxis = []charts.YAxisOption{{Title: "percent of the rows", Min: charts.Ptr(0.0), Max: charts.Ptr(100.0)}}
	return painter.LineChart(o)
}

func curves(title string, names []string, values [][]float64) charts.LineChartOption {
	o := charts.NewLineChartOptionWithData(values)
	o.Title.Text = title
	o.Legend = legend(names)
	o.Symbol = charts.Symbol{Shape: charts.SymbolNone}
	return o
}

func legend(names []string) charts.LegendOption {
	return charts.LegendOption{SeriesNames: names, Vertical: charts.Ptr(true), Offset: charts.OffsetRight, OverlayChart: charts.Ptr(false)}
}

// savePlots writes the plots into a folder.
func (d Details) savePlots(folder string) error {
	plots, err := d.plots()
	if err != nil {
		return err
	}
	for _, p := range plots {
		if err := write(filepath.Join(folder, p.name), p.svg); err != nil {
			return err
		}
	}
	return nil
}
