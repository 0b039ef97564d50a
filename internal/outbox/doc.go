// Package outbox is the domain of Landfall's transactional outbox: rows and their legal
// moves, the meaning of outcomes, the dispatcher that claims, sends and settles, the reconciler that asks
// what became of unknown rows, and the orders that a person may give.
//
// It never guesses. A timeout, a lost answer or a crash in mid-send is "outcome unknown", a stored
// status with its own way out; it is neither a failure nor a reason to send again. Pure functions, each
// a table, decide what follows: [Decide] for the end of an attempt, [Examine] for a
// row that was not simply claimed, [ExamineUnknown] and [Resolve] for a row in doubt, [Obey] for a
// person's order.
//
// The package knows neither AWS nor any remote. It states the ports that it needs beside their
// users ([Store], [Sender], [Lookup], [Observer]); outboxdb, sender and observe implement them.
package outbox
