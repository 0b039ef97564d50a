package figures_test

import (
	"context"
	"testing"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall"
	"github.com/landfall-dev/landfall/internal/localaws"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outboxdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

const (
	destination = "charge"
	shards      = 4
)

// bench is an application, a dispatcher, and an AWS of their own that counts.
type bench struct {
	*testing.T
	account    *localaws.Account
	client     *dynamodb.Client
	box        *landfall.Outbox
	dispatcher outbox.Dispatcher
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{T: t, account: localaws.New(localaws.Options{})}
	b.client = dynamodb.NewFromConfig(b.account.Config("figures"))
	if _, err := b.client.CreateTable(t.Context(), outboxdb.Table(schema.OutboxTable)); err != nil {
		t.Fatal(err)
	}
	b.box = landfall.New(b.client, landfall.Config{
		Table: schema.OutboxTable, Destinations: map[string]landfall.Destination{destination: {Shards: shards}},
	})
	b.dispatcher = outbox.Dispatcher{Store: outboxdb.New(b.client, schema.OutboxTable), Destinations: []outbox.Destination{
		{Name: destination, Policy: outbox.Policy{Shards: shards}, Sender: lands{}},
	}}
	return b
}

// lands is a remote that takes everything.
type lands struct{}

func (lands) Send(context.Context, outbox.Row) outbox.Outcome { return outbox.Completed("") }

// refusesOnce is one that takes everything but its first request.
type refusesOnce struct{ asked bool }

func (r *refusesOnce) Send(context.Context, outbox.Row) outbox.Outcome {
	if !r.asked {
		r.asked = true
		return outbox.Retryable("busy", 0)
	}
	return outbox.Completed("")
}

func (b *bench) item(row landfall.Row) types.TransactWriteItem {
	b.Helper()
	item, err := b.box.Item(row)
	if err != nil {
		b.Fatal(err)
	}
	return item
}

// asItIs makes a put one that does not compress.
func asItIs(put *types.Put, payload []byte) {
	delete(put.Item, schema.PayloadEncoding)
	if put.Item[schema.Payload] = (&types.AttributeValueMemberB{Value: payload}); utf8.Valid(payload) {
		put.Item[schema.Payload] = &types.AttributeValueMemberS{Value: string(payload)}
	}
}

func (b *bench) putItem(put *types.Put) {
	b.Helper()
	_, err := b.client.PutItem(b.Context(), &dynamodb.PutItemInput{
		TableName: put.TableName, Item: put.Item, ConditionExpression: put.ConditionExpression,
		ExpressionAttributeNames: put.ExpressionAttributeNames, ExpressionAttributeValues: put.ExpressionAttributeValues,
	})
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) transact(items []types.TransactWriteItem) {
	b.Helper()
	_, err := b.client.TransactWriteItems(b.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: items})
	if err != nil {
		b.Fatal(err)
	}
}

// units are all that was consumed so far, of the table and its index.
func (b *bench) units() (read, write float64) { return b.account.Ledger().Sum(nil).Units() }

// claim is what the first claim cost: the first update of all.
func (b *bench) claim() (write float64) {
	b.Helper()
	for _, e := range b.account.Ledger().Entries() {
		if e.Operation != "UpdateItem" {
			continue
		}
		for _, c := range e.Costs {
			write += c.Write
		}
		return write
	}
	b.Fatal("nothing was claimed")
	return 0
}
