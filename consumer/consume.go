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

// Work is what an application does about a message. It runs several times at once, and may get a message again that
// it has worked: recognise it by [MessageID]. An error, or a panic, leaves the message to its visibility timeout,
// after which it is worked again, by this consumer alone.
type Work func(ctx context.Context, msg types.Message) error

// Timing of a loop.
const (
	// polling is how long a request for messages waits, at most 20 s
	// (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ReceiveMessage.html).
	polling = 20 * time.Second
	// lingering is for how long a request waits for others that could be made with it.
	lingering = 100 * time.Millisecond
	// firstBackOff and lastBackOff bound the wait after a queue that does not answer.
	firstBackOff, lastBackOff = time.Second, 30 * time.Second
)

var errHidden = errors.New("consumer: the message could not be hidden any longer from other workers")

// Consume works the messages of a consumer's queue until ctx ends: it accepts each before the work, hides it from
// other workers while the work goes on, and deletes it after. What another consumer has by now is dropped. No more
// messages are received than can be begun, so that none waits here for its deadline to pass.
//
// When ctx ends it receives no more, lets what was begun end within the Grace, and returns nil. An error is one of
// the configuration, or that there is no such queue; everything else is logged, and tried again.
func (c *Consumer) Consume(ctx context.Context, queueURL string, work Work) error {
	if err := c.cfg.validate(); err != nil {
		return err
	}
	if queueURL == "" {
		return errors.New("consumer: Consume needs the URL of a queue, and got none")
	}
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	l := &loop{consumer: c, queue: queueURL, work: work, free: make(chan struct{}, c.cfg.Concurrency), bin: c.newBin(context.WithoutCancel(ctx), lingering)}
	l.release(c.cfg.Concurrency)
	err := l.run(ctx, working)
	defer time.AfterFunc(c.cfg.Grace, stop).Stop()
	l.begun.Wait()
	l.bin.close()
	return err
}

// loop is one Consume under way.
type loop struct {
	consumer *Consumer
	queue    string
	work     Work
	bin      *bin
	// free has an element for each message that may be begun.
	free  chan struct{}
	begun sync.WaitGroup
}

func (l *loop) run(ctx, working context.Context) error {
	for wait := firstBackOff; ; {
		n := l.claim(ctx)
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
			return fmt.Errorf("consumer: there is no queue %s in this account and region", l.queue)
		}
		l.consumer.cfg.Log.WarnContext(ctx, "no messages are received", "queue", l.queue, "error", err.Error(), "again_in", wait.String())
		bounded.Pause(ctx, wait)
		wait = min(2*wait, lastBackOff)
	}
}

// claim takes as many places as one request can fill: it waits for one, and a little for others, so that not every
// message costs a request of its own. It returns 0 if ctx ends first.
func (l *loop) claim(ctx context.Context) (n int) {
	if ctx.Err() != nil {
		return 0
	}
	var enough <-chan time.Time
	for n < min(fullBin, cap(l.free)) {
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

// handle takes a copy to its end, hidden from others.
func (l *loop) handle(ctx context.Context, msg types.Message) {
	ctx, cancel := context.WithCancelCause(ctx)
	hiding := make(chan struct{})
	go func() {
		defer close(hiding)
		l.hide(ctx, cancel, msg)
	}()
	done := l.consumer.finish(ctx, l.bin, msg, l.work)
	cancel(nil)
	<-hiding
	if done {
		l.bin.add(l.queue, *msg.ReceiptHandle)
	}
}

// hide keeps a message hidden until ctx ends. If it fails for so long that others may have the message, ctx is ended.
func (l *loop) hide(ctx context.Context, cancel context.CancelCauseFunc, msg types.Message) {
	hiddenUntil, wait := time.Now().Add(l.consumer.cfg.Visibility), l.consumer.cfg.Visibility/3
	for bounded.Pause(ctx, wait) {
		at := time.Now()
		err := l.hideOnce(ctx, msg)
		wait = l.consumer.cfg.Visibility / 15 // there is time for several more
		switch {
		case err == nil:
			hiddenUntil, wait = at.Add(l.consumer.cfg.Visibility), l.consumer.cfg.Visibility/3
		case ctx.Err() == nil && !time.Now().Before(hiddenUntil):
			l.consumer.cfg.Log.WarnContext(ctx, "work is stopped: the message cannot be hidden any longer", "message", MessageID(msg), "error", awscall.Code(err))
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
