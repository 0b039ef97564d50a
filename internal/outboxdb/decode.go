package outboxdb

import (
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/dynamo"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/schema"
)

// maxClaim is longer than any claim lives; a later end is a mistake.
const maxClaim = 24 * time.Hour

// seen is what was read of the attributes that fence a write: nil where there was none.
type seen struct{ status, token, attemptCount, resolutionID, lookupCount types.AttributeValue }

// Decode reads an item of the outbox table. It never fails: what breaks the row format is said in Unreadable, in words without
// payload and key, and everything else is filled in all the same.
func Decode(item dynamo.Item) outbox.Row {
	r := &dynamo.Reader{Item: item}
	row := outbox.Row{ID: readID(r)}
	row.Status, row.Lane, row.LaneAt = readPlace(r, row.ID)
	row.Payload, row.Binary = readPayload(r)
	row.ContentType, row.Headers = r.Text(schema.ContentType), r.Texts(schema.Headers)
	row.AttemptCount, row.LookupCount = r.Count(schema.AttemptCount), r.Count(schema.LookupCount)
	row.Origin = r.Text(schema.Origin)
	readClaim(r, &row)
	row.MaybeSince = readMaybeSince(r)
	row.Code, row.Cause, row.RemoteRef = r.Text(schema.Code), r.Text(schema.Cause), r.Text(schema.RemoteRef)
	row.CommandID, row.Trace = r.Text(schema.CommandID), r.Text(schema.Trace)
	row.CreatedAt, row.CompletedAt, row.DeliverBy = r.Millis(schema.CreatedAt), r.Millis(schema.CompletedAt), r.Millis(schema.DeliverBy)
	row.ExpiresAt = readExpiry(r, row.Status)
	row.Resolution = readResolution(r)
	if r.Item[schema.CreatedAt] == nil {
		r.Failf(schema.CreatedAt, "is missing")
	}
	most := MaxItem
	if row.Token != "" {
		most += moved
	}
	if putSize(item) > most || row.Token == "" && itemSize(item) > maxItem-claimRoom {
		r.Failf("the item", "of %d bytes, want at most %d: it leaves no room for its outcome", itemSize(item), MaxItem)
	}
	row.Unreadable = r.Err("the row")
	row.Seen = seen{item[schema.Status], item[schema.Token], item[schema.AttemptCount], item[schema.ResolutionID], item[schema.LookupCount]}
	return row
}

func readID(r *dynamo.Reader) outbox.ID {
	pk, _ := r.Item[schema.PK].(*types.AttributeValueMemberS)
	if pk == nil {
		r.Failf(schema.PK, "is missing")
		return outbox.ID{}
	}
	id := outbox.ParsePK(pk.Value)
	if id.Validate() != nil { // its error may quote the text in the place of the destination
		r.Failf(schema.PK, "is not <destination>#<idempotency key>")
	}
	return id
}

// laneOf is the kind of lane that a row of each status is in.
var laneOf = map[outbox.Status]outbox.LaneKind{
	outbox.StatusPending: outbox.DueLane, outbox.StatusDispatching: outbox.DueLane,
	outbox.StatusOutcomeUnknown: outbox.UnknownLane, outbox.StatusFailed: outbox.FailedLane,
	outbox.StatusCompleted: "",
}

// readPlace reads status and lane. A status of a row that is settled, in a lane that it does not belong to,
// counts as invalid: a run that walks that lane would take the listing for stale, again and again, and must be
// able to end the row.
func readPlace(r *dynamo.Reader, id outbox.ID) (outbox.Status, outbox.Lane, time.Time) {
	status := outbox.Status(r.Text(schema.Status))
	kind, known := laneOf[status]
	if !known {
		r.Failf(schema.Status, "is not one of the five")
		status = outbox.StatusInvalid
	}
	at := r.Millis(schema.LaneAt)
	if r.Item[schema.Lane] == nil {
		if known && kind != "" {
			r.Failf(schema.Lane, "is missing")
		}
		return status, outbox.Lane{}, at
	}
	if r.Item[schema.LaneAt] == nil {
		r.Failf(schema.LaneAt, "is missing")
	}
	lane, err := outbox.ParseLane(r.Text(schema.Lane))
	switch {
	case err != nil:
		r.Failf(schema.Lane, "is not <kind>#<destination>#<number>")
		return status, outbox.Lane{}, at
	case lane.Destination != id.Destination:
		r.Failf(schema.Lane, "belongs to another destination")
	}
	if known && lane.Kind != kind {
		r.Failf(schema.Lane, "is not of the kind for the status %s", status)
		if kind != outbox.DueLane {
			status = outbox.StatusInvalid
		}
	}
	return status, lane, at
}

