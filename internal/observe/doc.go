// Package observe turns what the domain reports into what an operator sees on AWS: structured log
// lines and CloudWatch metrics, both as JSON on standard output. Neither costs a call.
//
// One [Observer] accompanies one invocation. It writes a wide log line for each attempt that was not
// a plain success and for a share of those that were, adds everything up per destination, and writes
// the sums, when flushed, in CloudWatch's embedded metric format.
//
// It decides nothing and knows neither payloads nor idempotency keys: a row appears under the name
// that [outbox.ID] gives it.
//
// # Metrics
//
// All have one dimension, Destination. Counters appear only when they are above zero, since every
// metric is paid for. The rows and ages of lanes appear whenever a lane was walked, so that an alarm
// on them sees a value while the function runs at all.
//
//	Attempts     Count         sends started
//	Completed    Count         attempts that ended in this status
//	Retried      Count         put off
//	Failed       Count
//	Unknown      Count         outcome unknown
//	Unsettled    Count         claimed, but the end could not be written
//	TakenOver    Count         claims won from a holder that was gone
//	Latency      Milliseconds  of each send
//	Wait         Milliseconds  from a row's creation to its first claim, each
//	DueRows      Count         rows that wanted attention, all shards
//	DueAge       Seconds       for how long the oldest had
//	HeldRows     Count         due rows of a retired destination
//	UnknownRows  Count         rows of unknown outcome that wanted to be looked up, all shards
//	UnknownAge   Seconds       for how long the oldest had
package observe
