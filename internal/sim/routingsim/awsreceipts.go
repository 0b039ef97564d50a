package routingsim

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/routingdb"
	"github.com/landfall-dev/landfall/internal/schema"
	"github.com/landfall-dev/landfall/internal/sim/stage"
	"github.com/landfall-dev/landfall/internal/sim/stage/stagedb"
)

// awsReceipts is a DynamoDB table in process.
type awsReceipts struct {
	*world
	table *stagedb.Table[operation]
}

func newAWSReceipts(w *world) *awsReceipts {
	r := &awsReceipts{w, stagedb.New[operation](w.Stage, routingdb.ReceiptsTable(schema.ReceiptsTable))}
	r.table.Subject = func(pk string) any { return pk }
	r.table.Tried = func(o *operation, before, after stagedb.Item, granted bool) {
		w.law.observe(o, decoded(o.move.ID, before), decoded(o.move.ID, after), granted)
	}
	return r
}

func (r *awsReceipts) open(p *process) routing.Receipts {
	client := r.table.Open(p.Number, func(m stagedb.Message, o *operation) *stage.Call {
		if o == nil {
			return p.call(m.Operation, m.PK, 0).Call
		}
		return p.call(m.Operation, o.name(), slotOf(o.move.Token)).Call
	})
	return &awsPort{routingdb.NewReceipts(client, schema.ReceiptsTable), p}
}

func (r *awsReceipts) receipt(id routing.ID) routing.Receipt {
	return decoded(id, r.table.Item(id.String()))
}

// decoded is a receipt as it was stored.
func decoded(id routing.ID, item stagedb.Item) routing.Receipt {
	receipt, err := routingdb.NewReceipts(one{item: item}, "").Get(context.Background(), id)
	if err != nil {
		panic(err) // nobody but Landfall writes here
	}
	return receipt
}

// one is a table that has one item.
type one struct {
	routingdb.ReceiptsClient
	item stagedb.Item
}

// GetItem implements [routingdb.ReceiptsClient].
func (o one) GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return &dynamodb.GetItemOutput{Item: o.item}, nil
}

// PutItem implements [routingdb.ReceiptsClient].
func (o one) PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return nil, errors.New("the receipt cannot be read")
}

// awsPort is the table as one process sees it.
type awsPort struct {
	*routingdb.Receipts
	process *process
}

// Write implements [routing.Receipts].
func (a *awsPort) Write(ctx context.Context, m routing.Move) (routing.Receipt, error) {
	return a.Receipts.Write(stagedb.With(ctx, &operation{a.process, m}), m)
}
