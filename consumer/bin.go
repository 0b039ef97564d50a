package consumer

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/landfall-dev/landfall/internal/awscall"
	"github.com/landfall-dev/landfall/internal/bounded"
)

const (
	// fullBin is how many messages SQS deletes, or hands out, by one request.
	fullBin = 10
	// deleteTimeout bounds a request, the SDK's repetitions included.
	deleteTimeout = 10 * time.Second
	// deleteTries is how often messages are to be deleted that SQS itself could not, with deletePause in between.
	deleteTries, deletePause = 3, 100 * time.Millisecond
)

// bin deletes messages, up to ten of a queue by one request. A message that it fails to delete comes back to its queue:
// the router deletes what is accepted, and a consumer works again what it has worked.
type bin struct {
	consumer *Consumer
	ctx      context.Context
	// linger is for how long a message waits for others; 0: until close.
	linger time.Duration

	mu      sync.Mutex
	waiting map[string]*waiting // by queue
	sending sync.WaitGroup
}

// waiting are handles of one queue, which wait until the timer fires.
type waiting struct {
	handles []string
	timer   *time.Timer // nil: until close
}

func (c *Consumer) newBin(ctx context.Context, linger time.Duration) *bin {
	return &bin{consumer: c, ctx: ctx, linger: linger, waiting: map[string]*waiting{}}
}

func (b *bin) add(queue, handle string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.waiting[queue]
	if w == nil {
		w = &waiting{}
		b.waiting[queue] = w
		if b.linger > 0 {
			w.timer = time.AfterFunc(b.linger, func() {
				b.mu.Lock()
				defer b.mu.Unlock()
				if b.waiting[queue] == w { // else they are deleted already, and others wait
					b.empty(queue)
				}
			})
		}
	}
	if w.handles = append(w.handles, handle); len(w.handles) == fullBin {
		b.empty(queue)
	}
}

// empty begins to delete what waits of a queue. It is called with the lock held.
func (b *bin) empty(queue string) {
	w := b.waiting[queue]
	delete(b.waiting, queue)
	if w.timer != nil {
		w.timer.Stop()
	}
	b.sending.Go(func() { b.consumer.delete(b.ctx, queue, w.handles) })
}

// close deletes the rest and waits. Nothing is added any more then.
func (b *bin) close() {
	b.mu.Lock()
	for queue := range b.waiting {
		b.empty(queue)
	}
	b.mu.Unlock()
	b.sending.Wait()
}

// delete deletes at most ten messages of a queue, and tries again what SQS itself could not do. Texts of errors quote handles,
// so that only their codes are logged.
func (c *Consumer) delete(ctx context.Context, queue string, handles []string) {
	ctx, cancel := context.WithTimeout(ctx, deleteTimeout)
	defer cancel()
	entries := make([]types.DeleteMessageBatchRequestEntry, len(handles))
	for i := range handles {
		entries[i] = types.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: &handles[i]}
	}
	for try := 1; ; try++ {
		out, err := c.queues.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: &queue, Entries: entries})
		switch {
		case err != nil:
			c.cfg.Log.WarnContext(ctx, "messages were not deleted and come back", "queue", queue, "messages", len(entries), "error", awscall.Code(err))
			return
		case len(out.Failed) == 0:
			return
		case try == deleteTries || !slices.ContainsFunc(out.Failed, byService) || !bounded.Pause(ctx, deletePause):
			c.cfg.Log.WarnContext(ctx, "messages were not deleted and come back", "queue", queue, "messages", len(out.Failed), "error", aws.ToString(out.Failed[0].Code))
			return
		}
		entries = slices.DeleteFunc(entries, func(e types.DeleteMessageBatchRequestEntry) bool {
			return !slices.ContainsFunc(out.Failed, func(f types.BatchResultErrorEntry) bool { return aws.ToString(f.Id) == *e.Id })
		})
	}
}

func byService(f types.BatchResultErrorEntry) bool { return !f.SenderFault }
