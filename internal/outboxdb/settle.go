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

// Bounds, in bytes, of what a sender has to say and of what is wrong with a row. What is longer is cut. The domain bounds what a person says.
const (
	maxCode      = 128
	maxCause     = 256
	maxRemoteRef = outbox.MaxRefBytes
)

// Settle implements [outbox.Store].
func (s *Store) Settle(ctx context.Context, st outbox.Settlement) error {
	st.Code, st.Cause = dynamo.Clip(st.Code, maxCode), dynamo.Clip(st.Cause, maxCause)
	st.RemoteRef = dynamo.Clip(st.RemoteRef, maxRemoteRef)
	var w dynamo.Write
	if !fence(&w, st) {
		return s.settledBefore(ctx, st)
	}
	settle(&w, st)
	_, err := s.client.UpdateItem(ctx, w.Update(&s.table, key(st.ID), types.ReturnValueNone), dynamo.RepeatConflicts)
	if err == nil {
		return nil
	}
	if item, refused := dynamo.Refused(err); refused {
		return s.settled(ctx, st, item)
	}
	if invalid(err) && st.Status != outbox.StatusPending {
		return s.settleInPlace(ctx, st, err)
	}
	return fmt.Errorf("settle %s: %w", st.ID, err)
}

// fence adds the conditions of a settlement. It returns false if the settlement is illegal whatever the
// row is, or has taken effect before; then nothing must be written.
func fence(w *dynamo.Write, st outbox.Settlement) bool {
	if st.From == nil {
		return fenceHolder(w, st)
	}
	if _, err := st.Apply(*st.From); err != nil || st.Repeats(*st.From) {
		return false
	}
	requireUnchanged(w, *st.From)
	if st.Status == outbox.StatusOutcomeUnknown {
		requireLookups(w, *st.From)
	}
	if st.From.Status != outbox.StatusOutcomeUnknown && st.Status != outbox.StatusOutcomeUnknown {
		w.RequireAbsent(schema.MaybeSince) // failed, or an operator's retry: nothing may have arrived
	}
	return true
}

// fenceHolder: the claim that the token names is the last one, and not settled yet. A late Completed also
// settles what is unknown.
func fenceHolder(w *dynamo.Write, st outbox.Settlement) bool {
	if st.Token == "" {
		return false
	}
	w.RequireIs(schema.Token, dynamo.Text(st.Token))
	status, held := w.Name(schema.Status), w.Value(dispatching)
	switch st.Status {
	case outbox.StatusCompleted:
		w.Require(status, " IN (", held, ", ", w.Value(dynamo.Text(schema.StatusOutcomeUnknown)), ")")
	case outbox.StatusFailed:
		w.Require(status, " = ", held)
		w.RequireAbsent(schema.MaybeSince)
	case outbox.StatusPending, outbox.StatusOutcomeUnknown:
		w.Require(status, " = ", held)
	default:
		return false
	}
	return true
}

func requireLookups(w *dynamo.Write, row outbox.Row) {
	if raw, ok := row.Seen.(seen); ok && row.Unreadable != nil {
		w.RequireIs(schema.LookupCount, raw.lookupCount)
	} else {
		requireCount(w, schema.LookupCount, row.LookupCount)
	}
}

// settle adds what [outbox.Settlement.Apply] changes.
func settle(w *dynamo.Write, st outbox.Settlement) {
	w.Set(schema.Status, dynamo.Text(string(st.Status)))
	if st.Lane == (outbox.Lane{}) {
		w.Remove(schema.Lane)
		w.Remove(schema.LaneAt)
	} else {
		w.Set(schema.Lane, dynamo.Text(st.Lane.String()))
		w.Set(schema.LaneAt, dynamo.Millis(st.LaneAt))
	}
	if st.Certain {
		w.Remove(schema.MaybeSince)
	} else if !st.MaybeSince.IsZero() {
		w.Set(schema.MaybeSince, dynamo.Millis(st.MaybeSince))
	}
	switch {
	case st.Status == outbox.StatusCompleted:
		w.Remove(schema.Code)
		w.Remove(schema.Cause)
	case st.Code != "":
		w.Set(schema.Code, dynamo.Text(st.Code))
		if st.Cause == "" {
			w.Remove(schema.Cause)
		} else {
			w.Set(schema.Cause, dynamo.Text(st.Cause))
		}
	}
	if st.RemoteRef != "" {
		w.Set(schema.RemoteRef, dynamo.Text(st.RemoteRef))
	}
	if !st.CompletedAt.IsZero() {
		w.Set(schema.CompletedAt, dynamo.Millis(st.CompletedAt))
	}
	if st.ExpiresAt.IsZero() {
		w.Remove(schema.ExpiresAt)
	} else {
		w.Set(schema.ExpiresAt, expiry(st.ExpiresAt))
	}
	if st.LookedUp && st.From != nil {
		w.Set(schema.LookupCount, dynamo.Number(st.From.LookupCount+1))
	}
	if st.NewBudget {
		w.Set(schema.AttemptCount, dynamo.Number(0))
	}
	if !st.ResolvedAt.IsZero() {
		resolve(w, st.Resolution)
	}
}

