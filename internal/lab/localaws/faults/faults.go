// Package faults says what can go wrong with a request to the local AWS. It decides nothing itself: a Plan, a pure
// function that the caller supplies, decides for every request, so a seeded plan makes the same run again.
package faults

import "time"

// Request is what a plan knows of a request.
type Request struct {
	Seq       uint64 // number of the request in the account, from 1
	Service   string // "dynamodb", "sqs"
	Operation string // "PutItem"
	Resource  string // the table or queue; of a transaction or batch the first one
	Caller    string // see ledger.Entry
	Time      time.Time
}

// Error is an answer that is given instead of the work.
type Error string

// The errors that a plan can ask for; each service answers with its own kind of it.
const (
	Throttle    Error = "throttle"    // too many requests for now
	Conflict    Error = "conflict"    // a transaction on the item is under way
	Internal    Error = "internal"    // the service failed
	Unavailable Error = "unavailable" // the service cannot be asked now
)

// Fault is what happens to a request. The zero Fault does nothing.
//
// Latencies are those of the service: the work is done at its time even if the caller has given up by then.
type Fault struct {
	Error       Error         // if not empty: no work is done, this is the answer
	Before      time.Duration // from the arrival to the work
	During      time.Duration // transactions only: how long their items are held between check and commit
	After       time.Duration // from the work to the answer
	LoseAnswer  bool          // the work is done, then the connection is cut without an answer
	SpoilAnswer bool          // the work is done, then the answer is that of Internal
	StaleIndex  time.Duration // a query or scan of a global index sees it as of so long ago, at most MaxStale
	Unprocessed int           // batches only: so many of the last entries are not processed

	// Receiving from a standard queue, which may deliver twice and in any order:
	Duplicates int    // so many of the messages leave a copy behind, delivered again even when they are deleted
	Shuffle    uint64 // if not 0: which messages are received is drawn from this seed, instead of the oldest ones

	// Reading a stream, where so many Duplicates of the last records are read again next time:
	Late time.Duration // records are not there yet for so long
	Lost int           // so many of the first records are passed over
}

// MaxStale bounds StaleIndex: how far back indexes remember.
const MaxStale = 30 * time.Second

// Any reports whether anything goes wrong.
func (f Fault) Any() bool { return f != Fault{} }

// Plan decides what happens to a request. It is called once for each, in the order of Seq, never twice at a time, and
// must not use the account.
type Plan func(Request) Fault

// None is the plan of a service that never fails.
func None(Request) Fault { return Fault{} }
