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
	world *world
	table *stagedb.Table[operation]
}

func newAWSTable(w *world) *awsTable {
	t := &awsTable{world: w, table: stagedb.New[operation](w.stage, outboxdb.Table(schema.OutboxTable))}
	t.table.Tried = func(o *operation, before, after stagedb.Item, granted bool) {
		t.world.law.observe(o, decoded(before), decoded(after), granted)
	}
	t.table.Subject = func(pk string) any { return outbox.ParsePK(pk) }
	return t
}

func (t *awsTable) row(id outbox.ID) (outbox.Row, bool) {
	item := t.table.Item(id.PK())
	return decoded(item), item != nil
}

func (t *awsTable) delete(id outbox.ID) { t.table.Delete(id.PK()) }

func (t *awsTable) spoil(id outbox.ID, d *stage.Dice) {
	item := maps.Clone(t.table.Item(id.PK()))
	attribute := stage.Pick(d, schema.Payload, schema.AttemptCount, schema.Until, schema.DeliverBy, schema.ClaimedAt, schema.Headers)
	item[attribute] = &types.AttributeValueMemberNULL{Value: true}
	t.table.Put(item)
}

func decoded(item stagedb.Item) outbox.Row {
	if item == nil {
		return outbox.Row{}
	}
	return outboxdb.Decode(item)
}

func (t *awsTable) open(p *process) access {
	client := t.table.Open(p.actor.Number, func(m stagedb.Message, _ *operation) *stage.Call {
		c := p.call(m.Operation, cmp.Or(m.PK, m.Lane), t.slotOf(m))
		if m.Operation == "PutItem" {
			p.onlyOnce(c)
		}
		return c
	}, p.clock.watch.Option)
	return &awsAccess{client, outboxdb.New(client, schema.OutboxTable)}
}

func (t *awsTable) slotOf(m stagedb.Message) int {
	if lane, err := outbox.ParseLane(m.Lane); err == nil && m.Operation == "Query" {
		return t.world.laneSlot(lane)
	}
	return t.world.rowSlot(outbox.ParsePK(m.PK))
}

// awsAccess is a process's way to the table.
type awsAccess struct {
	client *dynamodb.Client
	store  *outboxdb.Store
}

// List implements [access].
func (a *awsAccess) List(ctx context.Context, lane outbox.Lane, before time.Time, after string) ([]outbox.Entry, string, error) {
	return a.store.List(ctx, lane, before, after)
}

// Get implements [access].
func (a *awsAccess) Get(ctx context.Context, id outbox.ID) (outbox.Row, error) {
	return a.store.Get(ctx, id)
}

func (a *awsAccess) write(ctx context.Context, o *operation) (none outbox.Row, err error) {
	ctx = stagedb.With(ctx, o)
	switch {
	case o.claim != nil:
		return a.store.Claim(ctx, *o.claim)
	case o.settlement != nil:
		return none, a.store.Settle(ctx, *o.settlement)
	case o.put.Unreadable != nil:
		return none, a.putBroken(ctx, *o.put)
	}
	return none, a.store.Put(ctx, *o.put)
}

func (a *awsAccess) putBroken(ctx context.Context, row outbox.Row) error {
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
