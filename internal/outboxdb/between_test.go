package outboxdb_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outboxdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

// between is a client that lets something happen before a write.
type between struct {
	*dynamodb.Client
	beforeUpdate, beforePut func()
}

func (c *between) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if c.beforeUpdate != nil {
		c.beforeUpdate()
	}
	return c.Client.UpdateItem(ctx, in, o...)
}

func (c *between) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if c.beforePut != nil {
		c.beforePut()
	}
	return c.Client.PutItem(ctx, in, o...)
}

// TestReferenceIsFilledInOnlyIfNothingHappenedMeanwhile: it is a second write, after the row was looked at.
func TestReferenceIsFilledInOnlyIfNothingHappenedMeanwhile(t *testing.T) {
	t.Parallel()
	id := outbox.ID{Destination: "charge", Key: "k"}
	for name, c := range map[string]struct {
		meanwhile func(b *bench, row outbox.Row)
		want      string
	}{
		"nothing":           {func(*bench, outbox.Row) {}, "late"},
		"another reference": {func(b *bench, row outbox.Row) { b.settle(unknownAgain(row, "first")) }, "first"},
		"resolved": {func(b *bench, row outbox.Row) {
			b.settle(outbox.Resolve(outbox.Policy{}.WithDefaults(), row, outbox.Answer{Kind: outbox.AnswerFailed}, time.Now()))
		}, ""},
	} {
		b := newBench(t)
		b.write(foreign(id.PK(), time.Now()))
		b.settle(outbox.Decide(outbox.Policy{}.WithDefaults(), b.claimOf(id, nil), outbox.Unknown("", "test.cut"), time.Now()))
		row, err := b.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		updates := 0
		client := &between{Client: b.client, beforeUpdate: func() {
			if updates++; updates == 2 {
				c.meanwhile(b, row)
			}
		}}
		if err := outboxdb.New(client, table).Settle(t.Context(), unknownAgain(row, "late")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if after, err := b.Get(t.Context(), id); err != nil || after.RemoteRef != c.want {
			t.Errorf("%s: %v: the reference is %q, want %q", name, err, after.RemoteRef, c.want)
		}
	}
}

func unknownAgain(row outbox.Row, ref string) outbox.Settlement {
	return outbox.Settlement{
		ID: row.ID, Token: row.Token, Status: outbox.StatusOutcomeUnknown, Lane: row.Lane, LaneAt: row.LaneAt, RemoteRef: ref,
	}
}

// TestRowThatIsWrittenAnewMustNotHaveChangedMeanwhile: a row that is too large for its own end is read, and then replaced.
func TestRowThatIsWrittenAnewMustNotHaveChangedMeanwhile(t *testing.T) {
	t.Parallel()
	b, now := newBench(t), time.Now()
	row := foreign("charge#k", now)
	filled(400<<10)(row, now)
	b.write(row)
	read, err := b.Get(t.Context(), outbox.ID{Destination: "charge", Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	client := &between{Client: b.client, beforePut: func() {
		b.write(foreign("charge#k", now))
		b.claimOf(read.ID, nil)
	}}
	end := outbox.Examine(outbox.Policy{}.WithDefaults(), read, now).Settlement
	if err := outboxdb.New(client, table).Settle(t.Context(), end); !errors.Is(err, outbox.ErrConflict) {
		t.Errorf("%v, want a conflict", err)
	}
	if after, err := b.Get(t.Context(), read.ID); err != nil || after.Status != outbox.StatusDispatching || b.item("charge#k")[schema.Payload] == nil {
		t.Errorf("%v: the row that was claimed is %s", err, after.Status)
	}
}
