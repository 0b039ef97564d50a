// Package schema names what Landfall keeps in DynamoDB: environment variables, tables, keys, indexes, attributes,
// status texts and kinds of lanes. The functions, the command line, the writers' SDK and the CDK app read the same
// names from here.
//
// It holds names alone. What a row means and how it may move is package outbox; how it is read and written is
// package outboxdb. It imports nothing, so that anything may import it.
package schema

// Environment variables that name the tables, and the tables' names where none is set. The command line's
// --stack takes precedence over the variables.
const (
	OutboxTableEnv = "LANDFALL_OUTBOX_TABLE"
	OutboxTable    = "landfall-outbox"

	ReceiptsTableEnv = "LANDFALL_RECEIPTS_TABLE"
	ReceiptsTable    = "landfall-receipts"

	ControlTableEnv = "LANDFALL_CONTROL_TABLE"
	ControlTable    = "landfall-control"
)

// MetricsNamespaceEnv names the CloudWatch namespace of a function's metrics: one per stack, so that no stack sets
// off another's alarms.
const MetricsNamespaceEnv = "LANDFALL_METRICS_NAMESPACE"

// ConfigEnv names the file that a function reads instead of ConfigFile, which lies beside its binary.
const (
	ConfigEnv  = "LANDFALL_CONFIG"
	ConfigFile = "landfall.json"
)

// LaneIndex is the outbox table's only index: partition key Lane, sort key LaneAt, KEYS_ONLY. It is sparse: a row
// without a lane (a completed one) is not in it.
const LaneIndex = "lane-index"

// Attributes of an outbox row. The letter is the DynamoDB type. Times are epoch milliseconds unless said otherwise.
const (
	// PK (S) is the table's only key: destination, Separator, idempotency key.
	PK = "pk"
	// Status (S) is one of the Status texts below.
	Status = "status"
	// Lane (S) is lane kind, Separator, destination, Separator, shard number in decimal. Absent once completed.
	Lane = "lane"
	// LaneAt (N) is when the row next wants attention in its lane.
	LaneAt = "lane_at"
	// Payload (S or B) is the exact bytes to send.
	Payload = "payload"
	// PayloadEncoding (S) is absent or PayloadGzip.
	PayloadEncoding = "payload_encoding"
	// ContentType (S) of the payload; absent means DefaultContentType.
	ContentType = "content_type"
	// Headers (M of S) go with the payload where the destination allows them.
	Headers = "headers"
	// AttemptCount (N) counts claims, LookupCount (N) lookups.
	AttemptCount = "attempt_count"
	LookupCount  = "lookup_count"
	// Origin (S) is the hash of what was put; it never changes.
	Origin = "origin"
	// Token (S), ClaimedBy (S), ClaimedAt (N) and Until (N) are the last claim. They stay after it is settled.
	Token     = "token"
	ClaimedBy = "claimed_by"
	ClaimedAt = "claimed_at"
	Until     = "until"
	// MaybeSince (N) is when the first attempt that may have arrived was claimed. Absent: none can have.
	MaybeSince = "maybe_since"
	// Window (N), in seconds, is how long the remote deduplicates, as configured at the last claim; or WindowNever, or
	// WindowAlways.
	Window = "window"
	// Code (S) is the stable code of the last trouble.
	Code = "code"
	// Cause (S) is what had led to Code: the code of the last attempt, or what could not be read.
	Cause = "cause"
	// RemoteRef (S) is what the remote calls the effect.
	RemoteRef = "remote_ref"
	// CommandID (S) is the command that caused the row, Trace (S) its W3C traceparent. Both are optional.
	CommandID = "command_id"
	Trace     = "trace"
	// CreatedAt, CompletedAt and DeliverBy are N.
	CreatedAt   = "created_at"
	CompletedAt = "completed_at"
	DeliverBy   = "deliver_by"
	// ExpiresAt (N) is the table's TTL attribute, in epoch seconds. Only a terminal row has it.
	ExpiresAt = "expires_at"
	// ResolutionID (S) is the random id of the last order of a person; the next order applies only while it is there.
	ResolutionID = "resolution_id"
	// ResolvedBy (S), ResolvedAt (N) and Reason (S) are the person who last decided about the row, when and why. Forced
	// (BOOL, true or absent) says that it was too early to know.
	ResolvedBy = "resolved_by"
	ResolvedAt = "resolved_at"
	Reason     = "reason"
	Forced     = "forced"
)

// Status texts: what the Status attribute holds.
const (
	StatusPending        = "pending"
	StatusDispatching    = "dispatching"
	StatusOutcomeUnknown = "outcome_unknown"
	StatusCompleted      = "completed"
	StatusFailed         = "failed"
)

// Kinds of lanes. A pending or dispatching row is due, one whose outcome is not known is unknown.
const (
	LaneDue     = "due"
	LaneUnknown = "unknown"
	LaneFailed  = "failed"
)

// Separator stands between the parts of PK and of Lane. No destination's name contains it; an idempotency key may,
// so PK is split at the first one.
const Separator = "#"

// Values of attributes that are not free text.
const (
	PayloadGzip        = "gzip"
	DefaultContentType = "application/json"

	WindowNever  = 0
	WindowAlways = -1
)
