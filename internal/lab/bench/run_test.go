package bench

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const output = `=== RUN   TestNoFigure
    === ATTR  TestNoFigure counted {"effects":[{"name":"1 KB","table_wru":3,"index_wru":2}]}
=== ATTR  TestNoMessage/least_loaded routed {"wru":2,"sqs_requests":1.1}
=== ATTR  TestNoMessage/first_with_capacity routed {"wru":2,"sqs_requests":0.8}
--- PASS: TestNoFigure (1.00s)
goos: linux
pkg: github.com/landfall-dev/landfall/functions/stream
cpu: Some CPU @ 2 GHz
BenchmarkEffect/own-2         	    9086	    425287 ns/op	     80713 cpu-ns/op	   13086 B/op	     206 allocs/op
PASS
pkg: github.com/landfall-dev/landfall/internal/routefn
BenchmarkSelect/cel/filter
BenchmarkSelect/cel/filter-2 	  100	 7000 ns/op
--- FAIL: TestOther (0.00s)
`

func TestOutputOfGoTestIsRead(t *testing.T) {
	t.Parallel()
	var d Details
	var said strings.Builder
	if err := d.parse(strings.NewReader(output), func(line string) { said.WriteString(line + "\n") }); err != nil {
		t.Fatal(err)
	}
	if len(d.Effects) != 1 || d.Effects[0].Writes() != 5 || d.Routed.SQSRequests != 0.8 || d.Machine != "Some CPU @ 2 GHz" {
		t.Errorf("%+v", d)
	}
	if own, decision := d.micros(benchOwn), d.micros(benchDecision); own != 80.713 || decision != 7 || d.CPU[0].Allocs != 206 {
		t.Errorf("%v, %v: %+v", own, decision, d.CPU)
	}
	if !strings.Contains(said.String(), "--- FAIL: TestOther") {
		t.Errorf("the failure is missing: %s", said.String())
	}
	if err := d.parse(strings.NewReader("=== ATTR  T counted {\n"), func(string) {}); err == nil {
		t.Error("unreadable figures: no error")
	}
}

func TestTablesAreFilledInBetweenTheirMarks(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "page.md")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("before\n" + opening("a") + "\nold\n" + closing + "\nbetween\n" + opening("b") + "\n" + closing + "\nafter\n")
	a, b := table{Name: "a", Head: []string{"A", ""}, Rows: [][]string{{"x", "1"}}}, table{Name: "b", Head: []string{"B"}}
	for range 2 { // the second time it changes nothing
		if err := fill(file, []table{a, b}); err != nil {
			t.Fatal(err)
		}
		want := "before\n" + opening("a") + "\n\n| A |  |\n|---|---|\n| x | 1 |\n\n" + closing +
			"\nbetween\n" + opening("b") + "\n\n| B |\n|---|\n\n" + closing + "\nafter\n"
		if page, err := os.ReadFile(file); err != nil || string(page) != want {
			t.Fatalf("%v\n%s\nwant\n%s", err, page, want)
		}
	}
	if err := fill(file, []table{{Name: "c"}}); err == nil {
		t.Error("a table without a place in the page: no error")
	}
}

func TestPlotsAreSelfContainedSVG(t *testing.T) {
	t.Parallel()
	d := Details{CPU: []Benchmark{{Name: benchSDK, CPUNanos: 400_000}}}
	d.Effects = []Effect{{Name: "1 <KB>", Way: InTransaction, Gzip: true, Batch: fullBatch, TableWrites: 4, IndexWrites: 2, MetricBytes: 300}}
	d.Effects = append(d.Effects, Effect{Name: OneKB, Way: InTransaction, Gzip: true, Batch: 1, TableWrites: 5})
	d.Deployed = []Claims{{Workers: 1}, {Workers: 64}}
	d.Overlapping = []Claims{{Workers: 1}, {Workers: 64, Wasted: 63}}
	d.FastPath.At, d.Beside.At, d.Counted.Sweep.At = make([]float64, 101), make([]float64, 101), make([]float64, 101)
	var err error
	if d.Prices, err = prices(); err != nil {
		t.Fatal(err)
	}
	d.Dollars = d.bills(d.Prices)
	d.Linear = []Linear{{Shards: 1}}
	plots, err := d.plots()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range plots {
		for decoder := xml.NewDecoder(bytes.NewReader(p.svg)); ; {
			if _, err := decoder.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v\n%s", p.name, err, p.svg)
			}
		}
		svg := strings.ReplaceAll(string(p.svg), `="http://www.w3.org/`, "") // namespaces
		if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") || strings.Contains(svg, "http") {
			t.Errorf("%s has a coordinate that is not a number, or an address outside it:\n%s", p.name, svg)
		}
	}
	again, err := d.plots()
	if err != nil || !slices.EqualFunc(plots, again, func(a, b plot) bool { return bytes.Equal(a.svg, b.svg) }) {
		t.Errorf("drawn again, the plots differ: %v", err)
	}
	file := filepath.Join(t.TempDir(), "bench.html")
	if err := (Report{Details: d}).saveHTML(file); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<th>write units by itself", "<td>a million<td>", "<svg", "&lt;KB&gt;"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the HTML page lacks %s", want)
		}
	}
}

func TestBillAddsUpAllItsLines(t *testing.T) {
	t.Parallel()
	p := Prices{Write: 1, Read: 10, SQSRequest: 100, Invocation: 1000, LogGB: 1 << 30, GBSecond: 1, MemoryMiB: 1024}
	e := Effect{Batch: 10, TableWrites: 4, IndexWrites: 2, Reads: 1, ControlReads: 1, SQSRequests: 1, LogBytes: 1, MetricBytes: 1}
	b := p.bill("all", e, 1, 1e6/wholeCPU)
	if want := 6 + 20 + 100 + 1000 + 2e6 + 1e6; b.Total != want {
		t.Errorf("$%v, want $%v: %+v", b.Total, want, b.Lines)
	}
	p.Metric = 1e6
	if idle, more := p.month(Idle{Reads: 1e6, Invocations: 1e6, MetricBytes: 1, Metrics: 1, BusyMetrics: 4}); idle != 10+1000+1+1e6 || more != 3e6 {
		t.Errorf("a month of nothing is $%v, of something $%v more", idle, more)
	}
	if want := 0.3 * 62_000; b.Waiting < want-1 || b.Waiting > want+1 {
		t.Errorf("waiting is $%v, want $%v", b.Waiting, want)
	}
}
