package outboxdb

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/schema"
)

// Bounds of what is read. They are powers of ten, so that a pattern can say them, too.
const (
	// maxMillis and maxSeconds end in the year 5138. Later times are mistakes: nanoseconds, for one.
	maxMillis  = 1e14 - 1
	maxSeconds = 1e11 - 1
	// maxCount bounds counters, and windows in seconds.
	maxCount = 1e9 - 1
	// maxClaim is longer than any claim lives; one that ends later is no claim.
	maxClaim = 24 * time.Hour
)

// seen is what was read of the attributes that fence a write: nil where there was none.
type seen struct{ status, token, attemptCount, lookupCount types.AttributeValue }

// Decode reads an item of the outbox table. It never fails: what breaks the row format is said in Unreadable, in words without
// payload and key, and everything else is filled in all the same.
func Decode(item map[string]types.AttributeValue) outbox.Row {
	r := &reader{item: item}
	row := outbox.Row{ID: r.id()}
	row.Status, row.Lane, row.LaneAt = r.place(row.ID)
	row.Payload, row.Binary = r.payload()
	row.ContentType, row.Headers = r.text(schema.ContentType), r.headers()
	row.AttemptCount, row.LookupCount = r.count(schema.AttemptCount), r.count(schema.LookupCount)
	row.Origin = r.text(schema.Origin)
	r.claim(&row)
	row.MaybeSince = r.maybeSince()
	row.Code, row.RemoteRef = r.text(schema.Code), r.text(schema.RemoteRef)
	row.CommandID, row.Trace = r.text(schema.CommandID), r.text(schema.Trace)
	row.CreatedAt, row.CompletedAt, row.DeliverBy = r.millis(schema.CreatedAt), r.millis(schema.CompletedAt), r.millis(schema.DeliverBy)
	row.ExpiresAt = r.expiry(row.Status)
	row.Resolution = r.resolution()
	if r.item[schema.CreatedAt] == nil {
		r.failf(schema.CreatedAt, "missing")
	}
	most := MaxItem
	if row.Token != "" {
		most += moved
	}
	if putSize(item) > most || row.Token == "" && itemSize(item) > maxItem-claimRoom {
		r.failf("the item", "of %d bytes, want at most %d: it leaves no room for its outcome", itemSize(item), MaxItem)
	}
	row.Unreadable = r.err()
	row.Seen = seen{item[schema.Status], item[schema.Token], item[schema.AttemptCount], item[schema.LookupCount]}
	return row
}

// reader reads attributes and collects what is wrong with them.
type reader struct {
	item     map[string]types.AttributeValue
	problems []string
}

func (r *reader) failf(attribute, format string, args ...any) {
	r.problems = append(r.problems, attribute+" "+fmt.Sprintf(format, args...))
}

func (r *reader) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	return errors.New("the row cannot be read: " + strings.Join(r.problems, "; "))
}

func (r *reader) id() outbox.ID {
	pk, _ := r.item[schema.PK].(*types.AttributeValueMemberS)
	if pk == nil {
		r.failf(schema.PK, "missing")
		return outbox.ID{}
	}
	id := outbox.ParsePK(pk.Value)
	if id.Validate() != nil { // whose text may quote what is in the place of the destination
		r.failf(schema.PK, "is not <destination>#<idempotency key>")
	}
	return id
}

// laneOf is the kind of lane that a row of each status is in.
var laneOf = map[outbox.Status]outbox.LaneKind{
	outbox.Pending: outbox.DueLane, outbox.Dispatching: outbox.DueLane,
	outbox.OutcomeUnknown: outbox.UnknownLane, outbox.FailedRow: outbox.FailedLane,
	outbox.CompletedRow: "",
}

// place reads status and lane. A status of a row that is settled, in a lane that it does not belong to, is
// as good as none: whoever walks that lane would take the listing for stale, again and again, and must be
// able to end the row.
func (r *reader) place(id outbox.ID) (outbox.Status, outbox.Lane, time.Time) {
	status := outbox.Status(r.text(schema.Status))
	kind, known := laneOf[status]
	if !known {
		r.failf(schema.Status, "is none of the five")
		status = outbox.InvalidStatus
	}
	at := r.millis(schema.LaneAt)
	if r.item[schema.Lane] == nil {
		if known && kind != "" {
			r.failf(schema.Lane, "missing")
		}
		return status, outbox.Lane{}, at
	}
	if r.item[schema.LaneAt] == nil {
		r.failf(schema.LaneAt, "missing")
	}
	lane, err := outbox.ParseLane(r.text(schema.Lane))
	switch {
	case err != nil:
		r.failf(schema.Lane, "is not <kind>#<destination>#<number>")
		return status, outbox.Lane{}, at
	case lane.Destination != id.Destination:
		r.failf(schema.Lane, "is one of another destination")
	}
	if known && lane.Kind != kind {
		r.failf(schema.Lane, "is none for the status %s", status)
		if kind != outbox.DueLane {
			status = outbox.InvalidStatus
		}
	}
	return status, lane, at
}

