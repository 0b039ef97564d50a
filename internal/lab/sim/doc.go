// Package sim tries to break the outbox: it plays worlds in which everything goes wrong that may go
// wrong, and holds what happened against the invariants of the design.
//
// One seed is one world: processes that sweep and reconcile, of two versions at once, each with its own
// clock, crashing and pausing at any await; a table whose answers are lost, late, repeated or stale; a
// remote that loses requests and answers, works late, answers nonsense, and deduplicates for as long as
// it promised; people who resolve, retry and cancel; configurations that change meanwhile. All of it
// runs on the virtual clock of a testing/synctest bubble. The same seed makes the same world, event by
// event; see package stage, on which it is played.
//
// The judge is the law (law*.go): it watches every change of a row, every request that leaves and the
// remote's own log, and says by name which invariant is violated. It states the design's rules in its
// own words and numbers and calls none of the domain's decisions, so that a mistake there is not repeated here.
// Package main in mutants proves that it would notice.
package sim
