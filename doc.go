// Package landfall is what an application imports to get its external effects landed: it writes rows into
// the outbox table, from which Landfall's functions send them. Workers that Landfall
// routes messages to import package consumer.
//
// A row names a destination of the configuration, an idempotency key of the application's choice, and the
// payload to send. Once a row is stored, Landfall sends it and knows what became of it: completed, failed,
// or outcome unknown until it is reconciled. Nothing here sends anything.
//
// # Putting a row
//
// [Outbox.Put] writes one row by itself. [Outbox.Item] is the same as an item of the application's own
// DynamoDB transaction, so that the effect is enqueued if and only if the application's state changes:
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
// At most one row exists per destination and key. The same row put again, by an SDK that did not hear the
// answer or by an application that crashed and starts over, finds itself and succeeds, at any stage of the
// row; other content under the same key is [ErrConflict]. So derive key, payload, NotBefore and DeliverBy
// from the command that causes the effect, never from the clock or the attempt. Trace may differ.
//
// A key is not to be used again for another effect. It becomes free when the row has ended and its
// retention is over (7 days unless the destination says otherwise, 20 or more for a routing group, which
// knows its messages for so long); from then on the same key is a new row. A remote that recognises the key
// for longer still takes that for the old effect, and does nothing.
//
// # What is not promised
//
// No order: rows are sent as they become due, several at a time, and one that is put off is overtaken.
// No exactly-once delivery by itself: that takes a remote that deduplicates on the key, or one that can be
// asked; Landfall never sends again what may have arrived at a remote that does neither.
//
// # What it costs
//
// A row of up to 1,024 bytes in all, of which about 260 are not payload, costs 5 write units from put to
// completed, 6 if it is put in a transaction; larger rows cost about 3 and 4 per further kilobyte (the put,
// the claim and the settlement each write the item once). Payloads are compressed where that saves a unit.
// In a transaction every item counts towards DynamoDB's limits: 100 items, 4 MB.
//
// # Transactions and concurrency
//
// DynamoDB does not queue writes to one item: a transaction on a row that another write is at work on is
// cancelled with the reason TransactionConflict, and a single write meets TransactionConflictException. Put
// repeats the latter by itself, with the client's own number of attempts and waits. A cancelled transaction
// is the application's to repeat; [Outbox.Committed] leaves that error as it is. Rows under different keys
// never conflict with each other.
//
// An Outbox may be used by any number of goroutines.
package landfall
