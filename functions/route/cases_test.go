package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/landfall-dev/landfall/functions/internal/setup"
	"github.com/landfall-dev/landfall/internal/config/yamlconfig"
	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/routingdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

// work lets a consumer accept, or decline, what is in its queue, and returns how many attempts it could: copies of one
// that it was given twice are granted again.
func (b *bench) work(queue string, kind routing.MoveKind) (done int) {
	b.Helper()
	for all := b.envelopes(queue); len(all) > 0; all = b.envelopes(queue) {
		for _, e := range all {
			m := routing.AcceptMove(e.ID, e.Attempt, e.Token, time.Now())
			m.Kind = kind
			_, err := b.receipts.Write(b.Context(), m)
			var refused *routing.RefusedError
			if errors.As(err, &refused) {
				continue
			} else if err != nil {
				b.Fatal(err)
			}
			if attempt := fmt.Sprint(e.ID, e.Attempt); !b.granted[attempt] {
				b.granted[attempt] = true
				done++
			}
			if kind == routing.Decline {
				_, err = b.sqs.ChangeMessageVisibility(b.Context(), &sqs.ChangeMessageVisibilityInput{QueueUrl: b.url(ingress), ReceiptHandle: &e.Handle})
			} else {
				_, err = b.sqs.DeleteMessage(b.Context(), &sqs.DeleteMessageInput{QueueUrl: b.url(ingress), ReceiptHandle: &e.Handle})
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	return done
}

var onDelivery = strings.Replace(couriers, "explicit", "on_delivery", 1)

// TestBatchReportsOnlyItsUnfinishedMessage (case Q5): the others are deleted.
func TestBatchReportsOnlyItsUnfinishedMessage(t *testing.T) {
	inBubble(t, onDelivery, func(b *bench) {
		b.fault = func(r faults.Request) faults.Fault {
			if r.Operation == "SendMessageBatch" {
				return faults.Fault{Unprocessed: 1}
			}
			return faults.Fault{}
		}
		ids := b.send("1", "2", "3", "4")
		if n, kept := b.invoke(); n != 4 || len(kept) != 1 || !kept[ids[3]] || b.depth(ingress) != 1 {
			b.Errorf("%d received, kept %v, %d left", n, kept, b.depth(ingress))
		}
	})
}

// TestDeclinedMessageMovesOnAtOnce (case Q20): a decline, a queue that is gone, a function that fails or cannot be
// called: each reroutes at once.
func TestDeclinedMessageMovesOnAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		yaml string
		no   func(b *bench)
		end  routing.End
	}{
		"it declines": {couriers, func(b *bench) {
			if n := b.work("north", routing.Decline); n != 1 {
				b.Errorf("%d declined", n)
			}
		}, routing.EndDeclined},
		"its queue is gone": {strings.Replace(couriers, "sqs: north", "sqs: nowhere", 1), func(*bench) {}, routing.EndRefused},
		"it fails":          {strings.Replace(couriers, "sqs: north", "lambda: fails", 1), func(*bench) {}, routing.EndErrored},
		"it is not started": {strings.Replace(couriers, "sqs: north", "lambda: missing", 1), func(*bench) {}, routing.EndRefused},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, c.yaml, func(b *bench) {
				b.setup.Router.Forwarder = b.withFunctions(c.yaml)
				ids := b.send("hello")
				start := time.Now()
				b.invoke()
				c.no(b)
				b.invoke()
				if n := b.work("south", routing.Accept); n != 1 || time.Since(start) > time.Second {
					b.Errorf("%d accepted after %v\n%s", n, time.Since(start), b.log)
				}
				if past := b.receipt(ids[0]).History; len(past) != 1 || past[0].End != c.end {
					b.Errorf("history %+v", past)
				}
			})
		})
	}
}

