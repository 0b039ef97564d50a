package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/landfall-dev/landfall/consumer"
	"github.com/landfall-dev/landfall/internal/bounded"
)

// How the couriers work.
const (
	// workTakes is how long a courier works on a message, pickyTakes how long picky does.
	workTakes  = 30 * time.Millisecond
	pickyTakes = 200 * time.Millisecond
	// busyWith is how many messages picky works on before it declines more.
	busyWith = 2
	// tooLate is when silent tries to accept after all: its time is long over.
	tooLate = 4 * time.Second
	// hidden is for how long a copy is hidden from other workers of the same consumer.
	hidden = 5 * time.Second
)

// couriers are the consumers of the group and what they saw.
type couriers struct {
	d   *demo
	all sync.WaitGroup
	// killPicky ends picky as a crash would: its messages stay as they are.
	killPicky context.CancelFunc

	mu sync.Mutex
	// accepted are the consumers that accepted a message, as they saw it, by message id.
	accepted map[string][]string
	declined int
	// refused counts acceptances that came too late.
	refused  int
	problems []string
}

// start starts the consumers of the configuration; they end when ctx does.
func (c *couriers) start(ctx context.Context) {
	mortal, kill := context.WithCancel(ctx)
	c.killPicky = kill
	c.consume(ctx, "steady", nil)
	var working atomic.Int32
	c.consume(mortal, "picky", &working)
	c.all.Go(func() { c.beSilent(ctx, "silent") })
}

// consumer is a worker's client of Landfall.
func (c *couriers) consumer(name string, busy func(context.Context, types.Message) bool) *consumer.Consumer {
	return consumer.New(c.d.desk.DynamoDB(name), c.d.desk.SQS(name), consumer.Config{
		Busy: busy, Grace: time.Millisecond, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		QueuePrefix: c.d.prefix, ReceiptsTable: c.d.desk.ReceiptsTable(), Visibility: hidden,
	})
}

// consume starts a worker that accepts, works and deletes. With working, it declines while it is busy.
func (c *couriers) consume(ctx context.Context, name string, working *atomic.Int32) {
	var busy func(context.Context, types.Message) bool
	if working != nil {
		busy = func(context.Context, types.Message) bool {
			if working.Load() < busyWith {
				return false
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			c.declined++
			return true
		}
	}
	worker := c.consumer(name, busy)
	c.all.Go(func() {
		url, err := c.d.desk.QueueURL(ctx, c.d.queueOf(name))
		if err == nil {
			err = worker.Consume(ctx, url, func(ctx context.Context, msg types.Message) error {
				c.accepts(name, msg)
				takes := workTakes
				if working != nil {
					takes = pickyTakes
					working.Add(1)
					defer working.Add(-1)
				}
				bounded.Pause(ctx, takes)
				return ctx.Err()
			})
		}
		if err != nil && ctx.Err() == nil {
			c.objects(fmt.Sprintf("consumer %s: %v", name, err))
		}
	})
}

// comeBack restarts picky, whose queue shows again what it had accepted when it was killed: its acceptance may have been
// written without picky learning so. It returns once the consumers know of n acceptances, or after a while.
func (c *couriers) comeBack(ctx context.Context, n int) {
	c.consume(ctx, "picky", nil)
	ctx, cancel := context.WithTimeout(ctx, 4*hidden)
	defer cancel()
	for c.took() < n && bounded.Pause(ctx, 50*time.Millisecond) {
	}
}

// beSilent receives messages and tries to accept each one long after its deadline.
func (c *couriers) beSilent(ctx context.Context, name string) {
	queue, worker := c.d.desk.SQS(name), c.consumer(name, nil)
	url, err := c.d.desk.QueueURL(ctx, c.d.queueOf(name))
	if err != nil {
		c.objects(fmt.Sprintf("consumer %s: %v", name, err))
		return
	}
	for ctx.Err() == nil {
		out, err := queue.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
			QueueUrl: &url, MaxNumberOfMessages: 10, WaitTimeSeconds: 1, VisibilityTimeout: 60, MessageAttributeNames: []string{"All"},
		})
		if err != nil {
			bounded.Pause(ctx, 100*time.Millisecond)
			continue
		}
		for _, msg := range out.Messages {
			c.all.Go(func() {
				if !bounded.Pause(ctx, tooLate) {
					return
				}
				switch err := worker.Accept(ctx, msg); {
				case err == nil:
					c.accepts(name, msg)
				case errors.Is(err, consumer.ErrStale):
					c.mu.Lock()
					c.refused++
					c.mu.Unlock()
				}
			})
		}
	}
}

// accepts notes an acceptance that a consumer learnt of. It may learn of the same one twice.
func (c *couriers) accepts(name string, msg types.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if by := c.accepted[consumer.MessageID(msg)]; !slices.Contains(by, name) {
		c.accepted[consumer.MessageID(msg)] = append(by, name)
	}
}

func (c *couriers) objects(problem string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.problems = append(c.problems, problem)
}

// took is how many messages were accepted, as far as consumers know.
func (c *couriers) took() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.accepted)
}
