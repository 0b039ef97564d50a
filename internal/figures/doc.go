// Package figures is where docs/cost.md comes from: its test counts, by the local AWS's ledger, what rows cost that
// the root package puts and the dispatcher lands, and fails when a figure is above its bound or not the one in the
// document. `make figures` prints them. It measures units, not time.
package figures
