// Package eventsource holds the settings of the event source mapping from the outbox table's stream to the fast path. The
// CDK app deploys them, doctor checks them, and the laboratory imitates them.
package eventsource

import "github.com/landfall-dev/landfall/internal/schema"

const (
	// StreamBatch is how many records a batch has: few, because those that wait for a remote that stalls hold up the
	// records behind them.
	StreamBatch = 10
	// StreamRetries is how often a batch that failed is tried again.
	StreamRetries = 3
	// StreamRecordAge is how old a record may be, in seconds. Older rows are left to the sweep.
	StreamRecordAge = 300
)

// StreamFilter is the pattern of the records that the fast path is given: rows that were just put.
const StreamFilter = `{"eventName":["INSERT"],"dynamodb":{"NewImage":{"` + schema.Status + `":{"S":["` + schema.StatusPending + `"]}}}}`
