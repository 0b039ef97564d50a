package demo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/landfall-dev/landfall"
	"github.com/landfall-dev/landfall/internal/bounded"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/routingdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

const (
	group       = "couriers"
	courierJobs = "courier-jobs"
	// messages is how many are routed.
	messages = 240
	// routingPatience bounds the second act.
	routingPatience = 60 * time.Second
)

// queueOf is a courier's queue.
func (d *demo) queueOf(consumer string) string { return d.prefix + "-" + consumer }

// route is the second act: rows become messages for a group of couriers, one of which dies while another joins.
func (d *demo) route(ctx context.Context) (*Routing, error) {
	fmt.Fprintf(d.out, "\n%d more rows, each routed to one of three couriers: steady accepts, picky declines while it is busy, silent does not answer\n", messages)
	working, stop := context.WithCancel(ctx)
	c := &couriers{d: d, accepted: map[string][]string{}}
	defer func() { stop(); c.all.Wait() }()
	c.start(working)
	ids, err := d.putJobs(ctx)
	if err != nil {
		return nil, err
	}
	receipts := routingdb.NewReceipts(d.desk.DynamoDB("demo"), d.desk.ReceiptsTable())
	joined := false
	for begun, said := time.Now(), 0; ; {
		open, err := d.open(ctx, receipts, ids)
		if err == nil && open == 0 { // their rows are settled a little later
			open, err = d.inLane(ctx, outbox.Lane{Kind: outbox.DueLane, Destination: courierJobs})
		}
		if err != nil {
			return nil, err
		}
		if took := c.took(); !joined && took >= messages/3 {
			joined = true
			c.killPicky()
			if err := d.join(ctx, c, working); err != nil {
				return nil, err
			}
			fmt.Fprintf(d.out, "%3ds  accepted %4d of %d; picky was killed, late joined\n", d.elapsed(), took, messages)
		} else if d.elapsed() > said {
			said = d.elapsed()
			fmt.Fprintf(d.out, "%3ds  accepted %4d of %d\n", said, took, messages)
		}
		if open == 0 || time.Since(begun) > routingPatience {
			break
		}
		if !bounded.Pause(ctx, 200*time.Millisecond) {
			return nil, ctx.Err()
		}
	}
	bounded.Pause(ctx, tooLate) // until silent has been refused
	if joined {
		c.comeBack(working, messages)
	}
	stop()
	c.all.Wait()
	return d.countRouting(ctx, c, receipts, ids)
}

func (d *demo) elapsed() int { return int(time.Since(d.begun).Seconds()) }

// putJobs puts the rows and returns the ids of the messages that they become.
func (d *demo) putJobs(ctx context.Context) (ids []routing.ID, err error) {
	box, err := d.box()
	if err != nil {
		return nil, err
	}
	for i := range messages {
		p := d.payloads[i%len(d.payloads)]
		key := keyOf(p, i/len(d.payloads))
		if err := box.Put(ctx, landfall.Row{Destination: courierJobs, Key: key, Payload: p.Body}); err != nil {
			return nil, fmt.Errorf("put %s: %w", p.Name, err)
		}
		sum := sha256.Sum256([]byte(outbox.ID{Destination: courierJobs, Key: key}.PK()))
		ids = append(ids, routing.ID{Group: group, Message: hex.EncodeToString(sum[:])})
	}
	return ids, nil
}

// join adds a consumer that is not in the configuration, as a worker that comes and goes adds itself.
func (d *demo) join(ctx context.Context, c *couriers, working context.Context) error {
	name := "late"
	queue := d.queueOf(name)
	if err := d.desk.MakeQueue(ctx, queue); err != nil {
		return err
	}
	c.consume(working, name, nil)
	return routingdb.NewControl(d.desk.DynamoDB(name), d.desk.ControlTable()).Join(ctx, group, routing.Consumer{
		ID: name, Target: schema.TargetSQS + ":" + queue, LeaseUntil: time.Now().Add(time.Hour),
		ConsumerState: routing.ConsumerState{MaxInFlight: routing.Unlimited},
	}, name)
}

// open counts the messages that have not come to an end.
func (d *demo) open(ctx context.Context, receipts *routingdb.Receipts, ids []routing.ID) (n int, err error) {
	for _, id := range ids {
		receipt, err := receipts.Get(ctx, id)
		if err != nil {
			return 0, fmt.Errorf("read the receipts: %w", err)
		}
		if receipt.State != routing.Accepted && receipt.State != routing.Dead {
			n++
		}
	}
	return n, nil
}

// deadLetters is how many messages are in the group's dead-letter queue.
func (d *demo) deadLetters(ctx context.Context) (int, error) {
	url, err := d.desk.QueueURL(ctx, schema.DeadLetterQueue(d.prefix, group))
	if err != nil {
		return 0, err
	}
	n := 0
	for {
		out, err := d.desk.SQS("demo").ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 10, VisibilityTimeout: 300})
		if err != nil {
			return 0, fmt.Errorf("look for dead letters: %w", err)
		}
		if n += len(out.Messages); len(out.Messages) == 0 {
			return n, nil
		}
	}
}
