package routingdb

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/landfall-dev/landfall/internal/dynamo"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/schema"
)

// ReasonInvalid: the receipt cannot be read, because another program wrote to the table. A consumer may have accepted the
// message.
const ReasonInvalid routing.Reason = "receipt_invalid"

// ReceiptsClient is what Receipts calls; *dynamodb.Client is one. Accepting and declining is UpdateItem alone.
type ReceiptsClient interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
}

// Receipts implements [routing.Receipts]. It is safe for concurrent use.
type Receipts struct {
	client ReceiptsClient
	table  string
}

// NewReceipts returns the receipts in a table like [ReceiptsTable].
func NewReceipts(client ReceiptsClient, table string) *Receipts {
	return &Receipts{client: client, table: table}
}

var _ routing.Receipts = (*Receipts)(nil)

// Get implements [routing.Receipts]. A receipt past its retention does not exist any more, though the table's
// time to live may not have deleted it yet. Get ends a receipt that cannot be read: the message is
// dead-lettered, and no consumer can accept it any more.
func (s *Receipts) Get(ctx context.Context, id routing.ID) (routing.Receipt, error) {
	stored, err := s.read(ctx, id)
	if err != nil {
		return routing.Receipt{}, fmt.Errorf("get receipt %s: %w", id, err)
	}
	return s.readable(ctx, id, stored, time.Now())
}

func (s *Receipts) read(ctx context.Context, id routing.ID) (dynamo.Item, error) {
	out, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &s.table, Key: key(id.String()), ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return nil, err
	}
	return out.Item, nil
}

// Write implements [routing.Receipts].
func (s *Receipts) Write(ctx context.Context, m routing.Move) (routing.Receipt, error) {
	if m.Kind == routing.Assign || m.Kind == routing.Kill && m.From.State == "" {
		return s.insert(ctx, m)
	}
	var w dynamo.Write
	if !addMove(&w, m) { // no receipt admits it
		stored, err := s.read(ctx, m.ID)
		if err != nil {
			return routing.Receipt{}, fmt.Errorf("%s %s: %w", m.Kind, m.ID, err)
		}
		return s.refused(ctx, m, stored)
	}
	out, err := s.client.UpdateItem(ctx, update(&w, &s.table, key(m.ID.String())), dynamo.RepeatConflicts)
	if err == nil {
		receipt, _ := decode(m.ID, out.Attributes) // it took effect, whatever else the item says
		return receipt, nil
	}
	if stored, refused := dynamo.Refused(err); refused {
		return s.refused(ctx, m, stored)
	}
	return routing.Receipt{}, fmt.Errorf("%s %s: %w", m.Kind, m.ID, err)
}

// insert writes the first that is known of a message.
func (s *Receipts) insert(ctx context.Context, m routing.Move) (routing.Receipt, error) {
	receipt, err := m.Apply(routing.Receipt{ID: m.ID})
	if err != nil {
		return routing.Receipt{}, err
	}
	var w dynamo.Write
	w.Require("(attribute_not_exists(", schema.PK, ") OR ", schema.ExpiresAt, " <= ", w.Value(dynamo.Number(m.At.Unix())), ")")
	_, err = s.client.PutItem(ctx, w.Put(&s.table, encode(receipt)), dynamo.RepeatConflicts)
	if err == nil {
		return receipt, nil
	}
	if stored, refused := dynamo.Refused(err); refused {
		return s.refused(ctx, m, stored)
	}
	return routing.Receipt{}, fmt.Errorf("%s %s: %w", m.Kind, m.ID, err)
}

// refused answers a move whose condition failed: with the receipt, if it shows that only the first answer was
// lost, else with the refusal.
func (s *Receipts) refused(ctx context.Context, m routing.Move, stored dynamo.Item) (routing.Receipt, error) {
	receipt, err := s.readable(ctx, m.ID, stored, m.At)
	switch {
	case err != nil:
		return routing.Receipt{}, err
	case m.Repeats(receipt):
		return receipt, nil
	}
	return routing.Receipt{}, &routing.RefusedError{Receipt: receipt}
}

// readable reads a stored item, and ends it if it cannot be read.
func (s *Receipts) readable(ctx context.Context, id routing.ID, stored dynamo.Item, now time.Time) (routing.Receipt, error) {
	receipt, invalid := decode(id, stored)
	switch {
	case len(stored) == 0 || !receipt.ExpiresAt.IsZero() && !now.Before(receipt.ExpiresAt):
		return routing.Receipt{ID: id}, nil
	case invalid == nil:
		return receipt, nil
	}
	receipt.State, receipt.Reason = routing.Dead, ReasonInvalid
	receipt.EndedAt, receipt.ExpiresAt = now.Truncate(time.Millisecond), now.Add(routing.Retention).Truncate(time.Second)
	var w dynamo.Write
	w.RequireExists(schema.PK)
	for _, attribute := range []string{schema.State, schema.Attempt, schema.Token} {
		w.RequireIs(attribute, stored[attribute]) // what acceptances depend on
	}
	ended := encode(receipt)
	ended[schema.Invalid] = dynamo.Text(invalid.Error())
	_, err := s.client.PutItem(ctx, w.Put(&s.table, ended), dynamo.RepeatConflicts)
	if err == nil {
		return receipt, nil
	}
	if newer, moved := dynamo.Refused(err); moved {
		if receipt, invalid := decode(id, newer); invalid == nil {
			return receipt, nil
		}
	}
	return routing.Receipt{}, fmt.Errorf("end receipt %s: %w: %w", id, invalid, err)
}
