package bench

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"sort"
	"strings"
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
	const visible = 0.05
	for i := len(parts) - 1; i >= 0; i-- {
		if slices.Max(dollars[i]) < visible {
			parts, dollars = slices.Delete(parts, i, i+1), slices.Delete(dollars, i, i+1)
		}
	}
	o := charts.NewBarChartOptionWithData(dollars)
	o.StackSeries = charts.Ptr(true)
	o.Title.Text = "Cost of a million effects, put in transactions, compressed, in full batches"
	o.Legend = legend(parts)
	o.CategoryAxis = categories("size of the item before compression", sizes)
	most := 0.0
	for size := range sizes {
		sum := 0.0
		for _, part := range dollars {
			sum += part[size]
		}
		most = max(most, sum)
	}
	o.ValueAxis = fromZero("dollars", most)
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
	o.XAxis = categories("workers", workers)
	o.YAxis = fromZero("wasted claims", slices.Max(wasted[1]))
	return painter.LineChart(o)
}

// drawLatency draws how many rows had been sent after a time, which doubles from label to label.
func (d Details) drawLatency(painter *charts.Painter) error {
	const doublings, steps = 11, 4 // from 50 ms to 102 s
	var times []string
	sent := make([][]float64, 2)
	for i := range doublings*steps + 1 {
		at := 50 * math.Pow(2, float64(i)/steps)
		label := ""
		if i%steps == 0 && i < doublings*steps { // the last one would leave the picture
			label = (time.Duration(at) * time.Millisecond).String()
		}
		times = append(times, label)
		for k, l := range []Latency{d.FastPath, d.Sweep} {
			reached := sort.Search(len(l.At), func(p int) bool { return l.At[p] > at })
			sent[k] = append(sent[k], float64(max(0, reached-1)))
		}
	}
	o := curves("From commit to send", []string{"fast path", "sweep alone"}, sent)
	o.XAxis = categories("time after the commit", times)
	o.XAxis.BoundaryGap = charts.Ptr(false)
	o.YAxis = fromZero("percent of the rows", 100)
	return painter.LineChart(o)
}

func curves(title string, names []string, values [][]float64) charts.LineChartOption {
	o := charts.NewLineChartOptionWithData(values)
	o.Title.Text = title
	o.Legend = legend(names)
	o.Symbol = charts.Symbol{Shape: charts.SymbolNone}
	return o
}

// small fits labels and legends into the width of a page.
var small = charts.NewFontStyleWithSize(11)

// legend is a line below the title. The library measures names in its own font; where it is missing, the page's is wider.
func legend(names []string) charts.LegendOption {
	const room = "\u2003\u2003"
	return charts.LegendOption{
		SeriesNames: strings.Split(strings.Join(names, room+"\n")+room, "\n"), FontStyle: small, Offset: charts.OffsetStr{Left: "20", Top: "30"},
	}
}

func categories(title string, labels []string) charts.CategoryAxisOption {
	return charts.CategoryAxisOption{Title: title, TitleFontStyle: small, Labels: labels, LabelCount: len(labels), LabelFontStyle: small}
}

// fromZero is an axis of values from 0 to the next round number above the most.
func fromZero(title string, most float64) []charts.ValueAxisOption {
	step := math.Pow(10, math.Floor(math.Log10(max(most, 1e-9))))
	for most/step < 4 {
		step /= 2
	}
	steps := math.Ceil(most / step)
	return []charts.ValueAxisOption{{
		Title: title, TitleFontStyle: small, LabelFontStyle: small, Min: charts.Ptr(0.0), Max: charts.Ptr(steps * step),
		RangeValuePaddingScale: charts.Ptr(0.0), LabelCount: int(steps) + 1,
	}}
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
