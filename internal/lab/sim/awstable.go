package sim

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/lab/sim/stage"
	"github.com/landfall-dev/landfall/internal/lab/sim/stage/stagedb"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outboxdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

// awsTable is a DynamoDB table in process.
type awsTable struct {
	*world
	*stagedb.Table[operation]
}

func newAWSTable(w *world) *awsTable {
	t := &awsTable{world: w, Table: stagedb.New[operation](w.Stage, outboxdb.Table(schema.OutboxTable))}
	t.Tried = func(o *operation, before, after stagedb.Item, granted bool) {
		t.law.observe(o, decoded(before), decoded(after), granted)
	}
	t.Subject = func(pk string) any { return outbox.ParsePK(pk) }
	return t
}

func (t *awsTable) row(id outbox.ID) (outbox.Row, bool) {
	item := t.Item(id.PK())
	return decoded(item), item != nil
}

func (t *awsTable) delete(id outbox.ID) { t.Delete(id.PK()) }

func (t *awsTable) spoil(id outbox.ID, d *stage.Dice) {
	item := maps.Clone(t.Item(id.PK()))
	attribute := stage.Pick(d, schema.Payload, schema.AttemptCount, schema.Until, schema.DeliverBy, schema.ClaimedAt, schema.Headers)
	item[attribute] = &types.AttributeValueMemberNULL{Value: true}
	t.Table.Put(item)
}

func decoded(item stagedb.Item) outbox.Row {
	if item == nil {
		return outbox.Row{}
	}
	return outboxdb.Decode(item)
}

func (t *awsTable) open(p *process) store {
	client := t.Table.Open(p.Number, func(m stagedb.Message, _ *operation) *stage.Call {
		c := p.call(m.Operation, cmp.Or(m.PK, m.Lane), t.slotOf(m))
		if m.Operation == "PutItem" {
			c.once()
		}
		return c.Call
	})
	return &awsPort{t, p, client, outboxdb.New(client, schema.OutboxTable)}
}

func (t *awsTable) slotOf(m stagedb.Message) int {
	if lane, err := outbox.ParseLane(m.Lane); err == nil && m.Operation == "Query" {
		return t.laneSlot(lane)
	}
	return t.rowSlot(outbox.ParsePK(m.PK))
}

// awsPort is the table as one process sees it.
type awsPort struct {
	*awsTable
	process *process
	client  *dynamodb.Client
	*outboxdb.Store
}

// List implements [outbox.Store].
func (a *awsPort) List(ctx context.Context, lane outbox.Lane, before time.Time, after string) ([]outbox.Entry, string, error) {
	page, next, err := a.Store.List(ctx, lane, before, after)
	a.Mu.Lock()
	defer a.Mu.Unlock()
	a.process.told.listed(err)
	a.law.scan("an error of the table", err)
	return page, next, err
}

// Get implements [outbox.Store].
func (a *awsPort) Get(ctx context.Context, id outbox.ID) (outbox.Row, error) {
	row, err := a.Store.Get(ctx, id)
	a.Mu.Lock()
	defer a.Mu.Unlock()
	a.law.toldRow(a.process, row, err)
	return row, err
}

// Claim implements [outbox.Store].
func (a *awsPort) Claim(ctx context.Context, claim outbox.Claim) (outbox.Row, error) {
	a.Mu.Lock()
	a.law.claiming(a.process, claim)
	a.Mu.Unlock()
	o := &operation{by: a.process, claim: &claim}
	row, err := a.Store.Claim(stagedb.With(ctx, o), claim)
	a.Mu.Lock()
	defer a.Mu.Unlock()
	a.law.toldClaim(o, row, err)
	return row, err
}

// Settle implements [outbox.Store].
func (a *awsPort) Settle(ctx context.Context, s outbox.Settlement) error {
	a.Mu.Lock()
	a.law.settling(a.process, s)
	a.Mu.Unlock()
	o := &operation{by: a.process, settlement: &s}
	err := a.Store.Settle(stagedb.With(ctx, o), s)
	a.Mu.Lock()
	defer a.Mu.Unlock()
	a.law.toldSettlement(o, err)
	return err
}

// Put is the application's, or a foreign writer's that breaks the row format.
func (a *awsPort) Put(ctx context.Context, row outbox.Row) error {
	o := &operation{by: a.process, put: &row}
	ctx = stagedb.With(ctx, o)
	var err error
	if row.Unreadable != nil {
		err = a.putBroken(ctx, row)
	} else {
		err = a.Store.Put(ctx, row)
	}
	a.Mu.Lock()
	defer a.Mu.Unlock()
	a.law.toldPut(o, err)
	return err
}

func (a *awsPort) putBroken(ctx context.Context, row outbox.Row) error {
	put, err := outboxdb.Insert(schema.OutboxTable, row)
	if err != nil {
		return err
	}
	delete(put.Item, schema.Payload)
	put.Item[schema.Status] = &types.AttributeValueMemberS{Value: string(row.Status)}
	_, err = a.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: put.TableName, Item: put.Item, ConditionExpression: put.ConditionExpression,
		ExpressionAttributeNames: put.ExpressionAttributeNames, ExpressionAttributeValues: put.ExpressionAttributeValues,
		ReturnValuesOnConditionCheckFailure: put.ReturnValuesOnConditionCheckFailure,
	})
	var refused *types.ConditionalCheckFailedException
	if errors.As(err, &refused) {
		if outboxdb.Repeats(put.Item, refused.Item) {
			return nil
		}
		return outbox.ErrExists
	}
	return err
}
