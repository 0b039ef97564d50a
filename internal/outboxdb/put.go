package outboxdb

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/dynamo"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/schema"
)

// Putter is what putting a row calls; *dynamodb.Client is one.
type Putter interface {
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
}

// TooLargeError is a row that does not fit into an item together with its outcome.
type TooLargeError struct {
	// Size is how large the item would be, in bytes, with its payload compressed if that makes it smaller.
	Size int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the row's item has %d bytes, want at most %d", e.Size, MaxItem)
}

// Put inserts a pending row. The same put again succeeds and changes nothing, at any stage of the row;
// other content under the same destination and key is [outbox.ErrExists]. A row past its retention
// counts as absent.
func (s *Store) Put(ctx context.Context, row outbox.Row) error {
	return Put(ctx, s.client, s.table, row)
}

// Put is [Store.Put] for a client that only puts.
func Put(ctx context.Context, client Putter, table string, row outbox.Row) error {
	put, err := insertion(table, row)
	if err != nil {
		return fmt.Errorf("put %s: %w", row.ID, err)
	}
	_, err = client.PutItem(ctx, put, dynamo.RepeatConflicts)
	if item, refused := dynamo.Refused(err); refused {
		if Repeats(put.Item, item) {
			return nil
		}
		return outbox.ErrExists
	}
	if err != nil {
		return fmt.Errorf("put %s: %w", row.ID, err)
	}
	return nil
}

// Insert is the put of a pending row, for a transaction.
func Insert(table string, row outbox.Row) (*types.Put, error) {
	put, err := insertion(table, row)
	if err != nil {
		return nil, err
	}
	return &types.Put{
		TableName: put.TableName, Item: put.Item, ConditionExpression: put.ConditionExpression,
		ExpressionAttributeNames: put.ExpressionAttributeNames, ExpressionAttributeValues: put.ExpressionAttributeValues,
		ReturnValuesOnConditionCheckFailure: put.ReturnValuesOnConditionCheckFailure,
	}, nil
}

// insertion is the put of a row on the condition that no other row is there, or only one past its retention.
func insertion(table string, row outbox.Row) (*dynamodb.PutItemInput, error) {
	item := encode(row)
	if size := itemSize(item); size > MaxItem {
		return nil, &TooLargeError{Size: size}
	}
	var w dynamo.Write
	w.Require("attribute_not_exists(", schema.PK, ") OR ",
		w.Name(schema.Status), " IN (", w.Value(dynamo.Text(schema.StatusCompleted)), ", ", w.Value(dynamo.Text(schema.StatusFailed)), ") AND ",
		schema.ExpiresAt, " <= ", w.Value(dynamo.Number(time.Now().Unix())))
	return w.Put(&table, item), nil
}

// Repeats reports whether putting the item over the stored one is the same put again.
func Repeats(item, stored dynamo.Item) bool {
	return outbox.Row{Origin: origin(item)}.Repeats(outbox.Row{Origin: origin(stored)})
}

func origin(item dynamo.Item) string {
	r := dynamo.Reader{Item: item}
	return r.Text(schema.Origin)
}
