package landfall

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"net/textproto"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outboxdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

// MaxPayload bounds a payload, in bytes, before it is compressed. What is stored must fit into a DynamoDB
// item of 398 KB with everything else of the row, so a payload that does not compress is bound by that.
const MaxPayload = outboxdb.MaxPayload

// Bounds of the optional fields, in bytes. DynamoDB, HTTP and the row's own cost set no closer ones.
const (
	maxContentType = 256
	maxHeaders     = 100
	maxHeaderValue = 8000
	maxCommandID   = 256
)

// Row is one effect to cause.
//
// A Row formats and logs itself as "<destination>/<hash>", because its key and payload may be personal.
type Row struct {
	// Destination is a name from the configuration.
	Destination string
	// Key is the idempotency key, which identifies the effect: 1 to 512 bytes of UTF-8
	// without control characters. For http destinations it travels in a header and must be visible ASCII.
	Key string
	// Payload is the exact bytes to send, at most MaxPayload; it may be empty. Text stays text in the table.
	Payload []byte
	// ContentType of the payload. Defaults to application/json.
	ContentType string
	// Headers go with the payload. The destination must allow their names; upper and lower case in names
	// makes no difference.
	Headers map[string]string
	// NotBefore is the earliest time to send. Defaults to at once. Cut to the millisecond.
	NotBefore time.Time
	// DeliverBy is when the effect stops being wanted: no attempt begins then or later. A row that is
	// not completed by then ends as failed, or as unknown if an attempt may have arrived. Defaults to never.
	// Cut to the millisecond.
	DeliverBy time.Time
	// CommandID is the command that caused the effect, for people and audits: at most 256 bytes of UTF-8
	// without control characters. Optional.
	CommandID string
	// Trace is the W3C traceparent of the caller, passed on to the destination. Optional.
	Trace string
}

func (r Row) id() outbox.ID { return outbox.ID{Destination: r.Destination, Key: r.Key} }

// String is the name that Landfall's logs use for the row. It reveals neither key nor payload.
func (r Row) String() string { return r.id().String() }

// GoString keeps key and payload out of %#v, too.
func (r Row) GoString() string { return r.String() }

// LogValue keeps key and payload out of structured logs.
func (r Row) LogValue() slog.Value { return r.id().LogValue() }

// pending checks the row and makes it what is stored.
func (r Row) pending(cfg Config, now time.Time) (outbox.Row, error) {
	check := checker{row: r}
	to := check.destination(cfg)
	check.key(to)
	check.size()
	headers := check.headers(to)
	check.times()
	check.texts()
	if check.err != nil {
		return outbox.Row{}, check.err
	}
	now = now.Truncate(time.Millisecond)
	id := r.id()
	due := now
	if r.NotBefore.After(due) {
		due = r.NotBefore.Truncate(time.Millisecond)
	}
	row := outbox.Row{
		ID: id, Status: outbox.StatusPending, CreatedAt: now, LaneAt: due.Add(to.HeadStart),
		Lane:    outbox.Lane{Kind: outbox.DueLane, Destination: r.Destination, Shard: id.Shard(to.Shards)},
		Payload: r.Payload, Binary: !utf8.Valid(r.Payload), Headers: headers,
		CommandID: r.CommandID, Trace: r.Trace,
	}
	if r.ContentType != schema.DefaultContentType {
		row.ContentType = r.ContentType
	}
	if !r.DeliverBy.IsZero() {
		row.DeliverBy = r.DeliverBy.Truncate(time.Millisecond)
	}
	row.Origin = origin(row, r.NotBefore)
	return row, nil
}

// checker keeps the first rule that a row breaks.
type checker struct {
	row Row
	err error
}

func (c *checker) failf(field, format string, args ...any) {
	if c.err == nil {
		c.err = &RowError{Field: field, Problem: fmt.Sprintf(format, args...), row: c.row.id()}
	}
}

