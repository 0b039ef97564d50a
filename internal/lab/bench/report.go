package bench

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// Report is build/bench.json. Units are DynamoDB's write and read request units, of tables and indexes, per effect;
// an effect of "1 KB" is a row whose item has at most 1,024 bytes.
type Report struct {
	Plain1KB       float64 `json:"plain_1kb_wru"`          // put by itself
	Tx1KB          float64 `json:"tx_1kb_wru"`             // put in a transaction
	PayloadsRaw    float64 `json:"payloads_wru_raw"`       // recorded webhooks, put by themselves, not compressed
	PayloadsGzip   float64 `json:"payloads_wru_gzip"`      // the same, as the Go package puts them
	Reads          float64 `json:"rru_per_effect"`         // at 20 a second, of the fast path or, if they are more, of the sweep
	Wasted1        float64 `json:"wasted_claims_w1"`       // refused claims per effect at 1 worker, as deployed
	Wasted8        float64 `json:"wasted_claims_w8"`       //
	Wasted32       float64 `json:"wasted_claims_w32"`      //
	Linear64       float64 `json:"linear_64"`              // throughput of 64 shards / 64 times that of one
	DollarsTx1KB   float64 `json:"usd_per_million_tx_1kb"` // alone: an invocation each
	RoutedWrites   float64 `json:"routed_wru"`             // per message
	RoutedRequests float64 `json:"routed_sqs_requests"`    // of everybody, per message
	P50            float64 `json:"commit_to_send_p50_ms"`  // fast path, modelled
	P99            float64 `json:"commit_to_send_p99_ms"`  //
	CPU            float64 `json:"cpu_us_per_effect"`      // Landfall's own, without the SDK
	CPUDecision    float64 `json:"cpu_us_per_decision_cel"`

	Details Details `json:"details"`
}

// Details are all figures.
type Details struct {
	Counted
	Routed  Routed      `json:"routed"`
	CPU     []Benchmark `json:"cpu"`
	Dollars []Bill      `json:"dollars"`
	// Machine is what CPU was timed on.
	Machine string `json:"machine"`
	Prices  Prices `json:"prices"`
}

// Counted is what this package's test counts.
type Counted struct {
	Effects     []Effect `json:"effects"`
	Trouble     []Effect `json:"trouble"`
	Found       []Effect `json:"found_by_the_sweep"`
	Idle        Idle     `json:"idle"`
	Deployed    []Claims `json:"claims_deployed"`
	Stalled     []Claims `json:"claims_deployed_stream_stalls"`
	Overlapping []Claims `json:"claims_overlapping"`
	Linear      []Linear `json:"linear"`
	AtLimit     Linear   `json:"linear_at_the_limit"` // one shard, and a worker that could do more
	FastPath    Latency  `json:"latency_fast_path"`
	// Beside is the fast path's while another destination hangs.
	Beside Latency `json:"latency_beside_one_that_hangs"`
	Sweep  Latency `json:"latency_sweep"`
}

// Effect is what an effect costs in the mean, from its put to its end.
type Effect struct {
	Name string `json:"name"`
	// Item is the size of the row's item in bytes when it is put, in the mean.
	Item float64 `json:"item_bytes"`
	Way  string  `json:"way"`
	// Gzip says that payloads are compressed where that saves a unit.
	Gzip  bool `json:"gzip"`
	Batch int  `json:"batch"` // rows of an invocation

	TableWrites float64 `json:"table_wru"`
	IndexWrites float64 `json:"index_wru"`
	Reads       float64 `json:"rru"`
	// ControlReads are read units of the control table, which a busy process pays every few seconds; Reads, those of rows.
	ControlReads float64 `json:"control_rru"`
	Requests     float64 `json:"dynamodb_requests"` // about rows
	StreamReads  float64 `json:"stream_reads"`      // GetRecords of the mapping, of which those that find nothing depend on time
	SQSRequests  float64 `json:"sqs_requests"`
	Invocations  float64 `json:"invocations"`
	LogBytes     float64 `json:"log_bytes"`
	MetricBytes  float64 `json:"metric_bytes"`
}

// Writes are all write units.
func (e Effect) Writes() float64 { return e.TableWrites + e.IndexWrites }

