package main

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/landfall-dev/landfall/consumer"
	"github.com/landfall-dev/landfall/internal/lab/localaws/ledger"
)

// TestCostOfAMessageStaysWithinItsBound counts what messages cost that their first consumer accepts, in full batches,
// with the consumers of package landfall, and prints it. What a batch costs at least is one request each to receive, to
// hold, to forward, and to the consumer to receive and to delete both copies: 0.6 a message. Each consumer more that a
// batch is spread over costs four requests more.
func TestCostOfAMessageStaysWithinItsBound(t *testing.T) {
	for route, most := range map[string]float64{"first_with_capacity": 0.7, "least_loaded": 0.9} {
		t.Run(route, func(t *testing.T) { measure(t, route, most) })
	}
}

func measure(t *testing.T, route string, most float64) {
	inBubble(t, strings.Replace(couriers, "first_with_capacity", route, 1), func(b *bench) {
		const messages = 400
		for range messages {
			b.send(`{"order": 42, "customer_id": "c-7"}`)
		}
		b.account.Ledger().Reset()
		worked := new(atomic.Int64)
		ctx, stop := context.WithCancel(b.Context())
		done := make(chan error, 2)
		for _, queue := range []string{"north", "south"} {
			worker := consumer.New(dynamodb.NewFromConfig(b.account.Config("consumer")), sqs.NewFromConfig(b.account.Config("consumer")),
				consumer.Config{Concurrency: 20})
			go func() {
				done <- worker.Consume(ctx, *b.url(queue), func(context.Context, types.Message) error {
					worked.Add(1)
					return nil
				})
			}()
		}
		invocations := 0
		for start := time.Now(); worked.Load() < messages && time.Since(start) < time.Hour; {
			if n, kept := b.invoke(); n > 0 {
				invocations++
				if len(kept) != n {
					b.Fatalf("%d of %d stay", len(kept), n)
				}
			} else {
				<-time.After(100 * time.Millisecond)
			}
		}
		stop()
		for range cap(done) {
			if err := <-done; err != nil {
				b.Error(err)
			}
		}
		if worked.Load() != messages || b.depth(ingress)+b.depth("north")+b.depth("south") != 0 {
			b.Errorf("%d worked, %d and %d and %d left", worked.Load(), b.depth(ingress), b.depth("north"), b.depth("south"))
		}
		per := func(service string, match func(ledger.Key) bool) float64 {
			return float64(b.requests(service, match).Requests) / messages
		}
		operation := func(caller string, names ...string) func(ledger.Key) bool {
			return func(k ledger.Key) bool {
				for _, name := range names {
					if k.Operation == name && k.Caller == caller {
						return true
					}
				}
				return false
			}
		}
		all := b.requests("dynamodb", func(k ledger.Key) bool { return k.Resource == "landfall-receipts" })
		control := b.requests("dynamodb", func(k ledger.Key) bool { return k.Resource == "landfall-control" })
		for _, f := range []struct {
			what      string
			got, most float64
		}{
			{"receipts: write units", all.Write / messages, 2},
			{"receipts: read units", all.Read / messages, 0},
			{"control table: read units", control.Read / messages, 0.1},
			{"SQS requests of the router: hold", per("sqs", operation("route", "ChangeMessageVisibilityBatch")), 0.1},
			{"SQS requests of the router: forward", per("sqs", operation("route", "SendMessageBatch")), 0.2},
			{"SQS requests of the router: loads of queues", per("sqs", operation("route", "GetQueueAttributes", "GetQueueUrl")), 0.02},
			{"SQS requests of the mapping: receive", per("sqs", operation("mapping", "ReceiveMessage")), 0.11},
			{"SQS requests of the mapping: delete", per("sqs", operation("mapping", "DeleteMessageBatch")), 0},
			{"SQS requests of the consumers: receive", per("sqs", operation("consumer", "ReceiveMessage")), 0.22},
			{"SQS requests of the consumers: delete both copies", per("sqs", operation("consumer", "DeleteMessageBatch")), 0.45},
			{"SQS requests of everybody", per("sqs", func(ledger.Key) bool { return true }), most},
		} {
			b.Logf("%-52s %6.3f a message, at most %v", f.what, f.got, f.most)
			if f.got > f.most {
				b.Errorf("%s: %.3f a message, want at most %v", f.what, f.got, f.most)
			}
		}
		b.Logf("%d messages in %d invocations, %d log bytes", messages, invocations, len(b.log.String()))
		everybody := func(ledger.Key) bool { return true }
		figures, err := json.Marshal(map[string]any{ // for package bench
			"wru": b.requests("dynamodb", everybody).Write / messages, "rru": b.requests("dynamodb", everybody).Read / messages,
			"sqs_requests": per("sqs", everybody), "invocations": float64(invocations) / messages, "log_bytes": float64(len(b.log.String())) / messages,
			"sqs_requests_by": map[string]float64{
				"Landfall":         per("sqs", func(k ledger.Key) bool { return k.Caller == "route" }),
				"Lambda's mapping": per("sqs", func(k ledger.Key) bool { return k.Caller == "mapping" }),
				"the consumers":    per("sqs", func(k ledger.Key) bool { return k.Caller == "consumer" }),
			},
		})
		if err != nil {
			b.Fatal(err)
		}
		b.Attr("routed", string(figures))
	})
}
