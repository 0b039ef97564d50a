package bench

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// table is one of docs/cost.md and of the HTML page.
type table struct {
	Name string
	Head []string
	Rows [][]string
}

func (t *table) add(cells ...string) { t.Rows = append(t.Rows, cells) }

// markdown is the table as docs/cost.md has it, between its marks.
func (t table) markdown() string {
	line := func(cells []string) string { return "| " + strings.Join(cells, " | ") + " |\n" }
	text := opening(t.Name) + "\n\n" + line(t.Head) + strings.Repeat("|---", len(t.Head)) + "|\n"
	for _, cells := range t.Rows {
		text += line(cells)
	}
	return text + "\n" + closing
}

func opening(name string) string { return "<!-- make bench: " + name + " -->" }

const closing = "<!-- end -->"

// tables are those whose figures are counted: the tests compare docs/cost.md with them.
func (c Counted) tables() []table {
	units := table{Name: "units", Head: []string{
		"item, put", "bytes", "write units by itself", "in a transaction", "without gzip by itself", "in a transaction", "read units", "requests",
	}}
	for _, e := range c.Effects {
		if e.Way != Plain || !e.Gzip || e.Batch != fullBatch {
			continue
		}
		raw := c.effect(e.Name, Plain, false)
		units.add(e.Name, fmt.Sprintf("%.0f; gzip %.0f", raw.Item, e.Item), number(e.Writes()), number(c.effect(e.Name, InTransaction, true).Writes()),
			number(raw.Writes()), number(c.effect(e.Name, InTransaction, false).Writes()), number(e.Reads), number(e.Requests))
	}
	trouble := table{Name: "trouble", Head: []string{
		"a row of 1 KB, put by itself, that", "write units", "of these, of the index", "read units", "requests", "bytes logged",
	}}
	for _, e := range c.Trouble {
		trouble.add(e.Name, number(e.Writes()), number(e.IndexWrites), number(e.Reads), number(e.Requests), number(e.LogBytes))
	}
	found := table{Name: "found", Head: []string{"found by the sweep", "read units of an effect"}}
	for _, e := range c.Found {
		found.add(e.Name, number(e.Reads))
	}
	return []table{units, trouble, found}
}

// effect is one of the counted ones, in full batches; a zero one if there is none.
func (c Counted) effect(name, way string, gzip bool) Effect {
	i := slices.IndexFunc(c.Effects, func(e Effect) bool {
		return e.Name == name && e.Way == way && e.Gzip == gzip && e.Batch == fullBatch
	})
	if i < 0 {
		return Effect{}
	}
	return c.Effects[i]
}

// tables are all tables of docs/cost.md, in its order.
func (d Details) tables() []table {
	return append(d.Counted.tables(), d.dollarsTable(), d.besidesTable(), d.idleTable(), d.claimsTable(), d.linearTable(),
		d.latencyTable(), d.routedTable(), d.cpuTable())
}

// dollarsTable has a column for each bill.
func (d Details) dollarsTable() table {
	t := table{Name: "dollars", Head: []string{""}}
	total, waiting := []string{"**a million**"}, []string{"on top, while the function waits"}
	for _, b := range d.Dollars {
		t.Head = append(t.Head, b.Name)
		total = append(total, fmt.Sprintf("**$%.2f**", b.Total))
		waiting = append(waiting, fmt.Sprintf("$%.2f", b.Waiting))
	}
	for i, l := range d.Dollars[0].Lines {
		cells := []string{l.What}
		for _, b := range d.Dollars {
			cells = append(cells, fmt.Sprintf("$%.3f (%.0f %%)", b.Lines[i].Dollars, 100*b.Lines[i].Dollars/b.Total))
		}
		t.add(cells...)
	}
	t.add(total...)
	t.add(waiting...)
	return t
}

// besidesTable has what an effect of 1 KB takes besides units, alone and in full batches.
func (d Details) besidesTable() table {
	both := slices.DeleteFunc(slices.Clone(d.Effects), func(e Effect) bool { return e.Name != OneKB || e.Way != InTransaction || !e.Gzip })
	slices.SortFunc(both, func(x, y Effect) int { return cmp.Compare(x.Batch, y.Batch) })
	t := table{Name: "besides", Head: []string{"1 KB, put in a transaction", "alone", "in full batches"}}
	for _, row := range []struct {
		what string
		of   func(Effect) float64
	}{
		{"requests to DynamoDB about the row, its put among them", func(e Effect) float64 { return e.Requests }},
		{"read units, of the controls", func(e Effect) float64 { return e.ControlReads }},
		{"requests to SQS", func(e Effect) float64 { return e.SQSRequests }},
		{"invocations", func(e Effect) float64 { return e.Invocations }},
		{"ms of CPU, with the SDK", func(Effect) float64 { return d.micros(benchSDK) / 1000 }},
		{"bytes of Landfall's log lines", func(e Effect) float64 { return e.LogBytes }},
		{"bytes of metrics", func(e Effect) float64 { return e.MetricBytes }},
	} {
		cells := []string{row.what}
		for _, e := range both {
			cells = append(cells, number(row.of(e)))
		}
		t.add(cells...)
	}
	return t
}