// readClaim reads the last claim.
func readClaim(r *dynamo.Reader, row *outbox.Row) {
	row.Token = r.Text(schema.Token)
	if row.Token == noToken {
		row.Token = ""
	}
	if row.Token == "" {
		if row.Status == outbox.StatusDispatching {
			r.Failf(schema.Token, "is missing, though the row is dispatching")
		} else if s, _ := r.Item[schema.Token].(*types.AttributeValueMemberS); s != nil && s.Value == "" {
			r.Failf(schema.Token, "is empty")
		}
		return
	}
	if row.ClaimedBy = r.Text(schema.ClaimedBy); row.ClaimedBy == noClaimedBy {
		row.ClaimedBy = ""
	}
	row.ClaimedAt, row.Until = r.Millis(schema.ClaimedAt), r.Millis(schema.Until)
	if row.Status == outbox.StatusDispatching && (row.ClaimedAt.IsZero() || row.Until.IsZero()) {
		r.Failf(schema.Until, "or %s is missing, though the row is dispatching", schema.ClaimedAt)
	}
	if row.Until.Sub(row.ClaimedAt) > maxClaim {
		r.Failf(schema.Until, "is more than %v after %s", maxClaim, schema.ClaimedAt)
		row.Until = time.Time{}
	}
	if n, ok := r.Whole(schema.Window, schema.WindowAlways, dynamo.MaxCount); ok && n != schema.WindowAlways {
		row.Window = outbox.Window(time.Duration(n) * time.Second)
	} else if ok {
		row.Window = outbox.Always
	}
}

// readMaybeSince reads when an attempt first may have arrived. What is there and cannot be read means that
// one may have, at any time.
func readMaybeSince(r *dynamo.Reader) time.Time {
	if r.Item[schema.MaybeSince] == nil {
		return time.Time{}
	}
	ms, _ := r.Whole(schema.MaybeSince, 0, dynamo.MaxMillis)
	return time.UnixMilli(ms)
}

// readExpiry reads when the table's TTL deletes the row.
func readExpiry(r *dynamo.Reader, status outbox.Status) time.Time {
	s, ok := r.Whole(schema.ExpiresAt, 0, dynamo.MaxSeconds)
	if !ok {
		return time.Time{}
	}
	if !status.Terminal() {
		r.Failf(schema.ExpiresAt, "on a row that has not ended: it would be deleted before its time")
	}
	return time.Unix(s, 0)
}

// readResolution reads a person's decision. A mistake in it does not make the row unreadable, for nothing depends on it,
// but for its id, which fences the next order.
func readResolution(r *dynamo.Reader) outbox.Resolution {
	by, _ := r.Item[schema.ResolvedBy].(*types.AttributeValueMemberS)
	reason, _ := r.Item[schema.Reason].(*types.AttributeValueMemberS)
	forced, _ := r.Item[schema.Forced].(*types.AttributeValueMemberBOOL)
	at, _ := r.Item[schema.ResolvedAt].(*types.AttributeValueMemberN)
	read := outbox.Resolution{ResolutionID: r.Text(schema.ResolutionID)}
	if id, _ := r.Item[schema.ResolutionID].(*types.AttributeValueMemberS); id != nil && id.Value == "" {
		r.Failf(schema.ResolutionID, "is empty")
	}
	if by != nil {
		read.ResolvedBy = by.Value
	}
	if reason != nil {
		read.Reason = reason.Value
	}
	if at != nil {
		if ms, err := strconv.ParseInt(at.Value, 10, 64); err == nil && ms >= 0 && ms <= dynamo.MaxMillis {
			read.ResolvedAt = time.UnixMilli(ms)
		}
	}
	read.Forced = forced != nil && forced.Value
	return read
}
