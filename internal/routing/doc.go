// Package routing is the domain of Landfall's router: which consumer of a group a message goes to, who may
// accept it, and where it goes when nobody does in time.
//
// What becomes of a message is a stored fact, its [Receipt]: one conditional write per step, each a [Move]
// whose meaning is [Move.Apply]. What the next step is, is one pure function, [Decide]: receipt and event in,
// write, hold, forward and dead letter out. The [Router] takes the steps, for a batch at a time and always
// in this order, so that it may die between any two of them. Which consumer is picked is the business of a
// routing [Function]; who may be picked is not: see [Snapshot.Candidates].
//
// A receipt is accepted or dead in the end, never both, and it is never accepted under an attempt that the
// message has moved on from. The queue's receive count proves nothing; only the receipt does.
//
// The package knows no queue and no table. It states the ports that it needs beside their user, [Router].
// Routing functions are package routefn.
package routing
