package observe

import (
	"cmp"
	"os"
	"regexp"
	"strings"
	"testing"
)

// documented reads the rows of the tables in docs/metrics.md: unit by dimension and name.
func documented(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("^\\| `(\\w+)` \\| (\\w+) \\| [^|]+ \\|")
	dimension := regexp.MustCompile("^Dimension: `(\\w+)`")
	found, of := map[string]string{}, ""
	for line := range strings.Lines(string(page)) {
		if m := dimension.FindStringSubmatch(line); m != nil {
			of = m[1]
		}
		if m := row.FindStringSubmatch(line); m != nil {
			name := of + "/" + m[1]
			if _, twice := found[name]; twice {
				t.Errorf("docs/metrics.md has two rows for %s", name)
			}
			found[name] = m[2]
		}
	}
	return found
}

func names[T any](found map[string]string, dimension string, metrics []metricOf[T]) {
	for _, m := range metrics {
		found[dimension+"/"+m.name] = cmp.Or(string(m.unit), "Count")
	}
}

func TestThePageListsEveryMetricAndNoOther(t *testing.T) {
	t.Parallel()
	page, code := documented(t), map[string]string{}
	names(code, "Destination", rowMetrics)
	names(code, "Group", messageMetrics)
	names(code, "Function", processMetrics)
	if len(code) != len(rowMetrics)+len(messageMetrics)+len(processMetrics) {
		t.Error("two metrics have the same name")
	}
	for name, unit := range code {
		if page[name] != unit {
			t.Errorf("docs/metrics.md: %s: unit %q, the code writes %q", name, page[name], unit)
		}
	}
	for name := range page {
		if _, written := code[name]; !written {
			t.Errorf("docs/metrics.md has %s, which the code does not write", name)
		}
	}
}
