// Package routing is the domain of Landfall's router. It decides which consumer of a group a message goes to, which consumer
// may accept it, and where it goes when no consumer accepts it in time.
//
// What becomes of a message is a stored fact, its [Receipt]: one conditional write per step, each a [Move]
// whose meaning is [Move.Apply]. One pure function, [Decide], finds the next step: receipt and event in; write, hold,
// forward and dead letter out. The [Router] takes the steps for a batch at a time and always in this order, so that it may
// die between any two of them. A routing [Function] picks the consumer; [Snapshot.Candidates] says which consumers it may
// pick.
//
// A receipt is accepted or dead in the end, never both, and it is never accepted under an attempt that the
// message has moved on from. The queue's receive count proves nothing; only the receipt does.
//
// The package must not know queues or tables. Its ports stand beside their user, [Router]. The routing functions are in
// package routefn.
package routing