func (d Details) idleTable() table {
	idle, more := d.Prices.month(d.Idle)
	return table{Name: "idle", Head: []string{"a month of nothing, one destination with one shard", ""}, Rows: [][]string{
		{"invocations: sweeps, and looks at rows of unknown outcome", number(d.Idle.Invocations)},
		{"read units", number(d.Idle.Reads)},
		{"bytes of metrics", number(d.Idle.MetricBytes)},
		{"CloudWatch metrics", fmt.Sprint(d.Idle.Metrics)},
		{"together", fmt.Sprintf("$%.2f", idle)},
		{fmt.Sprintf("on top, if it is busy: %d metrics more", d.Idle.BusyMetrics-d.Idle.Metrics), fmt.Sprintf("$%.2f", more)},
	}}
}

func (d Details) claimsTable() table {
	t := table{Name: "claims", Head: []string{
		"workers", "wasted claims of an effect, deployed", "of 100 effects, sent by the sweep", "read units of an effect, deployed",
		"wasted claims, all sweep the same shards", "read units",
	}}
	for i, c := range d.Deployed {
		o := d.Overlapping[i]
		t.add(fmt.Sprint(c.Workers), number(c.Wasted), number(100*float64(c.BySweep)/float64(c.Effects)), number(c.Reads), number(o.Wasted), number(o.Reads))
	}
	for _, c := range d.Stalled {
		t.add(fmt.Sprintf("%d, while the stream stalls", c.Workers), number(c.Wasted), number(100*float64(c.BySweep)/float64(c.Effects)), number(c.Reads), "", "")
	}
	return t
}

func (d Details) linearTable() table {
	t := table{Name: "linear", Head: []string{"shards and workers", "effects a second", "share of linear"}}
	for _, l := range d.Linear {
		t.add(fmt.Sprint(l.Shards), number(l.PerSecond), number(l.Share))
	}
	t.add("1, with a worker that sends 16 at a time: the partition's limit", number(d.AtLimit.PerSecond), "")
	return t
}

func (d Details) latencyTable() table {
	t := table{Name: "latency", Head: []string{"commit to send", "50 %", "90 %", "99 %", "invocations of an effect", "read units"}}
	for i, l := range []Latency{d.FastPath, d.Beside, d.Sweep} {
		t.add([]string{"the fast path", "beside a destination that hangs", "the sweep alone"}[i],
			ms(l.At[50]), ms(l.At[90]), ms(l.At[99]), number(l.Invocations), number(l.Reads))
	}
	return t
}

func (d Details) routedTable() table {
	t := table{Name: "routed", Head: []string{"a routed message, accepted by its first consumer, in full batches", ""}, Rows: [][]string{
		{"write units", number(d.Routed.Writes)},
		{"read units", number(d.Routed.Reads)},
		{"requests to SQS, together", number(d.Routed.SQSRequests)},
	}}
	for _, who := range slices.Sorted(maps.Keys(d.Routed.By)) {
		t.add("of these, "+who, number(d.Routed.By[who]))
	}
	t.add("dollars a million, units and requests", fmt.Sprintf("$%.2f",
		d.Routed.Writes*d.Prices.Write+d.Routed.Reads*d.Prices.Read+d.Routed.SQSRequests*d.Prices.SQSRequest))
	return t
}

func (d Details) cpuTable() table {
	t := table{Name: "cpu", Head: []string{"CPU", "µs", "allocations"}}
	for _, b := range d.CPU {
		allocations := number(b.Allocs)
		if strings.HasPrefix(b.Name, benchStarts) { // those would be of the benchmark itself
			allocations = ""
		}
		t.add(b.Name, number(b.CPUNanos/1000), allocations)
	}
	return t
}

// ms says a time in milliseconds, in seconds if it is long.
func ms(v float64) string {
	if v >= 10_000 {
		return fmt.Sprintf("%.0f s", v/1000)
	}
	return fmt.Sprintf("%.0f ms", v)
}

// number has three significant digits, or all that stand before the point.
func number(v float64) string {
	if v >= 1000 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// fill puts tables into a page, each between its marks.
func fill(file string, tables []table) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the page of figures: %w", err)
	}
	page := string(text)
	for _, t := range tables {
		before, rest, opened := strings.Cut(page, opening(t.Name))
		_, after, closed := strings.Cut(rest, closing)
		if !opened || !closed {
			return fmt.Errorf("%s: no place for the table %s: add a line %s and a line %s", file, t.Name, opening(t.Name), closing)
		}
		page = before + t.markdown() + after
	}
	return write(file, []byte(page))
}

//go:embed page.html
var pageHTML string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"plain": func(cell string) string { return strings.Trim(cell, "*") },
}).Parse(pageHTML))

// saveHTML writes one page that needs nothing else.
func (r Report) saveHTML(file string) error {
	all, err := r.Details.plots()
	if err != nil {
		return err
	}
	var plots []template.HTML
	for _, p := range all {
		plots = append(plots, template.HTML(p.svg)) // ours; the library escapes the texts in it
	}
	var out bytes.Buffer
	if err := page.Execute(&out, map[string]any{"Report": r, "Plots": plots, "Tables": r.Details.tables()}); err != nil {
		return fmt.Errorf("make the page: %w", err)
	}
	return write(file, out.Bytes())
}

// write writes a file, and makes its folder.
func write(file string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, content, 0o644)
}
