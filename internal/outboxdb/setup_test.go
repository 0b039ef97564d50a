package outboxdb_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/lab/localaws"
	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
	"github.com/landfall-dev/landfall/internal/outboxdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

const table = schema.OutboxTable

// bench is a store over an AWS of its own.
type bench struct {
	*testing.T
	*outboxdb.Store
	account *localaws.Account
	client  *dynamodb.Client
	table   string
	// fault happens to the next write, fallback to every other request.
	fault    atomic.Pointer[faults.Fault]
	fallback faults.Plan
	// careless tests store what is not allowed, but does no harm.
	careless bool
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{T: t, fallback: faults.None, table: table}
	b.account = localaws.New(localaws.Options{Faults: b.plan})
	b.client = dynamodb.NewFromConfig(b.account.Config("landfall"))
	b.Store = outboxdb.New(b.client, table)
	b.createTable()
	t.Cleanup(b.checkSchema)
	return b
}

// checkSchema holds what the test has left in the table to the public schema: all that the store takes for a row.
func (b *bench) checkSchema() {
	b.fallback = faults.None
	in := &dynamodb.ScanInput{TableName: &b.table}
	for pages := dynamodb.NewScanPaginator(b.client, in); pages.HasMorePages(); {
		page, err := pages.NextPage(context.WithoutCancel(b.Context()))
		if err != nil {
			b.Error(err)
			return
		}
		for _, stored := range page.Items {
			if err := fitsSchema(stored); err != nil && !b.careless && outboxdb.Decode(stored).Unreadable == nil {
				b.Errorf("a stored row does not fit the schema: %v", err)
			}
		}
	}
}

func (b *bench) plan(r faults.Request) faults.Fault {
	if r.Operation == "PutItem" || r.Operation == "UpdateItem" {
		if fault := b.fault.Swap(nil); fault != nil {
			return *fault
		}
	}
	return b.fallback(r)
}

func (b *bench) next(f faults.Fault) { b.fault.Store(&f) }

func (b *bench) createTable() {
	b.Helper()
	_, err := b.client.CreateTable(b.Context(), outboxdb.Table(b.table))
	if err != nil {
		b.Fatal(err)
	}
}

// item is the stored item; nil if there is none.
func (b *bench) item(pk string) map[string]types.AttributeValue {
	b.Helper()
	out, err := b.client.GetItem(b.Context(), &dynamodb.GetItemInput{
		TableName: &b.table, ConsistentRead: aws.Bool(true),
		Key: map[string]types.AttributeValue{schema.PK: &types.AttributeValueMemberS{Value: pk}},
	})
	if err != nil {
		b.Fatal(err)
	}
	return out.Item
}

// write stores an item as a foreign writer does.
func (b *bench) write(item map[string]types.AttributeValue) {
	b.Helper()
	if _, err := b.put(item); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) put(item map[string]types.AttributeValue) (*dynamodb.PutItemOutput, error) {
	return b.client.PutItem(b.Context(), &dynamodb.PutItemInput{TableName: &b.table, Item: item})
}

func (b *bench) remove(pk string) {
	b.Helper()
	_, err := b.client.DeleteItem(b.Context(), &dynamodb.DeleteItemInput{
		TableName: &b.table, Key: map[string]types.AttributeValue{schema.PK: &types.AttributeValueMemberS{Value: pk}},
	})
	if err != nil {
		b.Fatal(err)
	}
}