// withFunctions is a forwarder whose functions fail, or are not there, by their names.
func (b *bench) withFunctions(yaml string) routing.Forwarder {
	b.Helper()
	cfg, err := yamlconfig.Parse("landfall.yaml", []byte(yaml))
	if err != nil {
		b.Fatal(err)
	}
	r, err := setup.NewRouting(cfg, setup.Clients{SQS: sqs.NewFromConfig(b.account.Config("route")), Lambda: functions{b}}, b.setup.Logger)
	if err != nil {
		b.Fatal(err)
	}
	return r.Router.Forwarder
}

type functions struct{ *bench }

func (f functions) Invoke(ctx context.Context, name string, _ []byte) ([]byte, string, error) {
	if name == "fails" {
		return []byte(`{"errorMessage": "it says secret"}`), "Unhandled", nil
	}
	_, err := f.sqs.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String("missing")}) // an answer of class 4xx
	return nil, "", err
}

// TestForwardToAnIngressQueueIsRefused (case Q15): a consumer whose target is an ingress queue gets no message.
func TestForwardToAnIngressQueueIsRefused(t *testing.T) {
	for _, target := range []string{ingress, "arn:aws:sqs:us-east-1:000000000000:" + ingress} {
		t.Run(target, func(t *testing.T) {
			inBubble(t, couriers, func(b *bench) {
				control := b.setup.Router.Groups.(*routingdb.Groups).Control
				if err := control.Join(b.Context(), group, routing.Consumer{ID: "a-loop", Target: "sqs:" + target, ConsumerState: routing.ConsumerState{MaxInFlight: 10}}, "test"); err != nil {
					b.Fatal(err)
				}
				ids := b.send("hello")
				b.invoke()
				if past := b.receipt(ids[0]).History; len(past) != 1 || past[0].Consumer != "a-loop" || b.depth(ingress) != 1 || b.work("north", routing.Accept) != 1 {
					b.Errorf("history %+v, %d in the ingress queue", past, b.depth(ingress))
				}
			})
		})
	}
}

// TestMessageIsGivenBackWithoutTime: it is shown again at once.
func TestMessageIsGivenBackWithoutTime(t *testing.T) {
	inBubble(t, couriers, func(b *bench) {
		ids := b.send("hello")
		m := b.receive(ingress)[0]
		event := fmt.Sprintf(`{"Records": [{"messageId": %q, "receiptHandle": %q, "body": "hello", "eventSource": "aws:sqs", "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:%s"}]}`,
			*m.MessageId, *m.ReceiptHandle, ingress)
		ctx, cancel := context.WithTimeout(b.Context(), 5*time.Second)
		defer cancel()
		answer, err := b.handle(ctx, json.RawMessage(event))
		if err != nil || len(answer.BatchItemFailures) != 1 || b.receipt(ids[0]).State != "" || b.depth("north") != 0 {
			b.Errorf("%+v, %v", answer, err)
		}
		if got := b.receive(ingress); len(got) != 1 {
			b.Error("it is not shown again at once")
		}
	})
}

// TestMessageIsAcceptedExactlyOnce while every third answer that the function waits for is lost, every seventh
// request is refused, batches are done in part, and one of the consumers never accepts.
func TestMessageIsAcceptedExactlyOnce(t *testing.T) {
	inBubble(t, couriers, func(b *bench) {
		b.fault = func(r faults.Request) faults.Fault {
			n := r.Seq * 0x9e3779b97f4a7c15 >> 33 // without a period, which could hit the same request of each round
			switch {
			case n%3 == 0:
				return faults.Fault{LoseAnswer: true}
			case n%7 == 0:
				return faults.Fault{Error: faults.Throttle}
			case n%5 == 0 && strings.HasSuffix(r.Operation, "Batch"):
				return faults.Fault{Unprocessed: 1}
			}
			return faults.Fault{}
		}
		var bodies []string
		for i := range 100 {
			bodies = append(bodies, fmt.Sprintf(`{"order": %d}`, i))
		}
		ids := b.send(bodies...)
		accepted := 0
		for start := time.Now(); b.depth(ingress) > 0 && time.Since(start) < 3*time.Hour; b.run(5 * time.Second) {
			accepted += b.work("south", routing.Accept) // no worker serves north
		}
		ended, moved := map[routing.State]int{}, 0
		for _, id := range ids {
			r := b.receipt(id)
			ended[r.State]++
			moved += len(r.History)
		}
		if ended[routing.Accepted]+ended[routing.Dead] != len(ids) || ended[routing.Accepted] != accepted || moved < len(ids)/2 || b.depth(ingress) > 0 {
			b.Errorf("ended %v, %d accepted, %d moves, %d left", ended, accepted, moved, b.depth(ingress))
		}
		if letters := b.depth(dead); letters < ended[routing.Dead] || letters > 0 && ended[routing.Dead] == 0 {
			b.Errorf("%d dead letters of %d that are dead", letters, ended[routing.Dead])
		}
		b.Logf("ended %v, %d reroutes", ended, moved)
	})
}

