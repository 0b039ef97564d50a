// Package ddb is DynamoDB: tables, items, indexes, expressions, transactions, and what each of them consumes.
//
// It follows the service's documentation and, where that is silent, its observed behaviour; docs/local-aws.md lists
// the operations and the departures. It is not a database: items live in memory and end with the process. A DB is not
// safe for concurrent use, but for Decode; package localaws guards it.
package ddb

import (
	"time"

	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
	"github.com/landfall-dev/landfall/internal/lab/localaws/ledger"
	"github.com/landfall-dev/landfall/internal/lab/localaws/streams"
	"github.com/landfall-dev/landfall/internal/lab/localaws/wire"
)

// Region is the region that tables' names (ARNs) say they are in.
const Region = "us-east-1"

const account = "000000000000"

// Options are the settings of a DB.
type Options struct {
	PartitionLimits bool // throttle what exceeds the throughput of one partition key
}

// DB is DynamoDB in one account and region. It implements wire.Service.
type DB struct {
	Streams *streams.Service // tells of changes in tables that have a stream; a service of its own

	options Options
	created int // tables, ever
	tables  map[string]*table
	tokens  tokens
}

// New makes a DB without tables.
func New(o Options) *DB {
	return &DB{
		Streams: streams.New(Region), options: o,
		tables: map[string]*table{}, tokens: tokens{byToken: map[string]*transaction{}},
	}
}

// Name is the name of the service in ledgers and fault plans.
func (db *DB) Name() string { return "dynamodb" }

// Target is what stands before the names of operations on the wire.
func (db *DB) Target() string { return "DynamoDB_20120810" }

// operation is a request that was read.
type operation struct {
	resource string
	run      func(*job) (answer any, err error)
	conflict error // how a transaction says that others are in its way
}

// job is the one run of an operation.
type job struct {
	now    time.Time
	fault  faults.Fault
	costs  []ledger.Cost       // what it consumes, whether it succeeds or not
	commit func(now time.Time) // what is left to do later, if anything
}

// Resource is the table that the operation is about.
func (o operation) Resource() string { return o.resource }

// Run does the work, unless the fault is an error.
func (o operation) Run(now time.Time, f faults.Fault) wire.Outcome {
	switch {
	case f.Error == faults.Conflict && o.conflict != nil:
		return wire.Outcome{Err: o.conflict}
	case f.Error != "":
		return wire.Outcome{Err: faulty(f.Error)}
	}
	j := &job{now: now, fault: f}
	answer, err := o.run(j)
	return wire.Outcome{Answer: answer, Err: err, Costs: j.costs, Commit: j.commit}
}

// operations are what the service can do.
var operations = wire.Operations[*DB]{
	"BatchGetItem":       wire.Reading((*DB).batchGetItem),
	"BatchWriteItem":     wire.Reading((*DB).batchWriteItem),
	"CreateTable":        wire.Reading((*DB).createTable),
	"DeleteItem":         wire.Reading(writing(remove)),
	"DeleteTable":        wire.Reading((*DB).deleteTable),
	"DescribeTable":      wire.Reading((*DB).describeTable),
	"DescribeTimeToLive": wire.Reading((*DB).describeTimeToLive),
	"GetItem":            wire.Reading((*DB).getItem),
	"ListTagsOfResource": wire.Reading((*DB).listTagsOfResource),
	"ListTables":         wire.Reading((*DB).listTables),
	"PutItem":            wire.Reading(writing(put)),
	"Query":              wire.Reading(paging(true)),
	"Scan":               wire.Reading(paging(false)),
	"TagResource":        wire.Reading((*DB).tagResource),
	"TransactGetItems":   wire.Reading((*DB).transactGetItems),
	"TransactWriteItems": wire.Reading((*DB).transactWriteItems),
	"UntagResource":      wire.Reading((*DB).untagResource),
	"UpdateItem":         wire.Reading(writing(update)),
	"UpdateTable":        wire.Reading((*DB).updateTable),
	"UpdateTimeToLive":   wire.Reading((*DB).updateTimeToLive),
}

// Decode reads and checks a request as far as that is possible without looking at tables.
func (db *DB) Decode(r *wire.Request) (wire.Operation, error) {
	op, err := operations.Decode("DynamoDB", db, r)
	return op, decodeError(err)
}

// table is the table of that name, or the service's error.
func (db *DB) table(name string) (*table, error) {
	if t := db.tables[name]; t != nil {
		return t, nil
	}
	return nil, failure("ResourceNotFoundException", "Requested resource not found")
}

func (t *table) index(name string) *index {
	for _, ix := range t.indexes {
		if ix.name == name {
			return ix
		}
	}
	return nil
}

// affordable is an error if the partition limits are on and a table's partition keys cannot give any more this second.
func (db *DB) affordable(t *table, now time.Time, charges ...charge) error {
	switch {
	case !db.options.PartitionLimits || t.spent.spend(now, charges):
		return nil
	case t.spec.onDemand():
		return throttled()
	}
	return failure("ProvisionedThroughputExceededException",
		"The level of configured provisioned throughput for the table or for one or more of its indexes was "+
			"exceeded. Consider increasing it")
}
