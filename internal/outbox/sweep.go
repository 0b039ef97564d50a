package outbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// RunOnce is a sweep: it walks the lanes of this dispatcher's part once, claims what is due, sends it, settles it. It
// claims for at most SweepFor, waits within that time for the rows that it put off itself, takes over
// abandoned claims alone and after all others, however late that is, and returns when everything in flight
// is settled. It claims no row for which ctx leaves no time to send and settle.
//
// The error, if any, joins what kept it from listing a lane or claiming a row; the report is complete
// all the same, and a later run finds what this one missed.
func (d *Dispatcher) RunOnce(ctx context.Context) (Report, error) {
	if err := checkPart(d.Part, d.Of); err != nil {
		return Report{}, err
	}
	r := newRun(ctx, d, SweepFor, func(d Destination) bool { return d.Policy.Retired })
	r.eachDestination((*destinationRun).sweep)
	r.takeOvers()
	r.eachDestination(func(d *destinationRun) { d.awaitPutOff(nil) })
	return r.result()
}

// sweep walks the destination's lanes, then waits for the rows that it put off, unless an abandoned
// row waits for everything in flight to end.
func (d *destinationRun) sweep() {
	for lane := range lanesInPart(DueLane, d.to, d.run.now(), d.run.dispatcher.Part, d.run.dispatcher.Of) {
		if !d.walk(lane) {
			return
		}
	}
	d.awaitPutOff(d.run.found)
}

// walk starts an attempt at each due row of a lane, oldest first. It returns false when the run must
// not claim any more.
func (d *destinationRun) walk(lane Lane) bool {
	found, listed := Walk{Lane: lane}, true
	defer func() {
		if observer := d.run.dispatcher.Observer; listed && observer != nil { // an outage must not look like an empty lane
			observer.Walked(found)
		}
	}()
	for after := ""; ; {
		now := d.run.now()
		page, next, err := d.run.dispatcher.Store.List(d.run.claiming, lane, now, after)
		if err != nil {
			listed = false
			if d.run.claiming.Err() == nil {
				d.run.fail(err)
			}
			return d.run.claiming.Err() == nil
		}
		for _, entry := range page {
			found.Due++
			found.OldestDue = max(found.OldestDue, now.Sub(entry.LaneAt))
			if d.to.Policy.Retired || entry.Destination != d.to.Name {
				if d.inspect(entry.ID) {
					found.Held++
				}
			} else if d.run.mustTakeOver() || !d.start(entry.ID, nil) {
				return false
			}
		}
		if after = next; after == "" {
			return true
		}
	}
}

// inspect reads a row that must not be claimed blindly and settles what is certain about it. It
// reports whether the row is due and stays.
func (d *destinationRun) inspect(id ID) (held bool) {
	row, err := d.run.dispatcher.Store.Get(d.run.claiming, id)
	if err != nil {
		if d.run.claiming.Err() == nil && !errors.Is(err, ErrNotFound) {
			d.run.fail(err)
		}
		return false
	}
	step := Examine(d.to.Policy, row, d.run.now())
	if step.Kind == End {
		d.end(step.Settlement)
	}
	return step.Kind == Skip && row.Status == StatusPending
}

// start attempts a row as soon as slots are free. from is the row if this run put it off, otherwise nil. It
// returns false, having done nothing, when the run must not claim any more.
func (d *destinationRun) start(id ID, from *Row) bool {
	return d.begin(from == nil, func() {
		if from == nil {
			d.claimKnown(id, nil, false)
		} else { // time has passed since it was read: deliver_by or the window may be over
			d.follow(*from, Examine(d.to.Policy, *from, d.run.now()), false)
		}
	})
}

// putOff remembers a row that this run put off, if it falls due while the run still claims.
func (d *destinationRun) putOff(row Row) {
	if row.LaneAt.Sub(d.run.now()) > time.Until(d.run.begun.Add(SweepFor)) {
		return
	}
	row = row.light()
	d.mu.Lock()
	defer d.mu.Unlock()
	at, _ := slices.BinarySearchFunc(d.putOffs, row, func(a, b Row) int {
		return cmp.Or(a.LaneAt.Compare(b.LaneAt), cmp.Compare(a.PK(), b.PK()))
	})
	d.putOffs = slices.Insert(d.putOffs, at, row)
}

// awaitPutOff starts the rows that were put off, each at its time, until none is left, the run must not
// claim any more, or interrupt is closed.
func (d *destinationRun) awaitPutOff(interrupt <-chan struct{}) {
	d.run.slots.keep(d.quota, 1) // for what falls due
	for {
		row, wait, busy := d.nextPutOff()
		switch {
		case row == nil && !busy:
			return
		case row != nil && wait <= 0:
			if !d.start(row.ID, row) {
				return
			}
			continue
		}
		var due <-chan time.Time
		if row != nil {
			due = time.After(wait)
		}
		select {
		case <-due:
		case <-d.changed:
		case <-interrupt:
			return
		case <-d.run.claiming.Done():
			return
		}
	}
}

// nextPutOff is the earliest row that was put off: taken from the list if due, otherwise with the
// time to wait.
func (d *destinationRun) nextPutOff() (row *Row, wait time.Duration, busy bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.putOffs) == 0 {
		return nil, 0, d.busy > 0
	}
	first := d.putOffs[0]
	if wait = first.LaneAt.Sub(d.run.now()); wait <= 0 {
		d.putOffs = d.putOffs[1:]
	}
	return &first, wait, d.busy > 0
}

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
		return time.Since(r.begun) > SweepFor/2
	default:
		return false
	}
}

// takeOvers claims the abandoned rows one at a time, with nothing else in flight: if one of them kills
// the process, it kills no other send (I8). They come after the drain, so it is the invocation's own end
// that bounds them, not the time to claim in.
func (r *run) takeOvers() {
	r.claiming = r.ctx
	for _, a := range r.abandoned {
		if a.of.hasTime() {
			a.of.follow(a.row, Examine(a.of.to.Policy, a.row, r.now()), true)
		}
	}
}

// overdue is how late a due row may be before an audit objects: many sweeps, and one outage of a minute.
const overdue = 15 * time.Minute

// Audit says what keeps a row from ever ending by itself, or "" if nothing does. Sweeps find rows through
// their lanes; a row that no lane leads to (I6) is found by looking at every row.
func Audit(policies map[string]Policy, row Row, now time.Time) string {
	p, configured := policies[row.Destination]
	p = p.WithDefaults()
	switch {
	case row.Status.Terminal() && row.Unreadable == nil:
		return ""
	case row.Unreadable != nil:
		return row.Unreadable.Error()
	case !configured:
		return "its destination is not in the configuration: no lane of it is walked"
	case row.Lane.Shard >= p.Shards:
		return fmt.Sprintf("it is in lane number %d, and the destination has %d: shards may only grow", row.Lane.Shard, p.Shards)
	case (row.Status == StatusPending || row.Status == StatusDispatching) && !p.Retired && later(row.LaneAt, row.Until).Add(overdue).Before(now):
		return "it has been due for more than " + overdue.String() + ": is the sweep running?"
	}
	return ""
}
