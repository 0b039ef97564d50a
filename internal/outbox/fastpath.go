package outbox

import (
	"context"
	"sync"
	"time"
)

// Fresh is a row whose insertion was reported, with what was reported of its times. Nothing else of a report is
// used: what is sent is what the claim returns.
type Fresh struct {
	Entry
	CreatedAt time.Time
}

// RunFastPath claims rows that were just put, before the sweep looks at them, sends them and settles them. It claims
// only rows that were never claimed, for at most FastPathFor, and returns when everything in flight is settled.
//
// Reports may be repeated, late or missing. These rows stay in their lanes, for the sweep: a row of a destination that
// is retired, stalls or is not configured here, a row for later, one whose claim is refused and one that is put off.
//
// The error, if any, joins what kept it from claiming a row; the report is complete all the same.
func (d *Dispatcher) RunFastPath(ctx context.Context, rows []Fresh) (Report, error) {
	of := map[string][]Fresh{}
	known := map[ID]bool{}
	for _, row := range rows {
		if !known[row.ID] { // the same report may come twice
			known[row.ID] = true
			of[row.Destination] = append(of[row.Destination], row)
		}
	}
	r := newRun(ctx, d, FastPathFor, func(d Destination) bool { return d.Policy.Retired || of[d.Name] == nil })
	r.eachDestination(func(d *destinationRun) { d.startFresh(of[d.to.Name]) })
	return r.result()
}

// startFresh starts an attempt at each row that is for now.
func (d *destinationRun) startFresh(rows []Fresh) {
	by := d.run.dispatcher
	for _, row := range rows {
		if d.to.Policy.Retired || by.Stalls.stands(d.to.Name) && len(by.Destinations) > 1 || row.LaneAt.After(d.dueBy(row, d.run.now())) {
			continue
		}
		if !d.begin(true, func() {
			now := d.run.now()
			d.claim(Claim{ID: row.ID, At: now, Due: d.dueBy(row, now), Attempts: 1}, false)
		}) {
			return
		}
	}
}

// dueBy is by when a row must be due to be claimed now: its head start is for the fast path. The row exists, so
// that it is later than its creation, even if the writer's clock is ahead.
func (d *destinationRun) dueBy(row Fresh, now time.Time) time.Time {
	if ahead := row.CreatedAt.Sub(now); 0 < ahead && ahead <= SkewMargin {
		now = row.CreatedAt
	}
	return now.Add(d.to.Policy.HeadStart)
}

// Stalls are the destinations that held up the fast path lately. A batch ends when its last send does, and the
// batches behind it wait: the rows of a destination that stalls are left to the sweep for a while, where no other
// waits for them, unless there is no other. The zero value is ready, to be kept from one [Dispatcher.RunFastPath] to
// the next; it is safe for concurrent use.
type Stalls struct {
	mu    sync.Mutex
	until map[string]time.Time
}

const (
	// slowFrom is how long a send takes that is a stall, whatever came of it.
	slowFrom = 5 * time.Second
	// After one the destination is left to the sweep for slowFor, after one that took all the time it had for
	// hungFor: then a try of 30 s holds up the others for a thirtieth of the time.
	slowFor = time.Minute
	hungFor = 15 * time.Minute
)

// note takes notice of how long a send took, and might have taken.
func (s *Stalls) note(destination string, took, might time.Duration) {
	if s == nil || took < slowFrom {
		return
	}
	leave := slowFor
	if took >= might {
		leave = hungFor
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.until == nil {
		s.until = map[string]time.Time{}
	}
	// By the wall clock: the monotonic one may stand still while the process is frozen.
	s.until[destination] = later(s.until[destination], time.Now().Round(0).Add(leave))
}

// stands reports whether a destination is left to the sweep now.
func (s *Stalls) stands(destination string) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Before(s.until[destination])
}