// Idle is what one destination with one shard consumes in a month of 30 days in which nothing happens.
type Idle struct {
	Reads       float64 `json:"rru"`
	Requests    float64 `json:"dynamodb_requests"`
	Invocations float64 `json:"invocations"`
	MetricBytes float64 `json:"metric_bytes"`
	// Metrics are the time series in CloudWatch; BusyMetrics, those of a busy destination.
	Metrics     int `json:"metrics"`
	BusyMetrics int `json:"metrics_busy"`
}

// Claims is what workers do in each other's way: Wasted claims were refused, Reads are units.
type Claims struct {
	Workers int     `json:"workers"`
	Effects int     `json:"effects"`
	BySweep int     `json:"by_sweep"` // of the effects, those that the fast path did not send
	Wasted  float64 `json:"wasted_claims"`
	Reads   float64 `json:"rru"`
}

// Linear is the throughput of a destination with a worker for each shard.
type Linear struct {
	Shards    int     `json:"shards"`
	PerSecond float64 `json:"effects_per_second"`
	// Share is PerSecond by Shards times that of one shard.
	Share float64 `json:"share"`
}

// Latency is from the commit of a row to the start of its send, in ms of virtual time; At holds the percentiles 0 to 100.
type Latency struct {
	Rows int `json:"rows"`
	// Invocations that it took, by effects.
	Invocations float64   `json:"invocations"`
	Reads       float64   `json:"rru"`
	At          []float64 `json:"percentiles_ms"`
}

// Routed is what a message costs that its first consumer accepts, in full batches.
type Routed struct {
	Writes      float64            `json:"wru"`
	Reads       float64            `json:"rru"`
	SQSRequests float64            `json:"sqs_requests"` // of everybody
	By          map[string]float64 `json:"sqs_requests_by"`
	LogBytes    float64            `json:"log_bytes"`
	Invocations float64            `json:"invocations"`
}

// report puts the most wanted figures on top.
func (d Details) report() (Report, error) {
	r := Report{Details: d, RoutedWrites: d.Routed.Writes, RoutedRequests: d.Routed.SQSRequests}
	var err error
	writes := func(name, way string, gzip bool) float64 {
		e := d.effect(name, way, gzip)
		if e.Name == "" {
			err = fmt.Errorf("no figure for %s, %s, gzip %v", name, way, gzip)
		}
		return e.Writes()
	}
	r.Plain1KB, r.Tx1KB = writes(OneKB, Plain, true), writes(OneKB, InTransaction, true)
	r.PayloadsRaw, r.PayloadsGzip = writes(Webhooks, Plain, false), writes(Webhooks, Plain, true)
	for _, e := range d.Found {
		r.Reads = max(r.Reads, d.FastPath.Reads, e.Reads)
	}
	for _, c := range d.Deployed {
		switch c.Workers {
		case 1:
			r.Wasted1 = c.Wasted
		case 8:
			r.Wasted8 = c.Wasted
		case 32:
			r.Wasted32 = c.Wasted
		}
	}
	for _, l := range d.Linear {
		if l.Shards == 64 {
			r.Linear64 = l.Share
		}
	}
	if len(d.FastPath.At) == 101 {
		r.P50, r.P99 = d.FastPath.At[50], d.FastPath.At[99]
	}
	for _, b := range d.Dollars {
		if b.Headline {
			r.DollarsTx1KB = b.Total
		}
	}
	r.CPU, r.CPUDecision = d.micros(benchOwn), d.micros(benchDecision)
	return r, err
}

// Figure is one of those on top of the report.
type Figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// Figures are those on top, in their order, by their names in JSON.
func (r Report) Figures() (list []Figure) {
	v := reflect.ValueOf(r)
	for i := range v.NumField() {
		if v.Field(i).Kind() == reflect.Float64 {
			list = append(list, Figure{v.Type().Field(i).Tag.Get("json"), v.Field(i).Float()})
		}
	}
	return list
}

// micros is what a benchmark takes, 0 if it was not run.
func (d Details) micros(name string) float64 {
	for _, b := range d.CPU {
		if b.Name == name {
			return b.CPUNanos / 1000
		}
	}
	return 0
}

// save writes the report to a file.
func (r Report) save(file string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the report: %w", err)
	}
	return write(file, append(text, '\n'))
}
