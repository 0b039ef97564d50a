// Package consumer accepts and works the messages that the router forwards to the consumers of a group. It accepts each
// message before the work, so that no other consumer gets it, and drops a copy whose message has moved on.
//
// Choose one of three entry points:
//
//   - [Consumer.Consume] is a loop that polls the consumer's queue.
//   - [Consumer.Lambda] is the handler of a Lambda function behind that queue.
//   - [Consumer.Accept] is one step, for a program that has a loop already.
//
// For example:
//
//	c := consumer.New(dynamodbClient, sqsClient, consumer.Config{})
//	err := c.Consume(ctx, queueURL, func(ctx context.Context, msg types.Message) error {
//		return handleOrder(ctx, consumer.MessageID(msg), msg.Body)
//	})
//
// Within a consumer, work is at least once: make it idempotent by [MessageID]. docs/routing.md describes the protocol, for
// consumers in other languages too.
package consumer
