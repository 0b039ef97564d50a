package consumer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/landfall-dev/landfall/internal/awscall"
	"github.com/landfall-dev/landfall/internal/bounded"
)

// Work handles a message. It is called concurrently, and may be called again with a message that it has worked: recognise
// it by [MessageID]. After an error or a panic the message comes back to this consumer, and to no other, when its
// visibility timeout has passed.
type Work func(ctx context.Context, msg types.Message) error

// Timing of Consume.
const (
	// polling is how long a request waits for messages; SQS allows 20 s
	// (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ReceiveMessage.html).
	polling = 20 * time.Second
	// lingering is how long a request waits for others that can share it.
	lingering = 100 * time.Millisecond
	// firstBackOff and lastBackOff bound the wait after a request for messages has failed.
	firstBackOff, lastBackOff = time.Second, 30 * time.Second
)

var errHidden = errors.New("consumer: could not extend the message's visibility timeout: another worker may have the message")

// Consume works the messages of a consumer's queue until ctx ends. It accepts each message before the work, hides it from
// other workers while the work goes on, and deletes it afterwards. It drops a copy whose message has moved on to another
// consumer. It receives no more messages than it can begin, so that none waits here until its deadline.
//
// When ctx ends, Consume receives no more, lets work that has begun finish within Config.Grace, and returns nil. It returns
// an error if the configuration is invalid or the queue does not exist. It logs and retries everything else.
func (c *Consumer) Consume(ctx context.Context, queueURL string, work Work) error {
	if err := c.cfg.validate(); err != nil {
		return err
	}
	if queueURL == "" {
		return errors.New("consumer: queueURL is empty; pass the URL of the consumer's queue")
	}
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	l := &loop{
		consumer: c, queue: queueURL, work: work, free: make(chan struct{}, c.cfg.Concurrency),
		deletions: c.newDeletions(context.WithoutCancel(ctx), lingering),
	}
	l.release(c.cfg.Concurrency)
	err := l.run(ctx, working)
	defer time.AfterFunc(c.cfg.Grace, stop).Stop()
	l.begun.Wait()
	l.deletions.close()
	return err
}

// loop is a call of Consume.
type loop struct {
	consumer  *Consumer
	queue     string
	work      Work
	deletions *deletions
	// free holds an element for each message that may be begun.
	free  chan struct{}
	begun sync.WaitGroup
}

func (l *loop) run(ctx, working context.Context) error {
	for wait := firstBackOff; ; {
		n := l.reserve(ctx)
		if n == 0 {
			return nil
		}
		messages, err := l.receive(ctx, n)
		l.release(n - len(messages))
		for _, msg := range messages {
			l.begun.Go(func() {
				defer l.release(1)
				l.handle(working, msg)
			})
		}
		var gone *types.QueueDoesNotExist
		switch {
		case err == nil:
			wait = firstBackOff
			continue
		case ctx.Err() != nil:
			return nil
		case errors.As(err, &gone):
			return fmt.Errorf("consumer: queue %s does not exist in this account and region", l.queue)
		}
		l.consumer.cfg.Log.WarnContext(ctx, "receiving messages failed", "queue", l.queue, "error", err.Error(), "again_in", wait.String())
		bounded.Pause(ctx, wait)
		wait = min(2*wait, lastBackOff)
	}
}

// reserve takes as many free places as one request can fill. It waits for one, and lingers for others, so that messages
// share requests. It returns 0 if ctx ends first.
func (l *loop) reserve(ctx context.Context) (n int) {
	if ctx.Err() != nil {
		return 0
	}
	var enough <-chan time.Time
	for n < min(maxBatch, cap(l.free)) {
		select {
		case <-l.free:
			if n++; n == 1 {
				timer := time.NewTimer(lingering)
				defer timer.Stop()
				enough = timer.C
			}
		case <-enough:
			return n
		case <-ctx.Done():
			l.release(n)
			return 0
		}
	}
	return n
}

func (l *loop) release(n int) {
	for range n {
		l.free <- struct{}{}
	}
}

func (l *loop) receive(ctx context.Context, n int) ([]types.Message, error) {
	out, err := l.consumer.queues.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: &l.queue, MaxNumberOfMessages: int32(n), WaitTimeSeconds: int32(polling / time.Second),
		VisibilityTimeout: seconds(l.consumer.cfg.Visibility), MessageAttributeNames: []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	})
	if err != nil {
		return nil, err
	}
	return out.Messages, nil
}

// handle finishes a copy while it hides it from other workers.
func (l *loop) handle(ctx context.Context, msg types.Message) {
	ctx, cancel := context.WithCancelCause(ctx)
	hiding := make(chan struct{})
	go func() {
		defer close(hiding)
		l.hide(ctx, cancel, msg)
	}()
	done := l.consumer.finish(ctx, l.deletions, msg, l.work)
	cancel(nil)
	<-hiding
	if done {
		l.deletions.add(l.queue, *msg.ReceiptHandle)
	}
}

// hide keeps a message hidden until ctx ends. If it fails for so long that another worker may have the message, it cancels
// ctx.
func (l *loop) hide(ctx context.Context, cancel context.CancelCauseFunc, msg types.Message) {
	visibility := l.consumer.cfg.Visibility
	hiddenUntil, wait := time.Now().Add(visibility), visibility/3
	for bounded.Pause(ctx, wait) {
		at := time.Now()
		err := l.hideOnce(ctx, msg)
		wait = visibility / 15 // leaves time for several tries
		switch {
		case err == nil:
			hiddenUntil, wait = at.Add(visibility), visibility/3
		case ctx.Err() == nil && !time.Now().Before(hiddenUntil):
			l.consumer.cfg.Log.WarnContext(ctx, "stopping the work: the message's visibility timeout could not be extended", "message", MessageID(msg), "error", awscall.Code(err))
			cancel(errHidden)
			return
		}
	}
}

func (l *loop) hideOnce(ctx context.Context, msg types.Message) error {
	ctx, cancel := context.WithTimeout(ctx, l.consumer.cfg.Visibility/3)
	defer cancel()
	_, err := l.consumer.queues.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{
		QueueUrl: &l.queue, ReceiptHandle: msg.ReceiptHandle, VisibilityTimeout: seconds(l.consumer.cfg.Visibility),
	})
	return err
}

func seconds(d time.Duration) int32 { return int32(d / time.Second) }