// claim reads the last claim.
func (r *reader) claim(row *outbox.Row) {
	row.Token = r.text(schema.Token)
	if row.Token == noToken {
		row.Token = ""
	}
	if row.Token == "" {
		if row.Status == outbox.Dispatching {
			r.failf(schema.Token, "missing, though the row is dispatching")
		} else if s, _ := r.item[schema.Token].(*types.AttributeValueMemberS); s != nil && s.Value == "" {
			r.failf(schema.Token, "is empty")
		}
		return
	}
	if row.ClaimedBy = r.text(schema.ClaimedBy); row.ClaimedBy == noClaimedBy {
		row.ClaimedBy = ""
	}
	row.ClaimedAt, row.Until = r.millis(schema.ClaimedAt), r.millis(schema.Until)
	if row.Status == outbox.Dispatching && (row.ClaimedAt.IsZero() || row.Until.IsZero()) {
		r.failf(schema.Until, "or %s missing, though the row is dispatching", schema.ClaimedAt)
	}
	if row.Until.Sub(row.ClaimedAt) > maxClaim {
		r.failf(schema.Until, "is more than %v after %s", maxClaim, schema.ClaimedAt)
		row.Until = time.Time{}
	}
	if n, ok := r.whole(schema.Window, schema.WindowAlways, maxCount); ok && n != schema.WindowAlways {
		row.Window = outbox.Window(time.Duration(n) * time.Second)
	} else if ok {
		row.Window = outbox.Always
	}
}

// maybeSince reads when an attempt first may have arrived. What is there and cannot be read means that
// one may have, at any time.
func (r *reader) maybeSince() time.Time {
	if r.item[schema.MaybeSince] == nil {
		return time.Time{}
	}
	ms, _ := r.whole(schema.MaybeSince, 0, maxMillis)
	return time.UnixMilli(ms)
}

// expiry reads when the table's TTL deletes the row.
func (r *reader) expiry(status outbox.Status) time.Time {
	s, ok := r.whole(schema.ExpiresAt, 0, maxSeconds)
	if !ok {
		return time.Time{}
	}
	if !status.Terminal() {
		r.failf(schema.ExpiresAt, "on a row that has not ended: it would be deleted before its time")
	}
	return time.Unix(s, 0)
}

// resolution reads what a person decided. It decides nothing any more, so that nothing of it spoils a row.
func (r *reader) resolution() outbox.Resolution {
	by, _ := r.item[schema.ResolvedBy].(*types.AttributeValueMemberS)
	reason, _ := r.item[schema.Reason].(*types.AttributeValueMemberS)
	forced, _ := r.item[schema.Forced].(*types.AttributeValueMemberBOOL)
	at, _ := r.item[schema.ResolvedAt].(*types.AttributeValueMemberN)
	var read outbox.Resolution
	if by != nil {
		read.ResolvedBy = by.Value
	}
	if reason != nil {
		read.Reason = reason.Value
	}
	if at != nil {
		if ms, err := strconv.ParseInt(at.Value, 10, 64); err == nil && ms >= 0 && ms <= maxMillis {
			read.ResolvedAt = time.UnixMilli(ms)
		}
	}
	read.Forced = forced != nil && forced.Value
	return read
}

func (r *reader) headers() map[string]string {
	switch v := r.item[schema.Headers].(type) {
	case nil:
		return nil
	case *types.AttributeValueMemberM:
		headers := make(map[string]string, len(v.Value))
		for name, value := range v.Value {
			s, ok := value.(*types.AttributeValueMemberS)
			if !ok {
				r.failf(schema.Headers, "has a value of type %s, want S", kind(value))
				continue
			}
			headers[name] = s.Value
		}
		return headers
	default:
		r.failf(schema.Headers, "of type %s, want M", kind(v))
		return nil
	}
}

// text reads a text; "" if there is none.
func (r *reader) text(name string) string {
	switch v := r.item[name].(type) {
	case nil:
	case *types.AttributeValueMemberS:
		return v.Value
	default:
		r.failf(name, "of type %s, want S", kind(v))
	}
	return ""
}

// whole reads a whole number within bounds; ok is false if there is none.
func (r *reader) whole(name string, least, most int64) (n int64, ok bool) {
	switch v := r.item[name].(type) {
	case nil:
		return 0, false
	case *types.AttributeValueMemberN:
		n, err := strconv.ParseInt(v.Value, 10, 64)
		if err == nil && n >= least && n <= most {
			return n, true
		}
		r.failf(name, "is no whole number from %d to %d", least, most)
	default:
		r.failf(name, "of type %s, want N", kind(v))
	}
	return 0, false
}

func (r *reader) count(name string) int {
	n, _ := r.whole(name, 0, maxCount)
	return int(n)
}

func (r *reader) millis(name string) time.Time {
	ms, ok := r.whole(name, 0, maxMillis)
	if !ok {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// kind is the name of a value's type, as DynamoDB calls it.
func kind(v types.AttributeValue) string {
	return strings.TrimPrefix(fmt.Sprintf("%T", v), "*types.AttributeValueMember")
}
