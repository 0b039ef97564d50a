package bench

import "github.com/landfall-dev/landfall/internal/eventsource"

// Names of effects and ways.
const (
	OneKB         = "1 KB"
	Webhooks      = "154 webhooks"
	Plain         = "by itself"
	InTransaction = "in a transaction"
)

// fullBatch is how many rows the stream's mapping gives an invocation at most.
const fullBatch = eventsource.StreamBatch

// What the tests tell, and Go's benchmarks that are figures.
const (
	countedAttr = "counted"
	routedAttr  = "routed"

	benchOwn      = "stream/Effect/own"      // one effect, without the SDK
	benchSDK      = "stream/Effect/with_sdk" // one effect, on a null transport
	benchStarts   = "bench/Start/"
	benchDecision = "routefn/Select/cel/filter"
)
