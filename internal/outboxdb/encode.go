package outboxdb

import (
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/dynamo"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/schema"
)

// A new row has place-holders where a claim will write, so that no claim of it and, unless the remote
// names the effect, no completion grows the item past a step of 1 KB and costs a unit more. A token that
// is a place-holder says that the row was never claimed; then nothing of the last claim is looked at.
const (
	// noToken is as long as a token: 128 bits in base64url. None consists of hyphens, because the last of
	// 22 characters holds two bits.
	noToken = "----------------------"
	// maxClaimedBy bounds claimed_by, in bytes: a request id is a UUID.
	maxClaimedBy = 36
	// slack is what else grows: status (4 more in dispatching), attempt_count (up to 2), and on
	// completion completed_at and expires_at against lane and lane_at (up to 11).
	slack = 17
	// noTime has the 13 digits of epoch milliseconds, noWindow more than any window of ten years.
	noTime   = "1111111111111"
	noWindow = "111111111"
)

var noClaimedBy = strings.Repeat("-", maxClaimedBy+slack)

// expiry is a time to live, rounded up to whole seconds: retention is never cut short.
func expiry(t time.Time) types.AttributeValue {
	return dynamo.Number(t.Add(time.Second - time.Nanosecond).Unix())
}

// windowSeconds is a window as stored.
func windowSeconds(w outbox.Window) types.AttributeValue {
	if w == outbox.Always {
		return dynamo.Number(schema.WindowAlways)
	}
	return dynamo.Number(int64(time.Duration(w) / time.Second))
}

// encode is a row as an item: what a put writes.
func encode(row outbox.Row) dynamo.Item {
	item := withoutPayload(row)
	if len(row.Headers) > 0 {
		headers := make(dynamo.Item, len(row.Headers))
		for name, value := range row.Headers {
			headers[name] = dynamo.Text(value)
		}
		item[schema.Headers] = &types.AttributeValueMemberM{Value: headers}
	}
	putPayload(item, row)
	return item
}

// withoutPayload is what an item of the row has besides payload and headers.
func withoutPayload(row outbox.Row) dynamo.Item {
	item := dynamo.Item{
		schema.PK:           dynamo.Text(row.PK()),
		schema.Status:       dynamo.Text(string(row.Status)),
		schema.AttemptCount: dynamo.Number(row.AttemptCount),
		schema.Token:        dynamo.Text(noToken),
		schema.ClaimedBy:    dynamo.Text(noClaimedBy),
		schema.ClaimedAt:    &types.AttributeValueMemberN{Value: noTime},
		schema.Until:        &types.AttributeValueMemberN{Value: noTime},
		schema.Window:       &types.AttributeValueMemberN{Value: noWindow},
	}
	if row.Lane != (outbox.Lane{}) {
		item[schema.Lane], item[schema.LaneAt] = dynamo.Text(row.Lane.String()), dynamo.Millis(row.LaneAt)
	}
	for name, value := range map[string]string{
		schema.ContentType: row.ContentType, schema.Origin: row.Origin, schema.Code: row.Code, schema.Cause: row.Cause,
		schema.RemoteRef: row.RemoteRef, schema.CommandID: row.CommandID, schema.Trace: row.Trace,
	} {
		if value != "" {
			item[name] = dynamo.Text(value)
		}
	}
	for name, t := range map[string]time.Time{
		schema.CreatedAt: row.CreatedAt, schema.DeliverBy: row.DeliverBy,
		schema.MaybeSince: row.MaybeSince, schema.CompletedAt: row.CompletedAt,
	} {
		if !t.IsZero() {
			item[name] = dynamo.Millis(t)
		}
	}
	if !row.ExpiresAt.IsZero() {
		item[schema.ExpiresAt] = expiry(row.ExpiresAt)
	}
	if row.LookupCount != 0 {
		item[schema.LookupCount] = dynamo.Number(row.LookupCount)
	}
	putResolution(item, row.Resolution)
	return item
}

func putResolution(item dynamo.Item, r outbox.Resolution) {
	if r.ResolutionID != "" {
		item[schema.ResolutionID] = dynamo.Text(r.ResolutionID)
	}
	if r.ResolvedBy != "" {
		item[schema.ResolvedBy] = dynamo.Text(r.ResolvedBy)
	}
	if !r.ResolvedAt.IsZero() {
		item[schema.ResolvedAt] = dynamo.Millis(r.ResolvedAt)
	}
	if r.Reason != "" {
		item[schema.Reason] = dynamo.Text(r.Reason)
	}
	if r.Forced {
		item[schema.Forced] = &types.AttributeValueMemberBOOL{Value: true}
	}
}
