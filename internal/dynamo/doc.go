// Package dynamo holds what the packages that store items in DynamoDB share: attribute values, a
// conditional write in the making, and a reader that collects what is wrong with an item.
package dynamo
