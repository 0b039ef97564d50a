// Package dynamo is what the packages that keep things in DynamoDB have in common: attribute values, a
// conditional write in the making, and a reader that collects what is wrong with an item.
package dynamo
