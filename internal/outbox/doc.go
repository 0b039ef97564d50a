// Package outbox is the domain of Landfall's transactional outbox: what a row is, who may move it
// where, what an outcome means, the dispatcher that claims, sends and settles, the reconciler that asks
// what became of the unknown, and what a person may order.
//
// It never guesses. A timeout, a lost answer or a crash in mid-send is "outcome unknown", a stored
// status with its own way out; it is neither a failure nor a reason to send again. What may follow
// what is decided by pure functions, each a table: [Decide] for the end of an attempt, [Examine] for a
// row that was not simply claimed, [ExamineUnknown] and [Resolve] for a row in doubt, [Obey] for a
// person's order.
//
// The package knows neither AWS nor any remote. It states the ports that it needs beside their
// users ([Store], [Sender], [Lookup], [Observer]); outboxdb, sender and observe implement them.
package outbox
