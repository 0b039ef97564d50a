package routingdb_test

import (
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/lab/localaws"
	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/routingdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

type item = map[string]types.AttributeValue

// bench is both tables over an AWS of its own.
type bench struct {
	*testing.T
	*routingdb.Receipts
	control *routingdb.Control
	account *localaws.Account
	client  *dynamodb.Client
	table   string // of receipts
	// fault happens to the next write, fallback to every other request.
	fault    atomic.Pointer[faults.Fault]
	fallback faults.Plan
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{T: t, fallback: faults.None, table: schema.ReceiptsTable}
	b.account = localaws.New(localaws.Options{Faults: b.plan})
	b.client = dynamodb.NewFromConfig(b.account.Config("landfall"))
	b.Receipts = routingdb.NewReceipts(b.client, b.table)
	b.control = routingdb.NewControl(b.client, schema.ControlTable)
	b.create(routingdb.ReceiptsTable(b.table))
	b.create(routingdb.ControlTable(schema.ControlTable))
	return b
}

func (b *bench) plan(r faults.Request) faults.Fault {
	switch r.Operation {
	case "PutItem", "UpdateItem", "DeleteItem":
		if fault := b.fault.Swap(nil); fault != nil {
			return *fault
		}
	}
	return b.fallback(r)
}

func (b *bench) next(f faults.Fault) { b.fault.Store(&f) }

func (b *bench) create(in *dynamodb.CreateTableInput) {
	b.Helper()
	if _, err := b.client.CreateTable(b.Context(), in); err != nil {
		b.Fatal(err)
	}
}

// stored is the stored receipt; nil if there is none.
func (b *bench) stored(id routing.ID) item {
	b.Helper()
	out, err := b.client.GetItem(b.Context(), &dynamodb.GetItemInput{
		TableName: &b.table, ConsistentRead: aws.Bool(true), Key: item{schema.PK: s(id.String())},
	})
	if err != nil {
		b.Fatal(err)
	}
	return out.Item
}

// write stores an item as somebody else does.
func (b *bench) write(table string, i item) {
	b.Helper()
	if _, err := b.client.PutItem(b.Context(), &dynamodb.PutItemInput{TableName: &table, Item: i}); err != nil {
		b.Fatal(err)
	}
}

func s(text string) types.AttributeValue   { return &types.AttributeValueMemberS{Value: text} }
func n(number string) types.AttributeValue { return &types.AttributeValueMemberN{Value: number} }
func yes() types.AttributeValue            { return &types.AttributeValueMemberBOOL{Value: true} }
