// Package bench makes the figures of docs/cost.md and build/bench.json.
//
// This package's tests and those of the functions count them on the deployed code, by the local AWS's ledger and on a
// virtual clock; they do not depend on the machine. Only CPU is timed. The tests check that the figures keep their bounds
// and that docs/cost.md has them. [Run] runs the tests, as `make bench` does, and writes the figures as JSON, tables and
// plots.
package bench
