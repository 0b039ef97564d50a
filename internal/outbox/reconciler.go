package outbox

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/landfall-dev/landfall/internal/bounded"
)

// ReconcilerStore is what the reconciler needs of a table of rows; see [Store].
type ReconcilerStore interface {
	List(ctx context.Context, lane Lane, before time.Time, after string) (page []Entry, next string, err error)
	Get(ctx context.Context, id ID) (Row, error)
	Settle(ctx context.Context, s Settlement) error
}

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
	// Step is what the row was found to need. Only after Ask was the remote asked.
	Step StepKind
	// Answer and Latency are those of the lookup, whether it was answered, refused or timed out.
	Answer  Answer
	Latency time.Duration
	// Panic is set if the lookup panicked.
	Panic *bounded.Panic
	// Lookups is how many there had been before.
	Lookups int
	// Status is what the row was settled as, "" if it was not: see Err. It is reconciled if this is
	// neither "" nor StatusOutcomeUnknown.
	Status Status
	// Code and Cause are those of the row as settled.
	Code, Cause string
	// Age is for how long the remote could have been asked.
	Age   time.Duration
	Trace string
	// Err is what kept the row from being settled: [ErrConflict] if another process was faster.
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
	// Clock watches Now: while it is not trusted, no row is asked about, and of the answers in flight only Completed is
	// settled, which no time decides; the run's error says so. Nil: Now is always trusted.
	Clock Clock
	// Part of Of restricts a run to a part of all lanes, as in [Dispatcher].
	Part, Of int
}

// ReconcileReport lists what became of the rows that a run found in unknown lanes.
type ReconcileReport struct {
	Completed, Failed []ID
	// Resent rows never arrived, and are pending again.
	Resent []ID
	// Unresolved rows are unknown still, and are asked about again later.
	Unresolved []ID
	// WithoutLookup rows wait for a person: their remote cannot be asked.
	WithoutLookup []ID
	// Skipped rows needed nothing (the index was stale, it was too early, or another process was faster), or this process's
	// clock was off.
	Skipped []ID
}

// RunOnce walks the unknown lanes of this reconciler's part once and asks about each row that is due. It
// asks for at most SweepFor, asks about no row for which ctx leaves no time to ask and settle, and returns when
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
	asking, stop := context.WithTimeout(ctx, SweepFor)
	defer stop()
	run := &reconcilerRun{
		reconciler: r, ctx: ctx, asking: asking, stop: stop,
		slots: newSlots(cmp.Or(r.Concurrency, DefaultTotalConcurrency), r.Destinations, func(d Destination) bool { return d.Lookup == nil }),
	}
	var walks sync.WaitGroup // destinations do not wait for each other
	for i, d := range r.Destinations {
		d.Policy = d.Policy.WithDefaults()
		quota := run.slots.quotas[i]
		walks.Go(func() {
			defer run.slots.keep(quota, 0)
			for lane := range lanesInPart(UnknownLane, d, run.now(), r.Part, r.Of) {
				(&unknownWalk{run: run, to: d, quota: quota, found: Walk{Lane: lane}}).walk()
			}
		})
	}
	walks.Wait()
	sortIDs(run.report.Completed, run.report.Failed, run.report.Resent,
		run.report.Unresolved, run.report.WithoutLookup, run.report.Skipped)
	return run.report, joinFew(run.errs)
}

// reconcilerRun is one run of a reconciler under way.
type reconcilerRun struct {
	reconciler *Reconciler
	ctx        context.Context
	// asking ends when the run stops asking; what is in flight then is still settled.
	asking   context.Context
	stop     context.CancelFunc // ends asking
	clockOff sync.Once          // reported
	slots    *slots

	mu     sync.Mutex
	report ReconcileReport
	errs   []error
}

func (r *reconcilerRun) now() time.Time { return readClock(r.reconciler.Now) }

// trusted reports whether the own clock may decide about a row now. If not, the run stops asking.
func (r *reconcilerRun) trusted() bool {
	err := trusted(r.reconciler.Clock, r.now())
	if err != nil {
		r.clockOff.Do(func() { r.fail(err) })
		r.stop()
	}
	return err == nil
}

// errClockOff is why an answer was not settled.
var errClockOff = errors.New("this process's clock is off: the remote is asked again by a later run")

// hasTime reports whether another row may be asked about: the run asks, and the invocation has time for
// a lookup and a settlement.
func (r *reconcilerRun) hasTime() bool {
	return r.asking.Err() == nil && remaining(r.ctx) >= LookupTimeout+ClaimMargin
}

// fail notes what kept the run from listing, reading or settling.
func (r *reconcilerRun) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errs = append(r.errs, err)
}

// unknownWalk is a walk of one unknown lane under way.
type unknownWalk struct {
	run      *reconcilerRun
	to       Destination
	quota    *quota
	inFlight sync.WaitGroup
	found    Walk // under the run's mutex
}