func (c *checker) destination(cfg Config) Destination {
	name := c.row.Destination
	to, known := cfg.Destinations[name]
	switch err := outbox.ValidateDestination(name); {
	case len(cfg.Destinations) == 0:
		c.failf("Destination", "unknown destination %.70q; the configuration has no destinations", name)
	case !known:
		c.failf("Destination", "unknown destination %.70q; the configuration has %s", name,
			strings.Join(slices.Sorted(maps.Keys(cfg.Destinations)), ", "))
	case err != nil:
		c.failf("Destination", "the configuration has an invalid name: %v", err)
	case to.Retired:
		c.failf("Destination", "%s is retired and takes no new rows", name)
	case to.HeadStart < 0:
		c.failf("Destination", "the configuration gives %s a head start of %v, want 0 or more", name, to.HeadStart)
	case to.Shards < 0:
		c.failf("Destination", "the configuration gives %s %d shards, want 1 or more", name, to.Shards)
	}
	return to
}

func (c *checker) key(to Destination) {
	if err := c.row.id().Validate(); err != nil {
		c.failf("Key", "%v", err) // the destination is in order here, so it is the key
	}
	if to.Kind != "" && to.Kind != kindHTTP {
		return
	}
	for i, b := range []byte(c.row.Key) {
		if b <= ' ' || b > '~' {
			c.failf("Key", "byte %d is not visible ASCII; http destinations get the key in a header", i)
			return
		}
	}
}

func (c *checker) size() {
	if n := len(c.row.Payload); n > MaxPayload {
		c.failf("Payload", "%d bytes, want at most %d", n, MaxPayload)
	}
}

// headers returns the row's headers under their canonical names.
func (c *checker) headers(to Destination) map[string]string {
	if len(c.row.Headers) == 0 {
		return nil
	}
	if n := len(c.row.Headers); n > maxHeaders {
		c.failf("Headers", "%d headers, want at most %d", n, maxHeaders)
	}
	canonical := make(map[string]string, len(c.row.Headers))
	for _, name := range slices.Sorted(maps.Keys(c.row.Headers)) {
		as, value := textproto.CanonicalMIMEHeaderKey(name), c.row.Headers[name]
		if !slices.ContainsFunc(to.Headers, func(allowed string) bool { return textproto.CanonicalMIMEHeaderKey(allowed) == as }) {
			c.failf("Headers", "the destination does not allow %.100q; its row_headers allow %s", name, cmp.Or(strings.Join(to.Headers, ", "), "none"))
		}
		if _, twice := canonical[as]; twice {
			c.failf("Headers", "%s is given twice, in different case; remove one", as)
		}
		if !visible(value, maxHeaderValue) {
			c.failf("Headers", "the value of %s must be visible ASCII with inner spaces, at most %d bytes", as, maxHeaderValue)
		}
		canonical[as] = value
	}
	return canonical
}

// lastTime is as late as times of rows go: 14 digits of milliseconds.
var lastTime = time.UnixMilli(1e14 - 1)

func (c *checker) times() {
	notBefore, deliverBy := c.row.NotBefore.Truncate(time.Millisecond), c.row.DeliverBy.Truncate(time.Millisecond)
	c.time("NotBefore", notBefore)
	c.time("DeliverBy", deliverBy)
	if !deliverBy.IsZero() && !deliverBy.After(notBefore) {
		c.failf("DeliverBy", "must be after NotBefore; otherwise the row could never be sent")
	}
}

func (c *checker) time(field string, t time.Time) {
	if !t.IsZero() && (t.Before(time.UnixMilli(0)) || t.After(lastTime)) {
		c.failf(field, "must be between the years 1970 and 5138")
	}
}

func (c *checker) texts() {
	if !visible(c.row.ContentType, maxContentType) {
		c.failf("ContentType", "must be visible ASCII with inner spaces, at most %d bytes", maxContentType)
	}
	if id := c.row.CommandID; len(id) > maxCommandID || !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsControl) {
		c.failf("CommandID", "must be UTF-8 without control characters, at most %d bytes", maxCommandID)
	}
	if c.row.Trace != "" && outbox.Traceparent(c.row.Trace) == "" {
		c.failf("Trace", "must be a W3C traceparent (00-<32 hex digits>-<16 hex digits>-<2 hex digits>)")
	}
}

// visible reports whether s can be the value of a header: visible ASCII, and spaces and tabs inside.
func visible(s string, most int) bool {
	for _, b := range []byte(s) {
		if (b < ' ' || b > '~') && b != '\t' {
			return false
		}
	}
	return len(s) <= most && s == strings.Trim(s, " \t")
}
