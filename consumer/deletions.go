package consumer

import (
	"context"
	"log/slog"
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
	// maxBatch is how many messages SQS deletes or hands out in one request
	// (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_DeleteMessageBatch.html).
	maxBatch = 10
	// deleteTimeout bounds a request, the SDK's retries included.
	deleteTimeout = 10 * time.Second
	// deleteTries is how often a message is deleted that SQS failed to delete, with deletePause between two tries.
	deleteTries, deletePause = 3, 100 * time.Millisecond
)

// deletions collects messages to delete and deletes up to ten of a queue in one request. A message that it fails to
// delete comes back to its queue: the router deletes what is accepted, and a consumer works its own copy again.
type deletions struct {
	ctx    context.Context
	queues QueuesClient
	log    *slog.Logger
	// linger is how long a message waits for others; 0: until close.
	linger time.Duration

	mu      sync.Mutex
	pending map[string]*pendingDeletions // by queue
	sending sync.WaitGroup
}

// pendingDeletions are receipt handles of one queue that wait for the timer.
type pendingDeletions struct {
	handles []string
	timer   *time.Timer // nil: they wait until close
}

func (c *Consumer) newDeletions(ctx context.Context, linger time.Duration) *deletions {
	return &deletions{ctx: ctx, queues: c.queues, log: c.cfg.Log, linger: linger, pending: map[string]*pendingDeletions{}}
}

func (d *deletions) add(queue, handle string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.pending[queue]
	if p == nil {
		p = &pendingDeletions{}
		d.pending[queue] = p
		if d.linger > 0 {
			p.timer = time.AfterFunc(d.linger, func() {
				d.mu.Lock()
				defer d.mu.Unlock()
				if d.pending[queue] == p { // otherwise a full batch has been sent already
					d.send(queue)
				}
			})
		}
	}
	if p.handles = append(p.handles, handle); len(p.handles) == maxBatch {
		d.send(queue)
	}
}

// send begins to delete what is pending for a queue. The caller holds the lock.
func (d *deletions) send(queue string) {
	p := d.pending[queue]
	delete(d.pending, queue)
	if p.timer != nil {
		p.timer.Stop()
	}
	d.sending.Go(func() { deleteBatch(d.ctx, d.queues, d.log, queue, p.handles) })
}

// close deletes what is pending and waits. Nothing may be added afterwards.
func (d *deletions) close() {
	d.mu.Lock()
	for queue := range d.pending {
		d.send(queue)
	}
	d.mu.Unlock()
	d.sending.Wait()
}

// deleteBatch deletes at most ten messages of a queue and retries those that SQS failed to delete. It logs the codes of
// errors only, because their texts quote receipt handles.
func deleteBatch(ctx context.Context, queues QueuesClient, log *slog.Logger, queue string, handles []string) {
	ctx, cancel := context.WithTimeout(ctx, deleteTimeout)
	defer cancel()
	entries := make([]types.DeleteMessageBatchRequestEntry, len(handles))
	for i := range handles {
		entries[i] = types.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: &handles[i]}
	}
	notDeleted := func(n int, code string) {
		log.WarnContext(ctx, "messages were not deleted and come back", "queue", queue, "messages", n, "error", code)
	}
	for try := 1; ; try++ {
		out, err := queues.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: &queue, Entries: entries})
		switch {
		case err != nil:
			notDeleted(len(entries), awscall.Code(err))
			return
		case len(out.Failed) == 0:
			return
		case try == deleteTries || !slices.ContainsFunc(out.Failed, failedBySQS) || !bounded.Pause(ctx, deletePause):
			notDeleted(len(out.Failed), aws.ToString(out.Failed[0].Code))
			return
		}
		entries = slices.DeleteFunc(entries, func(e types.DeleteMessageBatchRequestEntry) bool {
			return !slices.ContainsFunc(out.Failed, func(f types.BatchResultErrorEntry) bool { return aws.ToString(f.Id) == *e.Id })
		})
	}
}

func failedBySQS(f types.BatchResultErrorEntry) bool { return !f.SenderFault }
