package outbox

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/landfall-dev/landfall/internal/bounded"
)

// reconciling is one run of a reconciler under way.
type reconciling struct {
	*Reconciler
	ctx context.Context
	// asking ends when the run stops asking; what is in flight then is still settled.
	asking context.Context
	slots  *slots

	mu     sync.Mutex
	report ReconcileReport
	errs   []error
}

func newReconciling(ctx context.Context, r *Reconciler) *reconciling {
	return &reconciling{Reconciler: r, ctx: ctx, slots: newSlots(cmp.Or(r.Concurrency, DefaultTotalConcurrency), r.Destinations, func(d Destination) bool { return d.Lookup == nil })}
}

// all walks the lanes of all destinations at once: they do not wait for each other.
func (r *reconciling) all() (ReconcileReport, error) {
	var stop context.CancelFunc
	r.asking, stop = context.WithTimeout(r.ctx, ClaimFor)
	defer stop()
	var walks sync.WaitGroup
	for i, d := range r.Destinations {
		d.Policy = d.Policy.WithDefaults()
		walks.Go(func() {
			defer r.slots.keep(r.slots.of[i], 0)
			for shard := range shardsFrom(readClock(r.Now), d.Policy.Shards) {
				if inPart(d.Name, shard, r.Part, r.Of) {
					r.walk(d, Lane{Kind: UnknownLane, Destination: d.Name, Shard: shard}, r.slots.of[i])
				}
			}
		})
	}
	walks.Wait()
	for _, ids := range []*[]ID{
		&r.report.Completed, &r.report.Failed, &r.report.Resent,
		&r.report.Unresolved, &r.report.WithoutLookup, &r.report.Skipped,
	} {
		sortIDs(*ids)
	}
	return r.report, joinFew(r.errs)
}

// walk asks about the due rows of a lane, oldest first, until none is left or the run must not ask any
// more.
func (r *reconciling) walk(d Destination, lane Lane, share *share) {
	w := laneWalk{reconciling: r, Destination: d, found: Walk{Lane: lane}, share: share}
	listed := false
	for after := ""; r.hasTime(); {
		page, next, err := r.Store.List(r.asking, lane, readClock(r.Now), after)
		if err != nil {
			listed = false
			if r.asking.Err() == nil {
				r.fail(err)
			}
			break
		}
		listed = true
		for _, entry := range page {
			w.visit(entry)
		}
		if after = next; after == "" {
			break
		}
	}
	w.inFlight.Wait()
	if listed && r.Observer != nil { // nobody must take an outage for a lane with nothing in it
		r.Observer.Walked(w.found)
	}
}

// laneWalk is a walk of one lane under way.
type laneWalk struct {
	*reconciling
	Destination
	found    Walk // under the run's mutex
	share    *share
	inFlight sync.WaitGroup
}

// visit reads a row and asks about it as soon as slots are free, unless there is nobody to ask or no
// time left.
func (w *laneWalk) visit(entry Entry) {
	w.mu.Lock()
	w.found.Due++
	w.mu.Unlock()
	if w.Lookup == nil {
		w.file(&w.report.WithoutLookup, entry.ID, readClock(w.Now).Sub(entry.LaneAt))
		return
	}
	if !w.slots.acquire(w.asking, w.share) {
		return
	}
	w.inFlight.Go(func() {
		defer w.slots.release(w.share)
		if w.hasTime() {
			w.reconcile(entry.ID)
		}
	})
}

// hasTime reports whether another row may be asked about: the run asks, and the invocation has time for
// a lookup and a settlement.
func (r *reconciling) hasTime() bool {
	return r.asking.Err() == nil && remaining(r.ctx) >= LookupTimeout+ClaimMargin
}

// reconcile asks about a row and files it under what became of it.
func (w *laneWalk) reconcile(id ID) {
	row, err := w.Store.Get(w.asking, id)
	switch {
	case errors.Is(err, ErrNotFound) || err == nil && row.LaneAt.After(readClock(w.Now)):
		w.file(&w.report.Skipped, id, 0) // the index was stale
		return
	case err != nil:
		if w.asking.Err() == nil {
			w.fail(err)
		}
		return
	case row.Destination != w.Name && row.Unreadable == nil:
		row.Unreadable = errMisplaced
	}
	look := w.look(w.ctx, w.Destination, row)
	list := &w.report.Skipped
	switch {
	case look.Step == AwaitPerson:
		list = &w.report.WithoutLookup
	case look.Err != nil && !errors.Is(look.Err, ErrConflict):
		w.fail(look.Err)
		list = &w.report.Unresolved
	case look.Status == StatusCompleted:
		list = &w.report.Completed
	case look.Status == StatusFailed:
		list = &w.report.Failed
	case look.Status == StatusPending:
		list = &w.report.Resent
	case look.Status == StatusOutcomeUnknown:
		list = &w.report.Unresolved
	}
	w.file(list, id, look.Age)
}

// look takes the step that a row is in need of: asks, settles, tells the observer.
func (r *Reconciler) look(ctx context.Context, d Destination, row Row) Look {
	now := readClock(r.Now)
	step := ExamineUnknown(d.Policy, row, d.Lookup != nil, now)
	look := Look{ID: row.ID, Step: step.Kind, Lookups: row.LookupCount, Trace: row.Trace}
	if step.Kind != Skip {
		look.Age = max(now.Sub(d.Policy.askableFrom(row)), 0)
	}
	switch step.Kind {
	case Ask:
		begun := time.Now()
		look.Answer = bounded.Call(ctx, time.Now().Add(LookupTimeout), Answer{Code: CodeLookupPanicked}, Answer{Code: CodeLookupNoAnswer},
			func(ctx context.Context) Answer { return d.Lookup.Look(ctx, row) })
		look.Latency = time.Since(begun)
		step.Settlement = Resolve(d.Policy, row, look.Answer, readClock(r.Now))
	case End:
	default:
		return look
	}
	look.Code = step.Settlement.Code
	if look.Err = settleFor(ctx, r.Store, step.Settlement, ClaimMargin); look.Err == nil {
		look.Status = step.Settlement.Status
	}
	if r.Observer != nil {
		r.Observer.Looked(look)
	}
	return look
}

// file notes what became of a row, and for how long it could have been asked about.
func (w *laneWalk) file(list *[]ID, id ID, age time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*list = append(*list, id)
	w.found.OldestDue = max(w.found.OldestDue, age)
}

// fail notes what kept the run from listing, reading or settling.
func (r *reconciling) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errs = append(r.errs, err)
}
