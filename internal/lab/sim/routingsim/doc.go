// Package routingsim tries to break the router. It plays worlds in which everything goes wrong that may go wrong between an
// ingress queue, the router's invocations, its receipts and the consumers, and checks what happened against the invariants
// of docs/architecture.md.
//
// One seed is one world, played on package stage: queues that deliver twice, late and again what was deleted,
// and give up by themselves what was received too often; router processes that crash and pause at any await,
// each with its own clock; forwards whose answer is lost, or that are reported as failed; consumers that
// accept late, twice or after the message has moved on, that decline, fail, die and leave; routing functions
// that crash, hang and name consumers that are not candidates; groups that change meanwhile.
//
// The judge is the law (law*.go). It sees what consumers see, what is deleted, what is dead-lettered and what
// is asked of the receipts, and states the rules in its own words.
package routingsim
