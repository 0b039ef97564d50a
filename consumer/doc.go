// Package consumer is what a worker of a routing group imports: it accepts each message before the work, so that no
// other consumer gets it, and drops a message that has moved on in the meantime.
//
// [Consumer.Consume] is the loop of a worker that polls its queue, [Consumer.Lambda] the handler of a function behind
// that queue, and [Consumer.Accept] the step itself, for workers that have a loop already:
//
//	worker := consumer.New(dynamodbClient, sqsClient, consumer.Config{})
//	err := worker.Consume(ctx, queueURL, func(ctx context.Context, msg types.Message) error {
//		return deliver(ctx, consumer.MessageID(msg), msg.Body)
//	})
//
// Within a consumer, work is at least once. docs/routing.md has the protocol, also for other languages.
package consumer
