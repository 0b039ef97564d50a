// Package outboxdb keeps the rows of package outbox in a DynamoDB table: the dispatcher's port, the
// application's put, and the row format that docs/row-format.md makes public.
//
// A move is one conditional write whose meaning is [outbox.Claim.Apply] or [outbox.Settlement.Apply];
// the conditions here are those rules, said in DynamoDB's words. Since the SDK repeats a write whose
// answer was lost, every failed condition is looked at once more: if the row shows this very write, it
// took effect.
//
// The package decides nothing about a row. It marks a row that it cannot read ([outbox.Row.Unreadable]),
// and the domain ends it.
package outboxdb

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/landfall-dev/landfall/internal/dynamo"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/schema"
)

// Client is what the store calls; *dynamodb.Client is one.
type Client interface {
	Putter
	Getter
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
}

// Getter is what reading a row calls; *dynamodb.Client is one.
type Getter interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
}

// Store implements [outbox.Store]. It is safe for concurrent use.
type Store struct {
	client Client
	table  string
}

// New returns a store on a table that has the key and the index of package schema.
func New(client Client, table string) *Store { return &Store{client: client, table: table} }

var _ outbox.Store = (*Store)(nil)

// pageSize is how many entries List asks for at once: about 10 KB, so 1.5 read units when full and 0.5
// when empty.
const pageSize = 100

// List implements [outbox.Store]. The index is eventually consistent.
func (s *Store) List(ctx context.Context, lane outbox.Lane, before time.Time, after string) ([]outbox.Entry, string, error) {
	start, err := startKey(lane, after)
	if err != nil {
		return nil, "", err
	}
	out, err := s.client.Query(ctx, &dynamodb.QueryInput{
		TableName: &s.table, IndexName: aws.String(schema.LaneIndex),
		KeyConditionExpression:    aws.String("#lane = :lane AND #lane_at <= :before"),
		ExpressionAttributeNames:  map[string]string{"#lane": schema.Lane, "#lane_at": schema.LaneAt},
		ExpressionAttributeValues: dynamo.Item{":lane": dynamo.Text(lane.String()), ":before": dynamo.Millis(before)},
		ExclusiveStartKey:         start, Limit: aws.Int32(pageSize),
	})
	if err != nil {
		return nil, "", fmt.Errorf("list lane %s: %w", lane, err)
	}
	page := make([]outbox.Entry, len(out.Items))
	for i, item := range out.Items {
		pk, _ := item[schema.PK].(*types.AttributeValueMemberS)
		at, _ := item[schema.LaneAt].(*types.AttributeValueMemberN)
		if pk == nil || at == nil {
			return nil, "", fmt.Errorf("list lane %s: an entry lacks its keys: is %s the index of table %s?", lane, schema.LaneIndex, s.table)
		}
		page[i] = outbox.Entry{ID: outbox.ParsePK(pk.Value), LaneAt: entryTime(at.Value)}
	}
	return page, cursor(out.LastEvaluatedKey), nil
}

// entryTime reads a lane_at for an entry of a lane, where it is only looked at: a number that is not a time
// counts as the time nearest to it. The row itself says so when it is read.
func entryTime(number string) time.Time {
	ms, err := strconv.ParseFloat(number, 64)
	if err != nil || ms < 0 {
		return time.UnixMilli(0)
	}
	return time.UnixMilli(int64(min(ms, dynamo.MaxMillis)))
}

// cursor is a place in a lane: "<lane_at>#<pk>".
func cursor(last dynamo.Item) string {
	pk, _ := last[schema.PK].(*types.AttributeValueMemberS)
	at, _ := last[schema.LaneAt].(*types.AttributeValueMemberN)
	if pk == nil || at == nil {
		return ""
	}
	return at.Value + schema.Separator + pk.Value
}

func startKey(lane outbox.Lane, cursor string) (dynamo.Item, error) {
	if cursor == "" {
		return nil, nil
	}
	at, pk, found := strings.Cut(cursor, schema.Separator)
	if !found {
		return nil, fmt.Errorf("list lane %s: invalid cursor: pass the one that List returned", lane)
	}
	return dynamo.Item{
		schema.Lane: dynamo.Text(lane.String()), schema.LaneAt: &types.AttributeValueMemberN{Value: at}, schema.PK: dynamo.Text(pk),
	}, nil
}

// Get implements [outbox.Store]. A terminal row past its retention does not exist any more, though the
// table's TTL may not have deleted it yet.
func (s *Store) Get(ctx context.Context, id outbox.ID) (outbox.Row, error) {
	return Get(ctx, s.client, s.table, id)
}

// Get is [Store.Get] for a client that only reads.
func Get(ctx context.Context, client Getter, table string, id outbox.ID) (outbox.Row, error) {
	item, err := read(ctx, client, table, id)
	if err != nil {
		return outbox.Row{}, fmt.Errorf("get %s: %w", id, err)
	}
	if len(item) == 0 {
		return outbox.Row{}, outbox.ErrNotFound
	}
	row := Decode(item)
	if gone(row, time.Now()) {
		return outbox.Row{}, outbox.ErrNotFound
	}
	return row, nil
}

// read reads an item, strongly consistent; it is empty if there is no row.
func (s *Store) read(ctx context.Context, id outbox.ID) (dynamo.Item, error) {
	return read(ctx, s.client, s.table, id)
}

func read(ctx context.Context, client Getter, table string, id outbox.ID) (dynamo.Item, error) {
	out, err := client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &table, Key: key(id), ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return nil, err
	}
	return out.Item, nil
}

// gone reports whether a row is past its retention.
func gone(row outbox.Row, now time.Time) bool {
	return row.Status.Terminal() && !row.ExpiresAt.IsZero() && !now.Before(row.ExpiresAt)
}

func key(id outbox.ID) dynamo.Item {
	return dynamo.Item{schema.PK: dynamo.Text(id.PK())}
}

// invalid tells a write that the service would never do: the item would become too large, or an
// attribute is of a type that the write cannot work on.
func invalid(err error) bool {
	var failed smithy.APIError
	return errors.As(err, &failed) && failed.ErrorCode() == "ValidationException"
}
