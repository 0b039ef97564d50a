// Package lookup holds the lookups, one file for each kind. A lookup asks a remote once what became of a row whose outcome
// is unknown, and reports what the remote said. What follows is the domain's decision ([outbox.Resolve]).
//
// A lookup believes only what its configuration names. Every other answer is undecided, with a code: doubt may last, but a
// wrong answer sends an effect twice or loses it.
//
// Every lookup passes the suite of package lookuptest.
package lookup
