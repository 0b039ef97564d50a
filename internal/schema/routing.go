package schema

// Attributes of a receipt, beside PK (group, Separator, message id), Token, Reason and ExpiresAt. Times are epoch
// milliseconds.
const (
	// State (S) is one of the State texts below.
	State = "state"
	// Attempt (N) counts the consumers that the message was given to.
	Attempt = "attempt"
	// Consumer (S) is the consumer that has the message.
	Consumer = "consumer"
	// OnDelivery (BOOL, true or absent): the attempt counts as accepted when it is forwarded.
	OnDelivery = "on_delivery"
	// AssignedAt (N) is when the attempt was written, Deadline (N) by when its consumer must accept.
	AssignedAt = "assigned_at"
	Deadline   = "deadline"
	// Extensions (N) counts how often the deadline was moved; absent: never.
	Extensions = "extensions"
	// Again (BOOL, true or absent): more than one invocation forwards the attempt.
	Again = "again"
	// Mark (S) names the last write that has no token.
	Mark = "mark"
	// History (L of M) holds the earlier attempts: Consumer, End, AssignedAt, Deadline, EndedAt.
	History = "history"
	// End (S) is why the message moved on, within History.
	End = "end"
	// EndedAt (N) is when the receipt was accepted, declined or dead.
	EndedAt = "ended_at"
	// Invalid (S) says why a receipt could not be read and was ended.
	Invalid = "invalid"
)

// ConsumerAttributes are all attributes of a receipt that a consumer names when it accepts or declines. IAM lets it
// name no others (docs/security.md).
var ConsumerAttributes = []string{Attempt, EndedAt, ExpiresAt, OnDelivery, PK, State, Token}

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

// Attributes of control items, beside ExpiresAt. ChangedBy (S) and ChangedAt (N) are the author and the time of the last change.
const (
	// RouteKind (S) and RouteArgument (S, absent if there is none) replace the configuration's routing function.
	RouteKind     = "route_kind"
	RouteArgument = "route_argument"
	// Target (S) is where a member's messages go: TargetSQS or TargetLambda, a colon, name or ARN. An item
	// without one is about a consumer of the configuration.
	Target = "target"
	// Weight (N), MaxInFlight (N; absent: unlimited) and Tags (L of S) are as in the configuration.
	Weight      = "weight"
	MaxInFlight = "max_in_flight"
	Tags        = "tags"
	// Draining (BOOL, true or absent): the consumer finishes what it has and gets nothing more.
	Draining = "draining"
	// LeaseUntil (N) is when the membership ends unless it is renewed; absent: never.
	LeaseUntil = "lease_until"

	ChangedBy = "changed_by"
	ChangedAt = "changed_at"
)

// Attributes of control items of destinations, beside Reason, ChangedBy and ChangedAt of the last change.
const (
	// Paused (BOOL, true or absent): nothing is sent there.
	Paused = "paused"
	// MaxConcurrency (N; absent: as configured) is how many sends a run has in flight, if the configuration allows more.
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

// DeadLetterQueue is the name of the queue for a group's messages that the router gave up.
func DeadLetterQueue(prefix, group string) string { return prefix + "-dead-" + group }

// MessageIDAttribute is the attribute (String) by which a message in an ingress queue names its own id, instead of
// the one that SQS gave it: 64 hex digits of SHA-256 of the row's primary key. So a row that is sent again finds the
// receipt of the first time. A sender to an ingress queue can give a message any id, and so have it taken for a message
// that was routed already, or another message for it: grant the right to send there to the dispatcher, and to writers
// that are trusted as much.
const MessageIDAttribute = "landfall-id"

// StreamFailures is the name of the queue for notes of the batches that the fast path could not be given.
func StreamFailures(prefix string) string { return prefix + "-stream-failures" }
