// Package lookup has the lookups, one kind a file. A lookup asks a remote once what became of a row whose outcome is
// not known, and reports what the remote said; what follows is the domain's to decide ([outbox.Resolve]).
//
// A lookup believes nothing that its configuration does not name. Whatever else comes back, however strange, is
// undecided with a code: a doubt may last, a wrong answer sends an effect twice or loses it.
//
// lookuptest is the suite that each of them passes.
package lookup
