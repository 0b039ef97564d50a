package schema

// Attributes of a receipt, beside PK (group, Separator, message id), Token, Reason and ExpiresAt. Times are epoch
// milliseconds.
const (
	// State (S) is one of the State texts below.
	State = "state"
	// Attempt (N) counts the consumers that the message was given to.
	Attempt = "attempt"
	// Consumer (S) is who has the message.
	Consumer = "consumer"
	// OnDelivery (BOOL, true or absent): the attempt counts as accepted when it is forwarded.
	OnDelivery = "on_delivery"
	// AssignedAt (N) is when the attempt was written, Deadline (N) until when its consumer has.
	AssignedAt = "assigned_at"
	Deadline   = "deadline"
	// Extensions (N) counts how often the deadline was moved; absent: never.
	Extensions = "extensions"
	// Again (BOOL, true or absent): more than one invocation forwards the attempt.
	Again = "again"
	// Mark (S) names the last write that no token names.
	Mark = "mark"
	// History (L of M) is what came before: Consumer, End, AssignedAt, Deadline, EndedAt.
	History = "history"
	// End (S) is why the message moved on, within History.
	End = "end"
	// EndedAt (N) is when the receipt was accepted, declined or dead.
	EndedAt = "ended_at"
	// Invalid (S) is what was wrong with a receipt that was ended because it could not be read.
	Invalid = "invalid"
)

// State texts: what the State attribute holds.
const (
	StatePending  = "pending"
	StateDeclined = "declined"
	StateAccepted = "accepted"
	StateDead     = "dead"
)

// The control table's key is PK and SK. Of a group it is GroupScope, Separator, group, and RouteItem, or MemberItem,
// Separator, consumer. Of a destination it is DestinationScope, and the destination, so that one query reads them all.
const (
	DestinationScope = "destination"
	SK               = "sk"
	GroupScope       = "group"
	RouteItem        = "route"
	MemberItem       = "member"
)

// Attributes of control items, beside ExpiresAt. ChangedBy (S) and ChangedAt (N) say who wrote last, and when.
const (
	// RouteKind (S) and RouteArgument (S, absent if there is none) are the routing function instead of the file's.
	RouteKind     = "route_kind"
	RouteArgument = "route_argument"
	// Target (S) is where a member's messages go: TargetSQS or TargetLambda, a colon, name or ARN. An item
	// without one says something about a consumer of the file.
	Target = "target"
	// Weight (N), MaxInFlight (N; absent: unlimited) and Tags (L of S) are as in the file.
	Weight      = "weight"
	MaxInFlight = "max_in_flight"
	Tags        = "tags"
	// Draining (BOOL, true or absent): the consumer finishes what it has and gets nothing more.
	Draining = "draining"
	// LeaseUntil (N) is when the member is none any more unless it renews; absent: never.
	LeaseUntil = "lease_until"

	ChangedBy = "changed_by"
	ChangedAt = "changed_at"
)

// Attributes of control items of destinations, beside Reason, ChangedBy and ChangedAt of the last change.
const (
	// Paused (BOOL, true or absent): nothing is sent there.
	Paused = "paused"
	// MaxConcurrency (N; absent: as in the file) is how many sends a run has in flight, if the file allows more.
	MaxConcurrency = "max_concurrency"
)

// Kinds of targets.
const (
	TargetSQS    = "sqs"
	TargetLambda = "lambda"
)

// QueuePrefixEnv names the variable with what the names of a deployment's queues begin with, so that several live in
// one account; QueuePrefix is the default.
const (
	QueuePrefixEnv = "LANDFALL_QUEUE_PREFIX"
	QueuePrefix    = "landfall"
)

// IngressQueue is the name of the queue that a group's messages come from.
func IngressQueue(prefix, group string) string { return prefix + "-ingress-" + group }

// DeadLetterQueue is the name of the queue for a group's messages that were given up.
func DeadLetterQueue(prefix, group string) string { return prefix + "-dead-" + group }

// MessageIDAttribute is the attribute (String) by which a message in an ingress queue says what its id is, instead of
// the one that SQS gave it: 64 hex digits of SHA-256 of the row's primary key. A row that is sent again so finds the
// receipt of the first time. Whoever may send to an ingress queue can give a message any id, and so have it taken for
// one that was routed already, or another for it: the right to send there is for the dispatcher and for writers that are
// trusted as it is.
const MessageIDAttribute = "landfall-id"

// StreamFailures is the name of the queue that is told of batches of the stream that the fast path could not be given.
func StreamFailures(prefix string) string { return prefix + "-stream-failures" }

// The fast path's share of the stream: how many records a batch has, few, because those that wait for a remote that
// stalls hold up what comes behind them; how often a batch is tried again, and how old a record may be, in seconds. What
// is older is the sweep's.
const (
	StreamBatch     = 10
	StreamRetries   = 3
	StreamRecordAge = 300
)

// StreamFilter is the pattern of the records that the fast path is given: rows that were just put.
const StreamFilter = `{"eventName":["INSERT"],"dynamodb":{"NewImage":{"` + Status + `":{"S":["` + StatusPending + `"]}}}}`
