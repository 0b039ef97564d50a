package routesqs

import "sync"

// Limits of a batch (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html).
const (
	maxBatch      = 10
	maxBatchBytes = 1 << 20
)

// atOnce is how many requests go out at a time.
const atOnce = 16

// chunks does something about messages, as many at a time as a batch of one queue may have, several batches at once.
// A chunk holds indexes of messages.
func chunks[M any](messages []M, of func(M) (queue string, bytes int), do func(queue string, chunk []int)) {
	type batch struct {
		queue string
		chunk []int
		bytes int
	}
	var all []*batch
	open := map[string]*batch{} // by queue
	for i, m := range messages {
		queue, bytes := of(m)
		b := open[queue]
		if b == nil || len(b.chunk) == maxBatch || b.bytes+bytes > maxBatchBytes {
			b = &batch{queue: queue}
			open[queue], all = b, append(all, b)
		}
		b.chunk, b.bytes = append(b.chunk, i), b.bytes+bytes
	}
	slots := make(chan struct{}, atOnce)
	var done sync.WaitGroup
	for _, b := range all {
		slots <- struct{}{}
		done.Go(func() {
			defer func() { <-slots }()
			do(b.queue, b.chunk)
		})
	}
	done.Wait()
}
