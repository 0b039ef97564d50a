package observe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
)

// units are those that CloudWatch knows and this package uses: none where a number is a count.
var units = []string{"", "Milliseconds", "Seconds"}

// checked parses documents by the rules of the embedded metric format and returns them. The rules
// are restated here, from the specification, rather than taken from the code.
func checked(t *testing.T, lines []byte) []map[string]any {
	t.Helper()
	var documents []map[string]any
	for line := range bytes.Lines(lines) {
		var typed struct {
			AWS struct {
				Timestamp         int64
				CloudWatchMetrics []struct {
					Namespace  string
					Dimensions [][]string
					Metrics    []struct{ Name, Unit string }
				}
			} `json:"_aws"`
		}
		var root map[string]any
		if err := json.Unmarshal(line, &typed); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if err := json.Unmarshal(line, &root); err != nil {
			t.Fatal(err)
		}
		if len(line) > 256<<10 {
			t.Errorf("document of %d bytes", len(line))
		}
		if typed.AWS.Timestamp <= 0 || len(typed.AWS.CloudWatchMetrics) == 0 {
			t.Errorf("no timestamp or no directive in %s", line)
		}
		for _, d := range typed.AWS.CloudWatchMetrics {
			within(t, "namespace", len(d.Namespace), 1, 1024)
			within(t, "metrics", len(d.Metrics), 1, 100)
			within(t, "dimension sets", len(d.Dimensions), 1, 30)
			for _, set := range d.Dimensions {
				within(t, "dimensions", len(set), 0, 30)
				for _, name := range set {
					within(t, "dimension name", len(name), 1, 250)
					value, ok := root[name].(string)
					if !ok {
						t.Errorf("dimension %s is %v", name, root[name])
					}
					within(t, "dimension value", len(value), 1, 1024)
				}
			}
			seen := make(map[string]bool)
			for _, m := range d.Metrics {
				within(t, "metric name", len(m.Name), 1, 1024)
				if seen[m.Name] || !slices.Contains(units, m.Unit) {
					t.Errorf("metric %s is there twice, or in %s", m.Name, m.Unit)
				}
				seen[m.Name] = true
				within(t, "values of "+m.Name, len(values(t, root[m.Name])), 1, 100)
			}
		}
		documents = append(documents, root)
	}
	return documents
}

func within(t *testing.T, what string, n, low, high int) {
	t.Helper()
	if n < low || n > high {
		t.Errorf("%s: %d, not within %d to %d", what, n, low, high)
	}
}

// values returns what a metric's target holds.
func values(t *testing.T, target any) []float64 {
	t.Helper()
	switch target := target.(type) {
	case float64:
		return []float64{target}
	case []any:
		var list []float64
		for _, v := range target {
			f, ok := v.(float64)
			if !ok {
				t.Errorf("value %v", v)
			}
			list = append(list, f)
		}
		return list
	}
	t.Errorf("target %v", target)
	return nil
}

// FuzzLimits: whatever is to be said, the documents are legal, say all of it, and are as few as
// possible.
func FuzzLimits(f *testing.F) {
	for _, sizes := range [][]byte{{}, {0}, {1}, {100}, {101}, {250, 0, 3}, bytes.Repeat([]byte{1}, 101), bytes.Repeat([]byte{201}, 120)} {
		f.Add(sizes)
	}
	f.Fuzz(func(t *testing.T, sizes []byte) {
		sizes = sizes[:min(len(sizes), 1000)]
		var metrics []metric
		want := make(map[string][]float64)
		least := 0
		for i, n := range sizes {
			m := metric{name: fmt.Sprintf("M%d", i), unit: milliseconds}
			for v := range int(n) {
				m.values = append(m.values, float64(i)+float64(v)/8)
			}
			metrics = append(metrics, m)
			if n > 0 {
				want[m.name] = m.values
				least = max(least, (int(n)+99)/100)
			}
		}
		d := document{namespace: "N", timestamp: 1, dimensions: []string{"D"}, members: map[string]string{"D": "d"}}
		lines, err := d.lines(metrics)
		if err != nil {
			t.Fatal(err)
		}
		documents := checked(t, lines)
		got := make(map[string][]float64)
		for _, root := range documents {
			for name, target := range root {
				if name != "_aws" && name != "D" {
					got[name] = append(got[name], values(t, target)...)
				}
			}
		}
		if len(got) != len(want) {
			t.Errorf("%d metrics, not %d", len(got), len(want))
		}
		for name, values := range want {
			if !slices.Equal(got[name], values) {
				t.Errorf("%s: %v, not %v", name, got[name], values)
			}
		}
		if len(want) <= 100 && len(documents) != least {
			t.Errorf("%d documents, %d are enough", len(documents), least)
		}
	})
}
