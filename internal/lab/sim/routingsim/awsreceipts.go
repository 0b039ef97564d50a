package routingsim

import (
	"context"
	"errors"
	"maps"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/landfall-dev/landfall/internal/lab/sim/stage"
	"github.com/landfall-dev/landfall/internal/lab/sim/stage/stagedb"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/routingdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

// awsReceipts is a DynamoDB table in process.
type awsReceipts struct {
	world *routerWorld
	table *stagedb.Table[operation]
}

func newAWSReceipts(w *routerWorld) *awsReceipts {
	r := &awsReceipts{w, stagedb.New[operation](w.stage, routingdb.ReceiptsTable(schema.ReceiptsTable))}
	r.table.Subject = func(pk string) any { return pk }
	r.table.Tried = func(o *operation, before, after stagedb.Item, granted bool) {
		was, is := decoded(o.move.ID, before), decoded(o.move.ID, after)
		if was.State == unreadable && is.Reason == routingdb.ReasonInvalid { // the refused process ended it
			w.law.unasked(before, after)
			return
		}
		w.law.observe(o, was, is, granted)
	}
	r.table.Unasked = func(before, after stagedb.Item) { w.law.unasked(before, after) }
	return r
}

// spoilKinds is how many ways there are to break a receipt.
const spoilKinds = 6

// spoil breaks a receipt that is not final, or makes one where none is.
func (r *awsReceipts) spoil(id routing.ID, how int) {
	item := maps.Clone(r.table.Item(id.String()))
	if item == nil {
		item = stagedb.Item{schema.PK: text(id.String()), schema.State: text(schema.StatePending)}
	}
	if state := r.world.law.record(id).state; state == routing.Accepted || state == routing.Dead {
		return
	}
	switch how {
	case 0:
		item[schema.State] = text(secret)
	case 1:
		delete(item, schema.State)
	case 2:
		item[schema.Attempt] = text("1 " + secret)
	case 3:
		delete(item, schema.Token)
	case 4:
		item[schema.Deadline] = text(secret)
	case 5:
		item[schema.History] = text(secret)
	}
	r.table.Put(item)
}

func (r *awsReceipts) open(p *process) routing.Receipts {
	client := r.table.Open(p.actor.Number, func(m stagedb.Message, o *operation) *stage.Call {
		if o == nil {
			return p.call(m.Operation, m.PK, 0)
		}
		return p.call(m.Operation, o.name(), slotOf(o.move.Token))
	})
	return &awsPort{routingdb.NewReceipts(client, schema.ReceiptsTable), p}
}

// decoded is a receipt as it was stored.
func decoded(id routing.ID, item stagedb.Item) routing.Receipt {
	receipt, err := routingdb.NewReceipts(oneItem{item}, "").Get(context.Background(), id)
	if err != nil {
		return routing.Receipt{ID: id, State: unreadable} // [oneItem] does not let it be ended
	}
	return receipt
}

// unreadable is the state of a receipt that a foreign hand has broken.
const unreadable routing.State = "unreadable"

// oneItem is a table with one item, which accepts no write.
type oneItem struct{ item stagedb.Item }

// GetItem implements [routingdb.ReceiptsClient].
func (o oneItem) GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return &dynamodb.GetItemOutput{Item: o.item}, nil
}

// PutItem implements [routingdb.ReceiptsClient].
func (o oneItem) PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return nil, errReadOnly
}

// UpdateItem implements [routingdb.ReceiptsClient].
func (o oneItem) UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return nil, errReadOnly
}

var errReadOnly = errors.New("the table accepts no write")

// awsPort is the table as one process sees it.
type awsPort struct {
	receipts *routingdb.Receipts
	process  *process
}

// Get implements [routing.Receipts].
func (a *awsPort) Get(ctx context.Context, id routing.ID) (routing.Receipt, error) {
	return a.receipts.Get(ctx, id)
}

// Write implements [routing.Receipts].
func (a *awsPort) Write(ctx context.Context, m routing.Move) (routing.Receipt, error) {
	return a.receipts.Write(stagedb.With(ctx, &operation{a.process, m}), m)
}
