// Package observe turns what the domain reports into what an operator sees on AWS: structured log
// lines and CloudWatch metrics, both as JSON on standard output. Neither costs a call.
//
// One [Observer] accompanies one invocation. It writes a wide log line for each lookup, for each attempt
// and each routed message that was not a plain success and for a share of those that were, adds everything
// up per destination or group, and writes the sums, when flushed, in CloudWatch's embedded metric format.
//
// It decides nothing and knows neither payloads nor idempotency keys: a row appears under the name
// that [outbox.ID] gives it, a message under its id, which is no content.
//
// # Metrics
//
// Those of rows have one dimension, Destination, those of messages one, Group. Counters appear only when
// they are above zero, since every metric is paid for; counts have no unit in CloudWatch. The rows and ages of
// lanes appear whenever a lane was walked, so that an alarm on them sees a value while the function runs at all.
//
//	Attempts     Count         sends started
//	Completed    Count         attempts, or lookups, that a row ended with in this status
//	Retried      Count         put off
//	Failed       Count         likewise
//	Unknown      Count         outcome unknown
//	Unsettled    Count         claimed, but the end could not be written
//	TakenOver    Count         claims won from a holder that was gone
//	Latency      Milliseconds  of each send
//	Wait         Milliseconds  from a row's creation to its first claim, each
//	Lookups      Count         remotes asked what became of a row
//	LookupTime   Milliseconds  of each lookup, whether answered, refused or timed out
//	Reconciled   Count         rows of unknown outcome that a lookup settled, resent ones included
//	Resent       Count         rows that never arrived and are pending again
//	DueRows      Count         rows that wanted attention, all shards
//	DueAge       Seconds       for how long the oldest had
//	HeldRows     Count         due rows of a retired destination
//	UnknownRows  Count         rows of unknown outcome that wanted to be looked up, or wait for a person, all shards
//	UnknownAge   Seconds       for how long the remote could have been asked about the oldest of them
//
// Of each group, from the invocations of the router. A message that is forwarded and accepted is seen once; one that
// waits is seen at every return.
//
//	Messages          Count         handed in, all of them
//	Forwards          Count         sent to a consumer, answered or not
//	Accepted          Count         seen accepted; one that its consumer deletes by itself never comes back to be seen
//	AcceptedFirstTry  Count         of these, by their first consumer
//	Lapsed            Count         moved on to another consumer: not accepted in time
//	Declined          Count         likewise: declined
//	Refused           Count         likewise: its queue refused it
//	Errored           Count         likewise: the consumer is a function, and it failed
//	RerouteDelay      Milliseconds  from the end of an attempt (the deadline of a lapsed one) to the next one, each
//	Extended          Count         the deadline was moved: nobody else was there, or it was not taken
//	Held              Count         neither forwarded nor at its end
//	GivenBack         Count         there was no time left to begin with it
//	DeadLetters       Count         given up, and put into the dead-letter queue
//	MessageAge        Milliseconds  of messages at their end, each
//	NoConsumer        Count         nobody to pick
//	UnknownConsumer   Count         the routing function picked a consumer that could not be picked
//	EvaluationFailed  Count         the routing function failed
//	DeliveryFailed    Count         a forward refused, failed or unanswered
//	LeaseLost         Count         the message was somebody else's by then
//	Errors            Count         messages in trouble of another kind
//
// A row that a lookup did not settle is in UnknownRows and UnknownAge again when it is looked up next, an
// hour later at most.
package observe
