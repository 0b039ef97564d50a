package bench

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// Options of [Run].
type Options struct {
	// Report is the JSON file to write, HTML the page with tables and plots, Page the Markdown page whose tables are
	// replaced (docs/cost.md), Plots the folder for its plots. "" writes none.
	Report, HTML, Page, Plots string
	// Output gets the progress.
	Output io.Writer
}

// Benchmark is a benchmark of Go's: what one operation takes.
type Benchmark struct {
	Name  string  `json:"name"` // folder/Name
	Nanos float64 `json:"ns"`
	// CPUNanos is the process's CPU time, where the benchmark tells it apart; else Nanos.
	CPUNanos float64 `json:"cpu_ns"`
	Allocs   float64 `json:"allocs"`
	Bytes    float64 `json:"bytes"`
}

// counting and counted are the tests that count, timing the benchmarks that time: arguments of go test.
var (
	counting = []string{"-run=^TestCostOfAMessageStaysWithinItsBound$", "./functions/route"}
	counted  = []string{"-run=^TestFiguresAreWithinBoundsAndAsPublished$", "./internal/lab/bench", "-full"}
	timing   = []string{"-run=^$", "-bench=^Benchmark(Effect|Message|Start)$|^BenchmarkSelect$/^cel$", "-benchmem", "-benchtime=500ms",
		"./functions/stream", "./functions/route", "./internal/routefn", "./internal/lab/bench"}
)

// Run counts and times everything in Landfall's source tree, the current folder, and writes it where the options say. It
// takes a few minutes and needs Go. The error joins all failures, figures above their bounds among them. The files are
// written in spite of failures, unless there are no figures.
func Run(ctx context.Context, o Options) (r Report, err error) {
	var d Details
	if d.Prices, err = prices(); err != nil {
		return r, err
	}
	var failures []error
	for _, arguments := range [][]string{counting, counted, timing} {
		fmt.Fprintf(o.Output, "go test %s\n", strings.Join(arguments, " "))
		if err := d.test(ctx, o, arguments); err != nil {
			failures = append(failures, err)
		}
	}
	if len(d.Effects) == 0 || len(d.CPU) == 0 {
		return r, errors.Join(append(failures, errors.New("the tests reported no figures: nothing is written"))...)
	}
	d.Dollars = d.bills(d.Prices)
	if r, err = d.report(); err != nil {
		return r, errors.Join(append(failures, err)...)
	}
	for _, write := range []struct {
		to string
		do func(string) error
	}{
		{o.Report, r.save},
		{o.Page, func(to string) error { return fill(to, d.tables()) }},
		{o.Plots, d.savePlots},
		{o.HTML, r.saveHTML},
	} {
		if write.to == "" {
			continue
		}
		if err := write.do(write.to); err != nil {
			failures = append(failures, err)
			continue
		}
		fmt.Fprintf(o.Output, "wrote %s\n", write.to)
	}
	return r, errors.Join(failures...)
}

// test runs go test and reads the figures that it reports.
func (d *Details) test(ctx context.Context, o Options, arguments []string) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-count=1", "-v"}, arguments...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	var trouble strings.Builder
	cmd.Stderr = &trouble
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("run go test: %w", err)
	}
	parseErr := d.parse(out, func(line string) { fmt.Fprintln(o.Output, line) })
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("go test %s: %w %s", strings.Join(arguments, " "), err, trouble.String())
	}
	return parseErr
}

var (
	attrLine  = regexp.MustCompile(`^\s*=== ATTR\s+\S+ (\S+) (.*)$`)
	benchLine = regexp.MustCompile(`^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+(.*)$`)
	failLine  = regexp.MustCompile(`^\s*(--- FAIL|FAIL|panic:|[a-z]\w*_test\.go:\d+: .*(want|docs/cost\.md differs))`)
)

// parse reads figures from the output of go test -v, and passes lines about failures and benchmarks to say.
func (d *Details) parse(out io.Reader, say func(string)) (err error) {
	folder := ""
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		line := lines.Text()
		if name, ok := strings.CutPrefix(line, "pkg: "); ok {
			folder = path.Base(name)
			continue
		}
		if cpu, ok := strings.CutPrefix(line, "cpu: "); ok {
			d.Machine = cpu
		}
		if m := attrLine.FindStringSubmatch(line); m != nil {
			switch m[1] {
			case countedAttr:
				err = errors.Join(err, json.Unmarshal([]byte(m[2]), &d.Counted))
			case routedAttr:
				var r Routed
				err = errors.Join(err, json.Unmarshal([]byte(m[2]), &r))
				if d.Routed.SQSRequests == 0 || r.SQSRequests < d.Routed.SQSRequests { // the route that spreads least
					d.Routed = r
				}
			}
			continue
		}
		if m := benchLine.FindStringSubmatch(line); m != nil {
			d.CPU = append(d.CPU, benchmark(path.Join(folder, m[1]), m[2]))
			say(line)
			continue
		}
		if m := failLine.FindStringSubmatch(line); m != nil {
			say(line)
		}
	}
	if scanErr := lines.Err(); scanErr != nil {
		err = errors.Join(err, scanErr)
		_, _ = io.Copy(io.Discard, out) // or the process would block
	}
	if err != nil {
		return fmt.Errorf("read the output of go test: %w", err)
	}
	return nil
}

// benchmark reads "123 ns/op  45 B/op  6 allocs/op".
func benchmark(name, measured string) (b Benchmark) {
	b.Name = name
	fields := strings.Fields(measured)
	for i := 0; i+1 < len(fields); i += 2 {
		value, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			continue
		}
		switch fields[i+1] {
		case "ns/op":
			b.Nanos = value
		case "cpu-ns/op":
			b.CPUNanos = value
		case "allocs/op":
			b.Allocs = value
		case "B/op":
			b.Bytes = value
		}
	}
	b.CPUNanos = cmp.Or(b.CPUNanos, b.Nanos)
	return b
}
