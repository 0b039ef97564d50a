// Package landfall writes rows into the outbox table. Landfall's functions send them and record what became
// of each. An application imports it to cause effects outside its database. The package sends nothing itself.
// Workers that Landfall routes messages to import package consumer.
//
// A row names a destination of the configuration, an idempotency key of the application's choice, and the
// payload to send. Landfall sends a stored row and knows its outcome: completed, failed, or unknown until it
// is reconciled.
//
// # Putting a row
//
// [Outbox.Put] writes one row without a transaction. [Outbox.Item] returns the row as an item of the application's own
// DynamoDB transaction, so that the row exists if and only if the application's state changes:
//
//	cfg, err := landfall.LoadConfig("landfall.json")
//	box := landfall.New(client, cfg)
//	row, err := box.Item(landfall.Row{Destination: "charge", Key: "order-42", Payload: body})
//	items := []types.TransactWriteItem{order, row}
//	_, err = client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: items})
//	err = box.Committed(items, err)
//
// # Keys
//
// At most one row exists per destination and key. Putting the same row again finds the row and succeeds, at
// any stage of the row. So an SDK may retry after a lost answer, and an application may start over after a
// crash. Other content under the same key is [ErrConflict].
//
// Derive Key, Payload, NotBefore and DeliverBy from the command that causes the effect, never from the clock
// or the attempt. Trace may differ.
//
// Do not use a key again for another effect. A key becomes free when its row has ended and its retention is
// over: 7 days unless the destination says otherwise, at least 20 for a routing group. After that the same key
// makes a new row. A remote that still recognises the key takes the new row for the old effect and does
// nothing.
//
// # What is not promised
//
// Landfall promises no order. It sends rows as they become due, several at a time, and a row that is put off
// is overtaken.
//
// Landfall alone cannot deliver exactly once. That takes a remote that deduplicates on the key or that answers
// lookups. For any other remote, Landfall never sends again what may have arrived.
//
// # What it costs
//
// A row of up to 1,024 bytes, of which about 260 are not payload, costs 5 write units from put to completed. In
// a transaction it costs 6. Each further kilobyte costs about 3 units, or 4 in a transaction, because the put,
// the claim and the settlement each write the item once. The package compresses a payload if that saves a unit.
// In a transaction every item counts towards DynamoDB's limits: 100 items, 4 MB.
//
// # Transactions and concurrency
//
// DynamoDB does not queue writes to one item. It cancels a transaction on a row that another write is changing,
// with the reason TransactionConflict. It refuses a single write with TransactionConflictException. Put retries
// the single write, with the client's own number of attempts and waits. The application retries a cancelled
// transaction; [Outbox.Committed] returns that error unchanged. Rows under different keys never conflict.
//
// An Outbox may be used by any number of goroutines.
package landfall
