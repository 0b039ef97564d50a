package landfall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outboxdb"
)

// Client is what an [Outbox] calls; *dynamodb.Client is one. It needs the permission dynamodb:PutItem on
// the outbox table.
type Client interface {
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
}

// Outbox writes rows.
type Outbox struct {
	client Client
	cfg    Config
}

// New returns an outbox. A mistake in cfg is reported by each put that meets it.
func New(client Client, cfg Config) *Outbox {
	cfg.Table = cmp.Or(cfg.Table, table())
	return &Outbox{client: client, cfg: cfg}
}

// Put writes a row without a transaction. It succeeds if the row is stored, now or by an earlier put of the same row;
// then it changes nothing. Otherwise the error is a [*RowError] for a row that breaks a rule, [ErrConflict]
// for a key that is in use with other content, or an error of DynamoDB or the network: then it is open
// whether the row is stored, and putting it again is safe.
func (o *Outbox) Put(ctx context.Context, r Row) error {
	row, err := r.pending(o.cfg, time.Now())
	if err != nil {
		return err
	}
	return explain(r, outboxdb.Put(ctx, o.client, o.cfg.Table, row))
}

// Item is the put of a row as an item of the application's own transaction; see [Outbox.Committed] for how
// to read that transaction's error. The row's time of creation is that of this call, so make the item when
// it is needed, and leave the transaction's ClientRequestToken to the SDK: under a token that was used
// before, an item made anew is another request, which DynamoDB refuses (IdempotentParameterMismatchException)
// though the first may have taken effect. The error is a [*RowError].
func (o *Outbox) Item(r Row) (types.TransactWriteItem, error) {
	row, err := r.pending(o.cfg, time.Now())
	if err != nil {
		return types.TransactWriteItem{}, err
	}
	put, err := outboxdb.Insert(o.cfg.Table, row)
	if err != nil {
		return types.TransactWriteItem{}, explain(r, err)
	}
	return types.TransactWriteItem{Put: put}, nil
}

// explain translates an error of the store into this package's.
func explain(r Row, err error) error {
	var large *outboxdb.TooLargeError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, outbox.ErrExists):
		return fmt.Errorf("landfall: row %s: %w", r, ErrConflict)
	case errors.As(err, &large):
		return &RowError{Field: "Payload", Problem: large.Error(), row: r.id()}
	}
	return fmt.Errorf("landfall: %w", err)
}
