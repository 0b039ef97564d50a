package bench

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// tables are the tables of docs/cost.md that the tests hold to the figures, by name: nothing in them is timed.
func (c Counted) tables() map[string]string {
	units := header("item, put", "bytes", "write units by itself", "in a transaction", "without gzip by itself", "in a transaction", "read units", "requests")
	for _, e := range c.Effects {
		if e.Way != Plain || !e.Gzip || e.Batch != fullBatch {
			continue
		}
		raw := c.effect(e.Name, Plain, false)
		units += line(e.Name, fmt.Sprintf("%.0f; gzip %.0f", raw.Item, e.Item), number(e.Writes()), number(c.effect(e.Name, InTransaction, true).Writes()),
			number(raw.Writes()), number(c.effect(e.Name, InTransaction, false).Writes()), number(e.Reads), number(e.Requests))
	}
	trouble := header("a row of 1 KB, put by itself, that", "write units", "of these, of the index", "read units", "requests", "bytes logged")
	for _, e := range c.Trouble {
		trouble += line(e.Name, number(e.Writes()), number(e.IndexWrites), number(e.Reads), number(e.Requests), number(e.LogBytes))
	}
	found := header("found by the sweep", "read units of an effect")
	for _, e := range c.Found {
		found += line(e.Name, number(e.Reads))
	}
	return map[string]string{"units": units, "trouble": trouble, "found": found}
}

// effect is one of the counted ones, in full batches.
func (c Counted) effect(name, way string, gzip bool) Effect {
	i := slices.IndexFunc(c.Effects, func(e Effect) bool {
		return e.Name == name && e.Way == way && e.Gzip == gzip && e.Batch == fullBatch
	})
	if i < 0 {
		return Effect{}
	}
	return c.Effects[i]
}

// tables are all tables of docs/cost.md.
func (d Details) tables() map[string]string {
	all := d.Counted.tables()
	dollars := "|"
	for _, b := range d.Dollars {
		dollars += " | " + b.Name
	}
	dollars += " |\n" + strings.Repeat("|---", len(d.Dollars)+1) + "|\n"
	for i := range d.Dollars[0].Lines {
		cells := []string{d.Dollars[0].Lines[i].What}
		for _, b := range d.Dollars {
			cells = append(cells, fmt.Sprintf("$%.3f (%.0f %%)", b.Lines[i].Dollars, 100*b.Lines[i].Dollars/b.Total))
		}
		dollars += line(cells...)
	}
	cells := []string{"**a million**"}
	for _, b := range d.Dollars {
		cells = append(cells, fmt.Sprintf("**$%.2f**", b.Total))
	}
	dollars += line(cells...)
	cells = []string{"on top, while the function waits"}
	for _, b := range d.Dollars {
		cells = append(cells, fmt.Sprintf("$%.2f", b.Waiting))
	}
	all["dollars"] = dollars + line(cells...)

	all["besides"] = d.besides()
	idle, more := d.Prices.month(d.Idle)
	all["idle"] = header("a month of nothing, one destination with one shard", "") +
		line("sweeps and looks at the rows in doubt: invocations", number(d.Idle.Invocations)) +
		line("read units", number(d.Idle.Reads)) + line("bytes of metrics", number(d.Idle.MetricBytes)) +
		line("metrics of CloudWatch", fmt.Sprint(d.Idle.Metrics)) + line("together", fmt.Sprintf("$%.2f", idle)) +
		line(fmt.Sprintf("on top, if it is busy: %d metrics more", d.Idle.BusyMetrics-d.Idle.Metrics), fmt.Sprintf("$%.2f", more))

	claims := header("workers", "wasted claims of an effect, deployed", "of 100 effects, sent by the sweep", "read units of an effect, deployed",
		"wasted claims, all sweep the same shards", "read units")
	for i, c := range d.Deployed {
		o := d.Overlapping[i]
		claims += line(fmt.Sprint(c.Workers), number(c.Wasted), number(100*float64(c.BySweep)/float64(c.Effects)), number(c.Reads), number(o.Wasted), number(o.Reads))
	}
	for _, c := range d.Stalled {
		claims += line(fmt.Sprintf("%d, while the stream stalls", c.Workers), number(c.Wasted), number(100*float64(c.BySweep)/float64(c.Effects)), number(c.Reads), "", "")
	}
	all["claims"] = claims

	linear := header("shards and workers", "effects a second", "share of linear")
	for _, l := range d.Linear {
		linear += line(fmt.Sprint(l.Shards), number(l.PerSecond), number(l.Share))
	}
	all["linear"] = linear + line("1, with a worker that sends 16 at a time: the partition's limit", number(d.AtLimit.PerSecond), "")

	latency := header("commit to send", "50 %", "90 %", "99 %", "invocations of an effect", "read units")
	for i, l := range []Latency{d.FastPath, d.Beside, d.Sweep} {
		latency += line([]string{"the fast path", "beside a destination that hangs", "the sweep alone"}[i], ms(l.At[50]), ms(l.At[90]), ms(l.At[99]), number(l.Invocations), number(l.Reads))
	}
	all["latency"] = latency

	routed := header("a routed message, accepted by its first consumer, in full batches", "")
	routed += line("write units", number(d.Routed.Writes)) + line("read units", number(d.Routed.Reads)) +
		line("requests to SQS, of everybody", number(d.Routed.SQSRequests))
	for _, who := range slices.Sorted(maps.Keys(d.Routed.By)) {
		routed += line("of these, "+who, number(d.Routed.By[who]))
	}
	all["routed"] = routed + line("dollars a million, units and requests", fmt.Sprintf("$%.2f",
		d.Routed.Writes*d.Prices.Write+d.Routed.Reads*d.Prices.Read+d.Routed.SQSRequests*d.Prices.SQSRequest))

	cpu := header("CPU", "µs", "allocations")
	for _, b := range d.CPU {
		allocations := number(b.Allocs)
		if strings.HasPrefix(b.Name, benchStarts) { // those would be of the benchmark itself
			allocations = ""
		}
		cpu += line(b.Name, number(b.CPUNanos/1000), allocations)
	}
	all["cpu"] = cpu
	return all
}

