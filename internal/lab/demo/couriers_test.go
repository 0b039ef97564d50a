package demo

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/landfall-dev/landfall/internal/lab/desk"
	"github.com/landfall-dev/landfall/internal/lab/localaws"
	"github.com/landfall-dev/landfall/internal/lab/loopback"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outboxdb"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/routingdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

// TestKilledCouriersAcceptedMessageIsFoundInItsQueue has picky die after its acceptance was written and before it learnt
// so. A message that is not in its queue counts as lost, and a row that was not settled as a problem.
func TestKilledCouriersAcceptedMessageIsFoundInItsQueue(t *testing.T) {
	t.Parallel()
	server, err := loopback.Listen("127.0.0.1:0", localaws.New(localaws.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	d := &demo{prefix: "test", desk: &desk.Desk{Endpoint: server.URL, Prefix: "test"}}
	tables, queues := d.desk.DynamoDB("test"), d.desk.SQS("test")
	for _, table := range []*dynamodb.CreateTableInput{routingdb.ReceiptsTable(d.desk.ReceiptsTable()), outboxdb.Table(d.desk.OutboxTable())} {
		if _, err := tables.CreateTable(t.Context(), table); err != nil {
			t.Fatal(err)
		}
	}
	d.store = outboxdb.New(tables, d.desk.OutboxTable())
	if err := d.store.Put(t.Context(), outbox.Row{
		ID: outbox.ID{Destination: courierJobs, Key: "k"}, Status: outbox.StatusPending, CreatedAt: time.Now(), LaneAt: time.Now(),
		Lane: outbox.Lane{Kind: outbox.DueLane, Destination: courierJobs}, Payload: []byte("{}"),
	}); err != nil {
		t.Fatal(err)
	}
	urls := map[string]*string{}
	for _, name := range []string{d.queueOf("picky"), schema.IngressQueue(d.prefix, group), schema.DeadLetterQueue(d.prefix, group)} {
		out, err := queues.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name})
		if err != nil {
			t.Fatal(err)
		}
		urls[name] = out.QueueUrl
	}
	receipts := routingdb.NewReceipts(tables, d.desk.ReceiptsTable())
	var ids []routing.ID
	for _, message := range []string{"there", "gone"} {
		id, now := routing.ID{Group: group, Message: strings.Repeat(message, 4)}, time.Now()
		ids = append(ids, id)
		for _, m := range []routing.Move{
			{ID: id, Kind: routing.Assign, Token: "token", At: now, Consumer: "picky", Deadline: now.Add(time.Minute)},
			routing.AcceptMove(id, 1, "token", now),
		} {
			if _, err := receipts.Write(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
	}
	envelope := routing.Envelope{ID: ids[0], Attempt: 1, Token: "token", Deadline: time.Now().Add(time.Minute), Handle: "handle"}
	if _, err := queues.SendMessage(t.Context(), &sqs.SendMessageInput{
		QueueUrl: urls[d.queueOf("picky")], MessageBody: aws.String("{}"),
		MessageAttributes: map[string]types.MessageAttributeValue{
			routing.EnvelopeAttribute: {DataType: aws.String("String"), StringValue: aws.String(envelope.Text())},
		},
	}); err != nil {
		t.Fatal(err)
	}
	c := &couriers{d: d, accepted: map[string][]string{}}
	working, stop := context.WithCancel(t.Context())
	c.comeBack(working, 1)
	stop()
	c.all.Wait()
	r, err := d.countRouting(t.Context(), c, receipts, ids)
	if err != nil {
		t.Fatal(err)
	}
	if r.Lost != 1 || r.Accepted != 2 || len(c.problems) > 0 || !slices.Contains(r.problems, "rows in due#courier-jobs#0: 1") {
		t.Errorf("%+v, %q: want the one that is gone lost, and no other, and a row that waits", r, c.problems)
	}
}
