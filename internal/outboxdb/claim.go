package outboxdb

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/dynamo"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/schema"
)

var abandoned = dynamo.Text(outbox.CodeClaimAbandoned)

// Claim implements [outbox.Store]. It touches neither lane nor lane_at, so that it costs the table a unit
// and the index none.
func (s *Store) Claim(ctx context.Context, c outbox.Claim) (outbox.Row, error) {
	var w dynamo.Write
	at := w.Value(dynamo.Millis(c.At))
	if c.From == nil {
		claimBlind(&w, c, at)
	} else if next, err := c.Apply(*c.From); err == nil {
		claimFrom(&w, c, next)
	} else {
		return s.grantedBefore(ctx, c) // no row like the one that was read may be claimed so
	}
	w.Set(schema.Status, dispatching)
	w.Set(schema.Token, dynamo.Text(c.Token))
	w.SetTo(schema.ClaimedAt, at)
	if c.ClaimedBy == "" {
		w.Remove(schema.ClaimedBy)
	} else {
		w.Set(schema.ClaimedBy, dynamo.Text(dynamo.Clip(c.ClaimedBy, maxClaimedBy)))
	}
	out, err := s.client.UpdateItem(ctx, w.Update(&s.table, key(c.ID), types.ReturnValueAllNew), dynamo.RepeatConflicts)
	if err == nil {
		return Decode(out.Attributes), nil
	}
	if item, refused := dynamo.Refused(err); refused {
		return granted(c, item)
	}
	if invalid(err) {
		return s.unclaimable(ctx, c, err)
	}
	return outbox.Row{}, fmt.Errorf("claim %s: %w", c.ID, err)
}

// claimBlind asks of the row itself what [outbox.Claim.Apply] asks of it, and counts the attempt where it
// is stored. A comparison with an attribute of the wrong type fails; then the row is looked at.
func claimBlind(w *dynamo.Write, c outbox.Claim, at string) {
	const attempts = schema.AttemptCount
	none := w.Value(zero)
	w.RequireIs(schema.Status, pending)
	w.Require(schema.LaneAt, " <= ", w.Value(dynamo.Millis(c.DueBy())))
	w.RequireAbsent(schema.MaybeSince)
	w.RequireOrAbsent(schema.Code, " <> ", w.Value(abandoned))
	w.RequireOrAbsent(schema.DeliverBy, " > ", at)
	w.Require("(attribute_not_exists(", attempts, ") OR ", attempts, " >= ", none, " AND ", attempts, " < ", w.Value(dynamo.Number(c.Attempts)), ")")
	if c.Due.IsZero() {
		w.RequireOrAbsent(schema.Token, " <> ", w.Value(dynamo.Text(c.Token)))
	} else {
		w.RequireIsOrAbsent(schema.Token, neverHeld)
	}
	w.SetTo(attempts, "if_not_exists(", attempts, ", ", none, ") + ", w.Value(one))
	w.Set(schema.Until, dynamo.Millis(c.Until))
	w.Set(schema.Window, windowSeconds(c.Window))
}

// claimFrom claims the row that was read, or takes it over.
func claimFrom(w *dynamo.Write, c outbox.Claim, next outbox.Row) {
	requireUnchanged(w, *c.From)
	if c.From.MayHaveArrived() {
		w.RequireIs(schema.MaybeSince, dynamo.Millis(c.From.MaybeSince))
	} else {
		w.RequireAbsent(schema.MaybeSince)
	}
	if c.From.Status == outbox.StatusPending {
		w.Require(schema.LaneAt, " <= ", w.Value(dynamo.Millis(c.DueBy())))
	}
	w.Set(schema.AttemptCount, dynamo.Number(next.AttemptCount))
	w.Set(schema.Until, dynamo.Millis(next.Until))
	w.Set(schema.Window, windowSeconds(next.Window))
	if !c.From.MayHaveArrived() && next.MayHaveArrived() {
		w.Set(schema.MaybeSince, dynamo.Millis(next.MaybeSince))
	}
}

// granted answers a claim whose condition failed: with the row, if it carries this claim's token, because
// then only the first answer was lost.
func granted(c outbox.Claim, item dynamo.Item) (outbox.Row, error) {
	if len(item) == 0 {
		return outbox.Row{}, &outbox.RefusedError{}
	}
	row := Decode(item)
	if row.Status == outbox.StatusDispatching && row.Token == c.Token {
		return row, nil
	}
	return outbox.Row{}, &outbox.RefusedError{Row: row}
}

func (s *Store) grantedBefore(ctx context.Context, c outbox.Claim) (outbox.Row, error) {
	item, err := s.read(ctx, c.ID)
	if err != nil {
		return outbox.Row{}, fmt.Errorf("claim %s: %w", c.ID, err)
	}
	return granted(c, item)
}

// unclaimable answers a claim that the service would never make. If the row cannot be read, it is refused,
// with the row, so that it is ended without. Otherwise the trouble is not the row's, and it stays.
func (s *Store) unclaimable(ctx context.Context, c outbox.Claim, cause error) (outbox.Row, error) {
	row, err := s.grantedBefore(ctx, c)
	var refused *outbox.RefusedError
	if errors.As(err, &refused) && refused.Row.Unreadable == nil {
		return outbox.Row{}, fmt.Errorf("claim %s: %w", c.ID, cause)
	}
	return row, err
}