// TestDeliveriesAreKept likewise, where it counts as acceptance: every message has reached a consumer, and only one. A third
// of the answers is lost, without a period: one message whose every round has three requests would never hear the same one's.
func TestDeliveriesAreKept(t *testing.T) {
	inBubble(t, onDelivery, func(b *bench) {
		b.fault = func(r faults.Request) faults.Fault {
			if r.Seq*0x9e3779b97f4a7c15>>33%3 == 0 {
				return faults.Fault{LoseAnswer: true}
			}
			return faults.Fault{}
		}
		var bodies []string
		for i := range 50 {
			bodies = append(bodies, fmt.Sprint(i))
		}
		ids := b.send(bodies...)
		for start := time.Now(); b.depth(ingress) > 0 && time.Since(start) < 2*time.Hour; {
			b.run(5 * time.Second)
		}
		got := map[string]map[string]bool{}
		for _, queue := range []string{"north", "south"} {
			for all := b.envelopes(queue); len(all) > 0; all = b.envelopes(queue) {
				for _, e := range all {
					if got[e.Message] == nil {
						got[e.Message] = map[string]bool{}
					}
					got[e.Message][queue] = true
				}
			}
		}
		for _, id := range ids {
			if r := b.receipt(id); len(got[id]) != 1 || r.State != routing.Accepted || !got[id][r.Consumer] {
				b.Errorf("%s reached %v and is %s by %s", id, got[id], r.State, r.Consumer)
			}
		}
		if b.depth(ingress)+b.depth(dead) > 0 {
			b.Errorf("%d left, %d dead", b.depth(ingress), b.depth(dead))
		}
	})
}

// TestThrottledTablesKeepMessages (case Q11): they come back and are forwarded once, whatever the receive count.
func TestThrottledTablesKeepMessages(t *testing.T) {
	inBubble(t, couriers, func(b *bench) {
		b.fault = func(r faults.Request) (f faults.Fault) {
			if r.Service == "dynamodb" {
				f.Error = faults.Throttle
			}
			return f
		}
		b.send("1", "2", "3")
		b.run(10 * time.Minute)
		if b.depth(ingress) != 3 || b.depth("north")+b.depth("south")+b.depth(dead) > 0 {
			b.Fatalf("%d wait, %d and %d forwarded, %d dead", b.depth(ingress), b.depth("north"), b.depth("south"), b.depth(dead))
		}
		b.fault = nil
		accepted := 0
		for range 24 {
			b.run(5 * time.Second)
			accepted += b.work("north", routing.Accept)
		}
		if accepted != 3 || b.depth(ingress)+b.depth("south") > 0 {
			b.Errorf("%d accepted, %d left, %d with another consumer", accepted, b.depth(ingress), b.depth("south"))
		}
	})
}

