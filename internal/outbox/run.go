package outbox

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"sync"
	"time"
)

// run is one RunOnce under way.
type run struct {
	*Dispatcher
	ctx context.Context
	// claiming ends when the run stops claiming; what is in flight then is still settled.
	claiming context.Context
	claimFor time.Duration
	begun    time.Time
	slots    *slots
	lanes    []*lanes

	mu        sync.Mutex
	report    Report
	errs      []error
	abandoned []abandonedRow
	// found is closed when the first abandoned row is found.
	found chan struct{}
}

// abandonedRow waits to be taken over when nothing else is in flight.
type abandonedRow struct {
	*lanes
	row Row
}

// newRun shares the slots out among the destinations that are not idle.
func newRun(ctx context.Context, d *Dispatcher, claimFor time.Duration, idle func(Destination) bool) *run {
	r := &run{
		Dispatcher: d, ctx: ctx, claimFor: claimFor, begun: time.Now(), found: make(chan struct{}),
		slots: newSlots(cmp.Or(d.Concurrency, DefaultTotalConcurrency), d.Destinations, idle),
	}
	for i, destination := range d.Destinations {
		r.lanes = append(r.lanes, newLanes(r, destination, r.slots.of[i]))
	}
	return r
}

// eachDestination runs step for all destinations at once and waits for what they have in flight:
// destinations do not wait for each other.
func (r *run) eachDestination(step func(*lanes)) {
	claiming, cancel := context.WithDeadline(r.ctx, r.begun.Add(r.claimFor))
	defer cancel()
	r.claiming = claiming
	var all sync.WaitGroup
	for _, l := range r.lanes {
		all.Go(func() {
			step(l)
			l.slots.keep(l.share, 0)
			l.inFlight.Wait()
		})
	}
	all.Wait()
}

// takeOvers claims the abandoned rows one at a time, with nothing else in flight: if one of them kills
// the process, it kills no other send (I8). They come after the drain, so it is the invocation's own end
// that bounds them, not the time to claim in.
func (r *run) takeOvers() {
	r.claiming = r.ctx
	for _, a := range r.abandoned {
		if !a.hasTime() {
			continue
		}
		a.follow(a.row, Examine(a.Policy, a.row, r.now()), true)
	}
}

func (r *run) now() time.Time { return readClock(r.Now) }

func (r *run) remaining() time.Duration { return remaining(r.ctx) }

func (r *run) abandon(row abandonedRow) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.abandoned) == 0 {
		close(r.found)
	}
	row.row = row.row.light()
	r.abandoned = append(r.abandoned, row)
}

// mustTakeOver reports whether abandoned rows have waited for half of the time to claim in. A backlog
// that never ends must not keep them waiting for ever.
func (r *run) mustTakeOver() bool {
	select {
	case <-r.found:
		return time.Since(r.begun) > ClaimFor/2
	default:
		return false
	}
}

// fail notes what kept the run from listing or claiming.
func (r *run) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errs = append(r.errs, err)
}

// ended files a row under what became of it and tells the observer.
func (r *run) ended(a Attempt) {
	r.mu.Lock()
	list := map[Status]*[]ID{
		StatusCompleted: &r.report.Completed, StatusPending: &r.report.Retried, StatusFailed: &r.report.Failed,
		StatusOutcomeUnknown: &r.report.Unknown, "": &r.report.Unsettled,
	}[a.Status]
	*list = append(*list, a.ID)
	if a.TakenOver {
		r.report.TakenOver = append(r.report.TakenOver, a.ID)
	}
	r.mu.Unlock()
	if r.Observer != nil {
		r.Observer.Attempted(a)
	}
}

func (r *run) result() (Report, error) {
	for _, ids := range []*[]ID{
		&r.report.Completed, &r.report.Retried, &r.report.Failed, &r.report.Unknown,
		&r.report.Unsettled, &r.report.TakenOver, &r.report.Ended,
	} {
		sortIDs(*ids)
	}
	return r.report, joinFew(r.errs)
}

// token is 128 random bits as 22 characters.
func (r *run) token() (string, error) {
	source := r.Rand
	if source == nil {
		source = rand.Reader
	}
	var bits [16]byte
	if _, err := io.ReadFull(source, bits[:]); err != nil {
		return "", fmt.Errorf("make a token: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(bits[:]), nil
}
