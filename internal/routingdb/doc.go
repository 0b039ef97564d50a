// Package routingdb keeps what package routing needs in AWS: receipts and control items in two DynamoDB
// tables, and how busy consumers are, from the attributes of their queues.
//
// A move of a receipt is one conditional write whose meaning is [routing.Move.Apply]; the conditions here are
// its rules in DynamoDB's words. The SDK repeats a write whose answer was lost, so that every failed condition
// is looked at once more: if the receipt shows this very write, it took effect.
//
// A snapshot of a group is what its owner configured, a [Spec], with what [Control] says beside it: members that
// come and go, consumers that drain, another routing function. Items of these tables that cannot be read lose
// no message: a receipt is ended so that its message is dead-lettered ([ReasonInvalid]), a member counts as
// none, and a routing function that cannot be made picks nobody.
//
// The package forwards nothing and knows no routing function; whoever wires it hands in both.
package routingdb
