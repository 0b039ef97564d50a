package outbox

import (
	"context"
	"fmt"
	"time"
)

// ReconcilerStore is what the reconciler needs of a table of rows; see [Store].
type ReconcilerStore interface {
	List(ctx context.Context, lane Lane, before time.Time, after string) (page []Entry, next string, err error)
	Get(ctx context.Context, id ID) (Row, error)
	Settle(ctx context.Context, s Settlement) error
}

// Lookup asks a remote what became of a row. It changes nothing there, and reports what the remote
// said; it does not decide what follows. It is called only when no attempt can arrive any more, so that
// "no such thing" is an answer. When ctx ends it returns: Undecided.
type Lookup interface {
	Look(ctx context.Context, row Row) Answer
}

// LookupTimeout bounds one lookup.
const LookupTimeout = 10 * time.Second

// ReconcileObserver hears what happened. Its methods are called from several goroutines, must not block,
// and are given neither payload nor key.
type ReconcileObserver interface {
	// Looked is called once for each row that was asked about, or ended because it cannot be.
	Looked(Look)
	// Walked is called once for each lane walked.
	Walked(Walk)
}

// Look is what became of one row of unknown outcome.
type Look struct {
	// ID names the row; it logs without revealing the key.
	ID ID
	// Step is what the row was found to be in need of. Only after Ask was the remote asked.
	Step StepKind
	// Answer and Latency are those of the lookup, whether it was answered, refused or timed out.
	Answer  Answer
	Latency time.Duration
	// Lookups is how many there had been before.
	Lookups int
	// Status is what the row was settled as, "" if it was not: see Err. It is reconciled if this is
	// neither "" nor StatusOutcomeUnknown.
	Status Status
	Code   string
	// Age is for how long the remote could have been asked.
	Age   time.Duration
	Trace string
	// Err is what kept the row from being settled: [ErrConflict] if somebody else was faster.
	Err error
}

// Reconciler finds out what became of the rows whose outcome is not known, by asking the remote. Its
// fields are read only once a run has begun; the same Reconciler may be run again, and concurrently.
type Reconciler struct {
	Store        ReconcilerStore
	Destinations []Destination
	// Concurrency bounds the lookups in flight in all; a destination's own bounds hold for its lookups,
	// too. Defaults to DefaultTotalConcurrency.
	Concurrency int
	Observer    ReconcileObserver
	// Now is the clock; timers are real. Defaults to time.Now. Readings are cut to the millisecond.
	Now func() time.Time
	// Part of Of restricts a run to a share of all lanes, as in [Dispatcher].
	Part, Of int
}

// ReconcileReport lists what became of the rows that a run found in unknown lanes.
type ReconcileReport struct {
	Completed, Failed []ID
	// Resent rows never arrived, and are pending again.
	Resent []ID
	// Unresolved rows are unknown still, and are asked about again later.
	Unresolved []ID
	// WithoutLookup rows wait for a person: nobody can be asked about them.
	WithoutLookup []ID
	// Skipped rows wanted nothing: the index was stale, it was too early, or somebody else was faster.
	Skipped []ID
}

// RunOnce walks the unknown lanes of this reconciler's part once and asks about each row that is due. It
// asks for at most ClaimFor, never what ctx leaves no time to ask and settle, and returns when
// everything in flight is settled.
//
// Rows of a destination without lookup are counted as the index shows them, not read: they wait for a
// person, and reading them every time would cost more than sending them did.
//
// The error, if any, joins what kept it from listing, reading or settling; the report is complete all
// the same, and a later run finds what this one missed.
func (r *Reconciler) RunOnce(ctx context.Context) (ReconcileReport, error) {
	if err := checkPart(r.Part, r.Of); err != nil {
		return ReconcileReport{}, err
	}
	return newReconciling(ctx, r).all()
}

// Reconcile asks about one row now, though its next lookup may be later, and settles it. A row that is
// not in doubt, may still arrive or cannot be asked about is left as it is, and the answer is Undecided.
// The error is [ErrNotFound], [ErrConflict], or what kept the row from being read or settled.
func (r *Reconciler) Reconcile(ctx context.Context, id ID) (Look, error) {
	for _, d := range r.Destinations {
		if d.Name != id.Destination {
			continue
		}
		d.Policy = d.Policy.WithDefaults()
		row, err := r.Store.Get(ctx, id)
		if err != nil {
			return Look{ID: id}, err
		}
		if row.Status != StatusOutcomeUnknown {
			return Look{ID: id, Step: Skip}, nil
		}
		look := r.look(ctx, d, row)
		return look, look.Err
	}
	return Look{ID: id}, fmt.Errorf("reconcile %s: its destination is not configured", id)
}
