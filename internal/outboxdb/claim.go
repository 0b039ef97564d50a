package outboxdb

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/schema"
)

// Claim implements [outbox.Store]. It touches neither lane nor lane_at, so that it costs the table a unit
// and the index none.
func (s *Store) Claim(ctx context.Context, c outbox.Claim) (outbox.Row, error) {
	var w write
	if c.From == nil {
		w.claimBlind(c)
	} else if next, err := c.Apply(*c.From); err == nil {
		w.claimFrom(c, next)
	} else {
		return s.grantedBefore(ctx, c) // no row like the one that was read may be claimed so
	}
	w.set(schema.Status, text(schema.StatusDispatching))
	w.set(schema.Token, text(c.Token))
	w.set(schema.ClaimedAt, millis(c.At))
	if c.ClaimedBy == "" {
		w.remove(schema.ClaimedBy)
	} else {
		w.set(schema.ClaimedBy, text(clip(c.ClaimedBy, maxClaimedBy)))
	}
	out, err := s.client.UpdateItem(ctx, w.update(s.table, c.ID, types.ReturnValueAllNew), repeatConflicts)
	if err == nil {
		return Decode(out.Attributes), nil
	}
	if item, refused := refusedItem(err); refused {
		return granted(c, item)
	}
	if invalid(err) {
		return s.unclaimable(ctx, c, err)
	}
	return outbox.Row{}, fmt.Errorf("claim %s: %w", c.ID, err)
}

// claimBlind asks of the row itself what [outbox.Claim.Apply] asks of it, and counts the attempt where it
// is stored. A comparison with an attribute of the wrong type fails; then the row is looked at.
func (w *write) claimBlind(c outbox.Claim) {
	at, zero, one := w.value(millis(c.At)), w.value(number(0)), w.value(number(1))
	attempts, deliverBy := w.name(schema.AttemptCount), w.name(schema.DeliverBy)
	w.requireIs(schema.Status, text(schema.StatusPending))
	w.require(w.name(schema.LaneAt) + " <= " + w.value(millis(c.DueBy())))
	w.requireAbsent(schema.MaybeSince)
	code := w.name(schema.Code)
	w.require("(attribute_not_exists(" + code + ") OR " + code + " <> " + w.value(text(outbox.CodeClaimAbandoned)) + ")")
	w.require("(attribute_not_exists(" + deliverBy + ") OR " + deliverBy + " > " + at + ")")
	w.require("(attribute_not_exists(" + attempts + ") OR " + attempts + " >= " + zero + " AND " + attempts + " < " + w.value(number(c.Attempts)) + ")")
	if !c.Due.IsZero() {
		w.requireIsOrAbsent(schema.Token, text(noToken))
	}
	w.sets = append(w.sets, attempts+" = if_not_exists("+attempts+", "+zero+") + "+one)
	w.set(schema.Until, millis(c.Until))
	w.set(schema.Window, windowSeconds(c.Window))
}

// claimFrom claims the row that was read, or takes it over.
func (w *write) claimFrom(c outbox.Claim, next outbox.Row) {
	w.requireUnchanged(*c.From)
	if c.From.Status == outbox.Pending {
		w.require(w.name(schema.LaneAt) + " <= " + w.value(millis(c.DueBy())))
	}
	w.set(schema.AttemptCount, number(next.AttemptCount))
	w.set(schema.Until, millis(next.Until))
	w.set(schema.Window, windowSeconds(next.Window))
	if !c.From.MayHaveArrived() && next.MayHaveArrived() {
		w.set(schema.MaybeSince, millis(next.MaybeSince))
	}
}

// granted answers a claim whose condition failed: with the row, if it carries this claim's token, because
// then only the first answer was lost.
func granted(c outbox.Claim, item map[string]types.AttributeValue) (outbox.Row, error) {
	if len(item) == 0 {
		return outbox.Row{}, &outbox.RefusedError{}
	}
	row := Decode(item)
	if row.Status == outbox.Dispatching && row.Token == c.Token {
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