// TestDeadLetterThatIsMovedBackIsRoutedAgain, one that was a row's, too; its receipt stays dead.
func TestDeadLetterThatIsMovedBackIsRoutedAgain(t *testing.T) {
	inBubble(t, couriers, func(b *bench) {
		row := strings.Repeat("0a", 32)
		in := &sqs.SendMessageInput{QueueUrl: b.url(ingress), MessageBody: aws.String("hello")}
		in.MessageAttributes = attributesOf(schema.MessageIDAttribute, row)
		if _, err := b.sqs.SendMessage(b.Context(), in); err != nil {
			b.Fatal(err)
		}
		b.run(2 * time.Hour)
		letters := b.receive(dead)
		if len(letters) != 1 || b.receipt(row).State != routing.Dead || b.receipt(row).Reason != routing.ReasonMaxWait {
			b.Fatalf("%d letters, the receipt is %s", len(letters), b.receipt(row).State)
		}
		back := &sqs.SendMessageInput{QueueUrl: b.url(ingress), MessageBody: letters[0].Body, MessageAttributes: letters[0].MessageAttributes}
		if _, err := b.sqs.SendMessage(b.Context(), back); err != nil {
			b.Fatal(err)
		}
		b.invoke()
		if n := b.work("north", routing.Accept); n != 1 || b.receipt(row).State != routing.Dead || b.depth(dead) != 1 {
			b.Errorf("%d accepted, the old receipt is %s, %d dead letters", n, b.receipt(row).State, b.depth(dead))
		}
	})
}

// TestRowSentTwiceIsOneMessage: its id stands in for that of SQS.
func TestRowSentTwiceIsOneMessage(t *testing.T) {
	inBubble(t, couriers, func(b *bench) {
		in := &sqs.SendMessageInput{QueueUrl: b.url(ingress), MessageBody: aws.String("hello"), MessageAttributes: attributesOf(schema.MessageIDAttribute, strings.Repeat("0b", 32))}
		for range 2 {
			if _, err := b.sqs.SendMessage(b.Context(), in); err != nil {
				b.Fatal(err)
			}
		}
		b.invoke()
		if n := b.work("north", routing.Accept); n != 1 || b.depth("south") != 0 {
			b.Errorf("%d accepted", n)
		}
		b.run(time.Minute)
		if b.depth(ingress)+b.depth(dead) != 0 {
			b.Errorf("%d left, %d dead", b.depth(ingress), b.depth(dead))
		}
	})
}

// TestConsumerGetsAtMostItsLimit though it reads nothing: what waits in its queue is its own, too.
func TestConsumerGetsAtMostItsLimit(t *testing.T) {
	inBubble(t, strings.Replace(couriers, "{north: {sqs: north}, south: {sqs: south}}", "{north: {sqs: north, max_in_flight: 3}}", 1), func(b *bench) {
		b.send("1", "2", "3", "4", "5", "6", "7")
		b.run(20 * time.Second)
		if n := b.depth("north"); n != 3 {
			b.Errorf("%d messages for a consumer that may have 3", n)
		}
		if n := b.work("north", routing.Accept); n != 3 {
			b.Errorf("%d accepted", n)
		}
	})
}

// TestConsumerThatWasAwayIsPickedAgain: the only one there is gets its message once it can be reached, however
// often its deadline was moved before.
func TestConsumerThatWasAwayIsPickedAgain(t *testing.T) {
	inBubble(t, strings.Replace(couriers, "{north: {sqs: north}, south: {sqs: south}}", "{north: {sqs: later}}", 1), func(b *bench) {
		b.send("hello")
		b.run(10 * time.Minute)
		if _, err := b.sqs.CreateQueue(b.Context(), &sqs.CreateQueueInput{QueueName: aws.String("later")}); err != nil {
			b.Fatal(err)
		}
		b.run(3 * time.Minute)
		if n := b.depth("later"); n < 1 || n > 2 { // it accepts nothing, so that it may have had one more
			b.Errorf("it has %d messages", n)
		}
		if n := b.work("later", routing.Accept); n != 1 {
			b.Errorf("%d accepted", n)
		}
	})
}
