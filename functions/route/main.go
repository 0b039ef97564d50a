// Route is the router: event source mappings of the groups' ingress queues start it with a batch of messages, it
// hands each to a consumer, and reports those that must stay in their queue.
//
// A mapping must have ReportBatchItemFailures on, or everything would be deleted. An ingress queue is a standard
// queue whose visibility timeout is longer than the function's timeout.
package main

import "github.com/landfall-dev/landfall/functions/internal/setup"

func main() {
	setup.Start("route", setup.LoadRouting, func(f *setup.Routing) any { return (&handler{f}).handle })
}
