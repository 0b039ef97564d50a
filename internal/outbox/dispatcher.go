package outbox

import (
	"context"
	"io"
	"time"

	"github.com/landfall-dev/landfall/internal/bounded"
)

// Store is what the dispatcher needs of a table of rows. Every write is one conditional write; its
// meaning is [Claim.Apply] and [Settlement.Apply]. outboxtest is the suite that every store passes.
type Store interface {
	// List returns a page of one lane: the rows whose LaneAt is not after before, oldest first. next
	// is "" on the last page, otherwise it is passed as after to read on. The listing may be stale.
	List(ctx context.Context, lane Lane, before time.Time, after string) (page []Entry, next string, err error)
	// Claim returns the row as claimed, or a [*RefusedError] that carries the row as it is.
	Claim(ctx context.Context, c Claim) (Row, error)
	// Settle returns nil or [ErrConflict]; after any other error it is open whether the write took effect.
	Settle(ctx context.Context, s Settlement) error
	// Get reads strongly consistently. It returns [ErrNotFound] if there is no row.
	Get(ctx context.Context, id ID) (Row, error)
}

// Entry is a row's place in a lane.
type Entry struct {
	ID
	LaneAt time.Time
}

// Sender makes one attempt at an effect. It starts at most one request, and reports what is known of
// it; it does not decide what follows. When ctx ends it returns: Unknown, unless it can prove that
// nothing left.
type Sender interface {
	Send(ctx context.Context, row Row) Outcome
}

// Clock says whether this process's own clock may be compared with the times in rows. Every fence by time assumes that two
// clocks differ by less than [SkewMargin].
type Clock interface {
	// Trusted returns nil, or an error that says how far the clock, which reads now, is off. It must not block.
	Trusted(now time.Time) error
}

// Destination is where rows of one name go. The dispatcher needs its sender, the reconciler its lookup.
type Destination struct {
	Name   string
	Policy Policy
	Sender Sender
	// Lookup is nil where the remote cannot be asked: then a person decides.
	Lookup Lookup
}

// Observer hears what happened. Its methods are called from several goroutines, must not block, and
// are given neither payload nor key.
type Observer interface {
	// Attempted is called once for each claim won, after settling, and for each row ended without one.
	Attempted(Attempt)
	// Walked is called once for each lane that could be listed.
	Walked(Walk)
}

// Attempt is the end of one attempt.
type Attempt struct {
	// ID names the row; it logs without revealing the key.
	ID ID
	// Number counts claims from 1; 0 for a row that was ended without ever being claimed.
	Number int
	// Sent says that a send was started; Outcome and Latency are its own.
	Sent    bool
	Outcome Outcome
	Latency time.Duration
	// Panic is set if the sender panicked.
	Panic *bounded.Panic
	// Status is what the row was settled as, "" if it could not be settled: see Err.
	Status Status
	// Code and Cause are those of the row as settled.
	Code, Cause string
	// TakenOver says that the claim was won from a process that is gone.
	TakenOver bool
	// Waited is from the row's creation to the claim.
	Waited time.Duration
	Trace  string
	Err    error
}

// Walk is what a run found in one lane.
type Walk struct {
	Lane Lane
	// Due is how many rows wanted attention; OldestDue is how long the oldest had waited for it: in an
	// unknown lane, since the remote could first be asked.
	Due       int
	OldestDue time.Duration
	// Held is how many due rows of a retired destination stay where they are.
	Held int
}

// Timing of a run.
const (
	// SweepFor is for how long a sweep claims before it drains. With the drain, a sweep overlaps the next
	// one a minute later, which skips what is in flight. A reconciler asks for as long.
	SweepFor = 55 * time.Second
	// FastPathFor is for how long the fast path claims. The rows that it did not reach stay in their lanes.
	FastPathFor = 10 * time.Second
	// DefaultTotalConcurrency is how many sends of all destinations may be in flight in one run.
	DefaultTotalConcurrency = 16
)

// Dispatcher claims, sends and settles rows. Its fields are read only once a run has begun; the same
// Dispatcher may be run again, and concurrently.
type Dispatcher struct {
	Store        Store
	Destinations []Destination
	// Concurrency bounds the sends in flight in all. Defaults to DefaultTotalConcurrency.
	Concurrency int
	// ClaimedBy is written on the rows that are claimed, for people: the request id. Optional.
	ClaimedBy string
	Observer  Observer
	// Now is the clock; timers are real. Defaults to time.Now. Readings are cut to the millisecond.
	Now func() time.Time
	// Clock watches Now: while it is not trusted, nothing is claimed or ended, what is in flight is settled, and the run's
	// error says so. Nil: Now is always trusted.
	Clock Clock
	// Rand is where tokens come from. Defaults to crypto/rand.Reader.
	Rand io.Reader
	// Part of Of restricts a sweep to a part of all lanes; the parts 0 to Of-1 are disjoint and
	// together cover every lane. Of 0 means all.
	Part, Of int
	// Stalls are what the fast path remembers from run to run; nil: nothing.
	Stalls *Stalls
}

// Report lists what became of the rows that a run claimed or ended.
type Report struct {
	Completed, Retried, Failed, Unknown []ID
	// Unsettled rows were claimed, but the settlement did not get through: a later run takes them over,
	// or has done so.
	Unsettled []ID
	// TakenOver rows are also listed under what became of them.
	TakenOver []ID
	// Ended rows were settled without a claim; they are also listed under what became of them.
	Ended []ID
}

// Claimed is the number of claims won.
func (r Report) Claimed() int {
	return len(r.Completed) + len(r.Retried) + len(r.Failed) + len(r.Unknown) + len(r.Unsettled) - len(r.Ended)
}

// Empty reports whether the run found nothing to do.
func (r Report) Empty() bool { return r.Claimed() == 0 && len(r.Ended) == 0 }

// file lists an attempt under what became of the row.
func (r *Report) file(a Attempt) {
	list := map[Status]*[]ID{
		StatusCompleted: &r.Completed, StatusPending: &r.Retried, StatusFailed: &r.Failed,
		StatusOutcomeUnknown: &r.Unknown, "": &r.Unsettled,
	}[a.Status]
	*list = append(*list, a.ID)
	if a.TakenOver {
		r.TakenOver = append(r.TakenOver, a.ID)
	}
}

func (r *Report) sort() {
	sortIDs(r.Completed, r.Retried, r.Failed, r.Unknown, r.Unsettled, r.TakenOver, r.Ended)
}
