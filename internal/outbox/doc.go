// Package outbox is the domain of Landfall's transactional outbox: what a row is, who may move it
// where, what an outcome means, and the dispatcher that claims, sends and settles.
//
// It never guesses. A timeout, a lost answer or a crash in mid-send is "outcome unknown", a stored
// status with its own way out; it is neither a failure nor a reason to send again. What may follow
// what is decided by three pure functions, each a table: [Decide] for the end of an attempt,
// [Examine] for a row that refused a claim, [Overdue] for a claim whose holder is gone.
//
// The package knows neither AWS nor any remote. It states the ports that it needs beside their
// users ([Store], [Sender], [Observer]); outboxdb, sender and observe implement them.
package outbox