// besides is what an effect of 1 KB takes besides units, alone and in full batches.
func (d Details) besides() string {
	both := slices.DeleteFunc(slices.Clone(d.Effects), func(e Effect) bool { return e.Name != OneKB || e.Way != InTransaction || !e.Gzip })
	slices.SortFunc(both, func(x, y Effect) int { return cmp.Compare(x.Batch, y.Batch) })
	table := header("1 KB, put in a transaction", "alone", "in full batches")
	for _, row := range []struct {
		what string
		of   func(Effect) float64
	}{
		{"requests to DynamoDB about the row, its put among them", func(e Effect) float64 { return e.Requests }},
		{"read units, of what may be sent where", func(e Effect) float64 { return e.ControlReads }},
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
		table += line(cells...)
	}
	return table
}

func header(cells ...string) string {
	return line(cells...) + strings.Repeat("|---", len(cells)) + "|\n"
}

func line(cells ...string) string { return "| " + strings.Join(cells, " | ") + " |\n" }

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

// between is a table between its marks in the page.
func between(name, table string) string {
	return opening(name) + "\n\n" + table + "\n" + closing
}

func opening(name string) string { return "<!-- make bench: " + name + " -->" }

const closing = "<!-- end -->"

// fill puts tables into a page, each between its marks.
func fill(file string, tables map[string]string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the page of figures: %w", err)
	}
	page := string(text)
	for name, table := range tables {
		before, rest, opened := strings.Cut(page, opening(name))
		_, after, closed := strings.Cut(rest, closing)
		if !opened || !closed {
			return fmt.Errorf("%s: no place for %s: want %s ... %s", file, name, opening(name), closing)
		}
		page = before + between(name, table) + after
	}
	if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
		return fmt.Errorf("write the page of figures: %w", err)
	}
	return nil
}