// walk asks about the due rows of the lane, oldest first, until none is left or the run must not ask any
// more.
func (w *unknownWalk) walk() {
	listed := false
	for after := ""; w.run.hasTime(); {
		page, next, err := w.run.reconciler.Store.List(w.run.asking, w.found.Lane, w.run.now(), after)
		if listed = err == nil; !listed {
			if w.run.asking.Err() == nil {
				w.run.fail(err)
			}
			break
		}
		for _, entry := range page {
			w.visit(entry)
		}
		if after = next; after == "" {
			break
		}
	}
	w.inFlight.Wait()
	if observer := w.run.reconciler.Observer; listed && observer != nil { // an outage must not look like an empty lane
		observer.Walked(w.found)
	}
}

// visit reads a row and asks about it as soon as slots are free, unless the remote cannot be asked or no
// time is left.
func (w *unknownWalk) visit(entry Entry) {
	w.run.mu.Lock()
	w.found.Due++
	w.run.mu.Unlock()
	if w.to.Lookup == nil {
		w.file(&w.run.report.WithoutLookup, entry.ID, w.run.now().Sub(entry.LaneAt))
		return
	}
	if !w.run.slots.acquire(w.run.asking, w.quota) {
		return
	}
	w.inFlight.Go(func() {
		defer w.run.slots.release(w.quota)
		if w.run.hasTime() {
			w.reconcile(entry.ID)
		}
	})
}

// reconcile asks about a row and files it under what became of it.
func (w *unknownWalk) reconcile(id ID) {
	report := &w.run.report
	row, err := w.run.reconciler.Store.Get(w.run.asking, id)
	switch {
	case errors.Is(err, ErrNotFound) || err == nil && row.LaneAt.After(w.run.now()):
		w.file(&report.Skipped, id, 0) // the index was stale
		return
	case err != nil:
		if w.run.asking.Err() == nil {
			w.run.fail(err)
		}
		return
	case !w.run.trusted():
		w.file(&report.Skipped, id, 0)
		return
	case row.Destination != w.to.Name && row.Unreadable == nil:
		row.Unreadable = errMisplaced
	}
	look := w.look(row)
	list := &report.Skipped
	switch {
	case look.Step == AwaitPerson:
		list = &report.WithoutLookup
	case errors.Is(look.Err, errClockOff): // the run's error says so already
		list = &report.Unresolved
	case look.Err != nil && !errors.Is(look.Err, ErrConflict):
		w.run.fail(look.Err)
		list = &report.Unresolved
	case look.Status == StatusCompleted:
		list = &report.Completed
	case look.Status == StatusFailed:
		list = &report.Failed
	case look.Status == StatusPending:
		list = &report.Resent
	case look.Status == StatusOutcomeUnknown:
		list = &report.Unresolved
	}
	w.file(list, id, look.Age)
}

// look takes the step that a row needs: asks, settles, tells the observer.
func (w *unknownWalk) look(row Row) Look {
	p, now := w.to.Policy, w.run.now()
	step := ExamineUnknown(p, row, w.to.Lookup != nil, now)
	look := Look{ID: row.ID, Step: step.Kind, Lookups: row.LookupCount, Trace: row.Trace}
	if step.Kind != Skip {
		look.Age = max(now.Sub(p.askableFrom(row, now)), 0)
	}
	switch step.Kind {
	case Ask:
		begun := time.Now()
		look.Answer, look.Panic = bounded.Call(w.run.ctx, begun.Add(LookupTimeout), Answer{Code: CodeLookupNoAnswer},
			func(ctx context.Context) Answer { return w.to.Lookup.Look(ctx, row) })
		if look.Panic != nil {
			look.Answer = Answer{Code: CodeLookupPanicked}
		}
		look.Latency = time.Since(begun)
		step.Settlement = Resolve(p, row, look.Answer, w.run.now())
	case End:
	default:
		return look
	}
	look.Code, look.Cause = step.Settlement.Code, step.Settlement.Cause
	if look.Err = w.settle(look.Answer, step.Settlement); look.Err == nil {
		look.Status = step.Settlement.Status
	}
	if w.run.reconciler.Observer != nil {
		w.run.reconciler.Observer.Looked(look)
	}
	return look
}

// settle writes what became of a row. Only that the effect happened is as true by a clock that turned out to be off.
func (w *unknownWalk) settle(a Answer, s Settlement) error {
	if a.Kind != AnswerCompleted && !w.run.trusted() {
		return errClockOff
	}
	return settleFor(w.run.ctx, w.run.reconciler.Store, s, ClaimMargin)
}

// file notes what became of a row, and for how long it could have been asked about.
func (w *unknownWalk) file(list *[]ID, id ID, age time.Duration) {
	w.run.mu.Lock()
	defer w.run.mu.Unlock()
	*list = append(*list, id)
	w.found.OldestDue = max(w.found.OldestDue, age)
}
