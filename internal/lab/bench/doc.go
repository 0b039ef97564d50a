// Package bench is where the figures of docs/cost.md and build/bench.json come from.
//
// The figures are counted by this package's tests and those of the functions, on the code that is deployed: by the
// local AWS's ledger, on a virtual clock; they do not depend on the machine. Only CPU is timed. The tests hold the
// figures to their bounds and docs/cost.md to the figures. [Run] runs them, as `make bench` does, and writes what they
// found as JSON, as tables, as plots.
package bench
