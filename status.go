package landfall

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outboxdb"
)

// Reader is what [Outbox.Status] calls in addition to a [Client]; *dynamodb.Client is one. It needs the permission
// dynamodb:GetItem on the outbox table, which putting rows does not need.
type Reader interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
}

// Status is what became of a row. Times that are not set are zero.
type Status struct {
	// Status is "pending", "dispatching", "outcome_unknown", "completed" or "failed"; the last two are the end.
	// It is "invalid" for a row of another program whose status is none of these.
	Status string
	// Code says what the last trouble was, and Cause, if set, what had led to it. A completed row has neither.
	// docs/operations.md lists the codes.
	Code, Cause string
	// RemoteRef is what the remote calls the effect, if it said so.
	RemoteRef string
	// Attempts is how often a process began to send the row, since it was put or given a new budget.
	Attempts int
	// CreatedAt is when the row was put, MaybeSince when the first attempt that may have arrived was made, CompletedAt
	// when Landfall learned that the effect happened.
	CreatedAt, MaybeSince, CompletedAt time.Time
	// ExpiresAt is from when on a row that has ended does not exist any more.
	ExpiresAt time.Time
}

// Ended reports whether the row is completed or failed. Only a person's retry moves a failed row again.
func (s Status) Ended() bool { return outbox.Status(s.Status).Terminal() }

// Status says what became of the row of a destination and key, strongly consistently, for one read unit for each 4 KB.
// The error is [ErrNotFound] if there is no such row, or an error of DynamoDB or the network. The client that [New] got
// must be a [Reader], as *dynamodb.Client is.
func (o *Outbox) Status(ctx context.Context, destination, key string) (Status, error) {
	id := outbox.ID{Destination: destination, Key: key}
	if err := id.Validate(); err != nil {
		return Status{}, fmt.Errorf("landfall: %w", err)
	}
	reader, ok := o.client.(Reader)
	if !ok {
		return Status{}, fmt.Errorf("landfall: row %s: the outbox's client cannot read: pass one with GetItem, such as *dynamodb.Client", id)
	}
	row, err := outboxdb.Get(ctx, reader, o.cfg.Table, id)
	switch {
	case errors.Is(err, outbox.ErrNotFound):
		return Status{}, fmt.Errorf("landfall: row %s: %w", id, ErrNotFound)
	case err != nil:
		return Status{}, fmt.Errorf("landfall: %w", err)
	}
	return Status{
		Status: string(row.Status), Code: row.Code, Cause: row.Cause, RemoteRef: row.RemoteRef, Attempts: row.AttemptCount,
		CreatedAt: row.CreatedAt, MaybeSince: row.MaybeSince, CompletedAt: row.CompletedAt, ExpiresAt: row.ExpiresAt,
	}, nil
}
