package observe

import (
	"encoding/json"
	"fmt"
)

// Limits of the embedded metric format, per document
// (https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html).
const (
	maxMetrics = 100 // definitions in a directive
	maxValues  = 100 // values of one metric
)

// unit is a CloudWatch unit.
type unit string

const (
	count        unit = "" // a count needs none, and each byte of a line costs money
	milliseconds unit = "Milliseconds"
	seconds      unit = "Seconds"
)

// metric is a metric with everything that was measured: one value, or as many as there were events.
type metric struct {
	name   string
	unit   unit
	values []float64
}

// metricOf is a metric before anything was measured: it takes its values from the totals of an invocation.
type metricOf[Totals any] struct {
	name   string
	unit   unit
	values func(*Totals) []float64
}

// measured returns the metrics with their values.
func measured[Totals any](definitions []metricOf[Totals], totals *Totals) []metric {
	list := make([]metric, len(definitions))
	for i, d := range definitions {
		list[i] = metric{d.name, d.unit, d.values(totals)}
	}
	return list
}

// counter is the value of a counter. It is left out when it is 0, because every metric costs money.
func counter(n int) []float64 {
	if n == 0 {
		return nil
	}
	return []float64{float64(n)}
}

// definition introduces a metric in a document.
type definition struct {
	Name string
	Unit unit `json:",omitempty"`
}

// directive tells CloudWatch which metrics to extract from a document.
type directive struct {
	Namespace  string
	Dimensions [][]string
	Metrics    []definition
}

// document is what the documents of a set of metrics have in common.
type document struct {
	namespace  string
	timestamp  int64 // epoch ms
	dimensions []string
	members    map[string]string // the dimensions' values, and other members for readers of the log
}

// lines returns the metrics as JSON documents, one per line, as few as the limits allow. No value is left out or rounded
// to make it fit.
func (d document) lines(metrics []metric) ([]byte, error) {
	var out []byte
	for len(metrics) > 0 {
		var now, rest []metric
		for _, m := range metrics {
			switch {
			case len(m.values) == 0:
				continue
			case len(now) == maxMetrics:
				rest = append(rest, m)
				continue
			}
			n := min(len(m.values), maxValues)
			now = append(now, metric{m.name, m.unit, m.values[:n]})
			if n < len(m.values) {
				rest = append(rest, metric{m.name, m.unit, m.values[n:]})
			}
		}
		if len(now) == 0 {
			break
		}
		line, err := d.line(now)
		if err != nil {
			return nil, err
		}
		out = append(append(out, line...), '\n')
		metrics = rest
	}
	return out, nil
}

// line returns one document; the metrics are within the limits.
func (d document) line(metrics []metric) ([]byte, error) {
	root := make(map[string]any, len(metrics)+len(d.members)+1)
	for name, value := range d.members {
		root[name] = value
	}
	definitions := make([]definition, len(metrics))
	for i, m := range metrics {
		definitions[i] = definition{m.name, m.unit}
		root[m.name] = m.values
		if len(m.values) == 1 {
			root[m.name] = m.values[0]
		}
	}
	root["_aws"] = map[string]any{
		"Timestamp":         d.timestamp,
		"CloudWatchMetrics": []directive{{d.namespace, [][]string{d.dimensions}, definitions}},
	}
	line, err := json.Marshal(root)
	if err != nil {
		return nil, fmt.Errorf("encode metrics: %w", err)
	}
	return line, nil
}
