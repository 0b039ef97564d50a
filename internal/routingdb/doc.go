// Package routingdb stores what package routing needs in two DynamoDB tables: receipts and control items.
//
// A move of a receipt is one conditional write whose meaning is [routing.Move.Apply]; the conditions here are
// its rules in DynamoDB's words. The SDK repeats a write whose answer was lost, so that a failed condition is
// checked against the receipt: if it shows this very write, the write took effect.
//
// A snapshot of a group is what its owner configured, a [Spec], with what [Control] says beside it: members that
// come and go, consumers that drain, another routing function. Items of these tables that cannot be read lose
// no message: a receipt is ended so that its message is dead-lettered ([ReasonInvalid]), a member is not a
// member, and a routing function that cannot be made picks no consumer.
//
// The package knows neither queues nor routing functions: its caller passes both.
package routingdb
