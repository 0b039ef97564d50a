package bench

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"time"

	"github.com/landfall-dev/landfall/internal/outbox"
)

// Prices are AWS's list prices in dollars, without free tiers and discounts for volume: DynamoDB on demand in the
// standard table class, SQS's standard queues, Lambda on arm64, CloudWatch. Schedules of EventBridge, deletions by the
// table's time to live and the reads of a Lambda trigger from the table's stream are free. Lambda itself logs nothing
// about an invocation that succeeds: at the level WARN, which the stack sets, it leaves out platform.start (INFO), and
// platform.runtimeDone (DEBUG) and platform.report (INFO) of the status success
// (https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-log-level.html).
type Prices struct {
	Region     string   `json:"region"`
	Date       string   `json:"date"` // when they were looked up
	Sources    []string `json:"sources"`
	Write      float64  `json:"million_write_units"`
	Read       float64  `json:"million_read_units"`
	SQSRequest float64  `json:"million_sqs_requests"`
	Invocation float64  `json:"million_invocations"`
	GBSecond   float64  `json:"gb_second"`
	LogGB      float64  `json:"gb_logs"` // ingested; metrics come as logs
	Metric     float64  `json:"metric_month"`

	// MemoryMiB is the functions' default memory.
	MemoryMiB float64 `json:"memory_mib"`
}

//go:embed prices.json
var pricesJSON []byte

func prices() (p Prices, err error) {
	if err := json.Unmarshal(pricesJSON, &p); err != nil {
		return p, fmt.Errorf("read the prices: %w", err)
	}
	return p, nil
}

// Bill is what a million effects cost.
type Bill struct {
	Name  string `json:"name"`
	Lines []Line `json:"lines"`
	// Total is in dollars. Only that of the headline is a figure of its own.
	Total float64 `json:"usd_per_million"`
	// Waiting comes on top: Lambda bills the time in which a function waits for DynamoDB and the remote, too. It is that of
	// a remote that answers in 50 ms, four rows at a time.
	Waiting  float64 `json:"usd_waiting"`
	Headline bool    `json:"headline"`
}

// Line is a part of a bill.
type Line struct {
	What    string  `json:"what"`
	Dollars float64 `json:"usd"`
}

// wholeCPU is the memory in GB with which a function has one CPU: with less it has less of it, for longer
// (https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html).
const wholeCPU = 1769.0 / 1024

// waiting is a claim, a send and a settlement, in the model of latencies.
const waiting = 62 * time.Millisecond

// bill prices a million effects; invocations and cpuMicros are those of one effect.
func (p Prices) bill(name string, e Effect, invocations, cpuMicros float64) Bill {
	const million, gb = 1e6, 1 << 30
	b := Bill{Name: name, Lines: []Line{
		{"DynamoDB: writes of the table", e.TableWrites * p.Write},
		{"DynamoDB: writes of the index", e.IndexWrites * p.Write},
		{"DynamoDB: reads", (e.Reads + e.ControlReads) * p.Read},
		{"SQS: requests", e.SQSRequests * p.SQSRequest},
		{"Lambda: invocations", invocations * p.Invocation},
		{"Lambda: CPU", cpuMicros / million * wholeCPU * p.GBSecond * million},
		{"CloudWatch: metrics and log lines", (e.LogBytes + e.MetricBytes) * million / gb * p.LogGB},
	}}
	for _, line := range b.Lines {
		b.Total += line.Dollars
	}
	batch := max(1, e.Batch)
	rounds := float64((batch + outbox.DefaultConcurrency - 1) / outbox.DefaultConcurrency)
	b.Waiting = waiting.Seconds() * rounds / float64(batch) * p.MemoryMiB / 1024 * p.GBSecond * million
	return b
}

// month is the price of a month without rows, and the additional price of a busy month's metrics.
func (p Prices) month(i Idle) (idle, more float64) {
	const million, gb = 1e6, 1 << 30
	return i.Reads/million*p.Read + i.Invocations/million*p.Invocation + i.MetricBytes/gb*p.LogGB +
		float64(i.Metrics)*p.Metric, float64(i.BusyMetrics-i.Metrics) * p.Metric
}

// bills are those that docs/cost.md shows: of rows of 1 KB, alone and in full batches, and of rows in trouble.
func (d Details) bills(p Prices) (list []Bill) {
	cpu := d.micros(benchSDK)
	for _, way := range []string{InTransaction, Plain} {
		for _, e := range d.Effects {
			if e.Name != OneKB || e.Way != way || !e.Gzip {
				continue
			}
			name := fmt.Sprintf("1 KB, %s, %s", way, map[bool]string{true: "alone", false: "in full batches"}[e.Batch == 1])
			b := p.bill(name, e, e.Invocations, cpu)
			b.Headline = way == InTransaction && e.Batch == 1
			list = append(list, b)
		}
	}
	for _, e := range d.Trouble {
		list = append(list, p.bill("1 KB, by itself, "+e.Name, e, e.Invocations, cpu))
	}
	return list
}