// resolve replaces what a person decided before.
func resolve(w *dynamo.Write, r outbox.Resolution) {
	item := dynamo.Item{}
	putResolution(item, r)
	for _, name := range []string{schema.ResolutionID, schema.ResolvedBy, schema.ResolvedAt, schema.Reason, schema.Forced} {
		w.SetOrRemove(name, item[name])
	}
}

// settled answers a settlement whose condition failed: it succeeded if the row shows that it took effect
// before. Then a repeated unknown still fills in a missing reference.
func (s *Store) settled(ctx context.Context, st outbox.Settlement, item dynamo.Item) error {
	if len(item) == 0 {
		return outbox.ErrConflict
	}
	row := Decode(item)
	if !st.Repeats(row) {
		return outbox.ErrConflict
	}
	if row.Status == outbox.StatusOutcomeUnknown && row.RemoteRef == "" && st.RemoteRef != "" {
		return s.fillReference(ctx, st, row)
	}
	return nil
}

func (s *Store) settledBefore(ctx context.Context, st outbox.Settlement) error {
	item, err := s.read(ctx, st.ID)
	if err != nil {
		return fmt.Errorf("settle %s: %w", st.ID, err)
	}
	return s.settled(ctx, st, item)
}

func (s *Store) fillReference(ctx context.Context, st outbox.Settlement, row outbox.Row) error {
	var w dynamo.Write
	requireUnchanged(&w, row)
	w.RequireAbsent(schema.RemoteRef)
	w.Set(schema.RemoteRef, dynamo.Text(st.RemoteRef))
	_, err := s.client.UpdateItem(ctx, w.Update(&s.table, key(st.ID), types.ReturnValueNone), dynamo.RepeatConflicts)
	if _, moved := dynamo.Refused(err); err != nil && !moved {
		return fmt.Errorf("settle %s: fill in the reference: %w", st.ID, err)
	}
	return nil
}

// settleInPlace settles a row that the settlement does not fit into: one that a foreign writer filled to
// the brim and that, because of that, was never sent. It is written anew, under the same conditions,
// without payload, headers and what Landfall does not know. Such a row always fits; what it leaves out is
// lost, which is why nothing else is settled so.
func (s *Store) settleInPlace(ctx context.Context, st outbox.Settlement, cause error) error {
	item, err := s.read(ctx, st.ID)
	if err != nil {
		return fmt.Errorf("settle %s: %w", st.ID, errors.Join(cause, err))
	}
	if itemSize(item) <= MaxItem {
		return fmt.Errorf("settle %s: %w", st.ID, cause) // it fits: something else is wrong
	}
	row, err := st.Apply(Decode(item))
	if err != nil {
		return s.settled(ctx, st, item)
	}
	const maxText = 256
	for _, t := range []*string{
		&row.ContentType, &row.Origin, &row.CommandID, &row.Trace, &row.Code, &row.Cause, &row.RemoteRef, &row.ResolvedBy, &row.Reason,
		&row.ResolutionID,
	} {
		*t = dynamo.Clip(*t, maxText)
	}
	kept := withoutPayload(row)
	for _, name := range []string{schema.Token, schema.ClaimedBy, schema.ClaimedAt, schema.Until, schema.Window} {
		if v := item[name]; v != nil && valueSize(v) <= maxText {
			kept[name] = v
		}
	}
	var w dynamo.Write
	fence(&w, st)
	_, err = s.client.PutItem(ctx, w.Put(&s.table, kept), dynamo.RepeatConflicts)
	if item, refused := dynamo.Refused(err); refused {
		return s.settled(ctx, st, item)
	}
	if err != nil {
		return fmt.Errorf("settle %s without its payload: %w", st.ID, err)
	}
	return nil
}
