package outbox

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"time"
)

// lanes is one destination's share in a run: its lanes, its slots, the rows that it put off.
type lanes struct {
	*run
	Destination
	share    *share
	inFlight sync.WaitGroup

	mu      sync.Mutex
	busy    int
	putOffs []Row
	// changed is signalled when an attempt has ended.
	changed chan struct{}
}

func newLanes(r *run, destination Destination, share *share) *lanes {
	destination.Policy = destination.Policy.WithDefaults()
	return &lanes{run: r, Destination: destination, share: share, changed: make(chan struct{}, 1)}
}

// sweep walks the destination's lanes, then waits for the rows that it put off, unless an abandoned
// row waits for everything in flight to end.
func (l *lanes) sweep() {
	for shard := range shardsFrom(l.now(), l.Policy.Shards) {
		if inPart(l.Name, shard, l.Part, l.Of) && !l.walk(Lane{Kind: DueLane, Destination: l.Name, Shard: shard}) {
			return
		}
	}
	l.awaitPutOff(l.found)
}

// finish waits for the rows that are put off still.
func (l *lanes) finish() { l.awaitPutOff(nil) }

// walk starts an attempt at each due row of a lane, oldest first. It returns false when the run must
// not claim any more.
func (l *lanes) walk(lane Lane) bool {
	found, listed := Walk{Lane: lane}, true
	defer func() {
		if listed && l.Observer != nil { // nobody must take an outage for a lane with nothing in it
			l.Observer.Walked(found)
		}
	}()
	for after := ""; ; {
		now := l.now()
		page, next, err := l.Store.List(l.claiming, lane, now, after)
		if err != nil {
			listed = false
			if l.claiming.Err() == nil {
				l.fail(err)
			}
			return l.claiming.Err() == nil
		}
		for _, entry := range page {
			found.Due++
			found.OldestDue = max(found.OldestDue, now.Sub(entry.LaneAt))
			if l.Policy.Retired || entry.Destination != l.Name {
				if l.inspect(entry.ID) {
					found.Held++
				}
			} else if l.mustTakeOver() || !l.start(entry.ID, nil) {
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
func (l *lanes) inspect(id ID) (held bool) {
	row, err := l.Store.Get(l.claiming, id)
	if err != nil {
		if l.claiming.Err() == nil && !errors.Is(err, ErrNotFound) {
			l.fail(err)
		}
		return false
	}
	step := Examine(l.Policy, row, l.now())
	if step.Kind == End {
		l.end(step.Settlement)
	}
	return step.Kind == Skip && row.Status == StatusPending
}

// start claims and delivers a row as soon as slots are free. It returns false, having done nothing,
// when the run must not claim any more.
func (l *lanes) start(id ID, from *Row) bool {
	return l.begin(from == nil, func() {
		if from == nil {
			l.land(id, nil, false)
		} else { // time has passed since it was read: deliver_by or the window may be over
			l.follow(*from, Examine(l.Policy, *from, l.now()), false)
		}
	})
}

// begin does something about a row as soon as slots are free. It returns false, having done nothing, when the
// run must not claim any more; what is new gives way to taking over.
func (l *lanes) begin(isNew bool, do func()) bool {
	if !l.slots.acquire(l.claiming, l.share) {
		return false
	}
	if !l.hasTime() || isNew && l.mustTakeOver() { // waiting for the slot took its time
		l.slots.release(l.share)
		return false
	}
	l.mu.Lock()
	l.busy++
	l.mu.Unlock()
	l.inFlight.Go(func() {
		defer l.slots.release(l.share)
		do()
		l.mu.Lock()
		l.busy--
		l.mu.Unlock()
		select {
		case l.changed <- struct{}{}:
		default:
		}
	})
	return true
}

// hasTime reports whether a row may still be claimed: the run claims, and the invocation has time for
// one send and one settlement.
func (l *lanes) hasTime() bool {
	return l.claiming.Err() == nil && l.remaining() >= l.Policy.SendTimeout+ClaimMargin
}

// putOff remembers a row that this run put off, if it falls due while the run still claims.
func (l *lanes) putOff(row Row) {
	if row.LaneAt.Sub(l.now()) > time.Until(l.begun.Add(ClaimFor)) {
		return
	}
	row = row.light()
	l.mu.Lock()
	defer l.mu.Unlock()
	at, _ := slices.BinarySearchFunc(l.putOffs, row, func(a, b Row) int {
		return cmp.Or(a.LaneAt.Compare(b.LaneAt), cmp.Compare(a.PK(), b.PK()))
	})
	l.putOffs = slices.Insert(l.putOffs, at, row)
}

// awaitPutOff starts the rows that were put off, each at its time, until none is left, the run must not
// claim any more, or interrupt is closed.
func (l *lanes) awaitPutOff(interrupt <-chan struct{}) {
	l.slots.keep(l.share, 1) // for what falls due
	for {
		row, wait, busy := l.nextPutOff()
		switch {
		case row == nil && !busy:
			return
		case row != nil && wait <= 0:
			if !l.start(row.ID, row) {
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
		case <-l.changed:
		case <-interrupt:
			return
		case <-l.claiming.Done():
			return
		}
	}
}

// nextPutOff is the earliest row that was put off: taken from the list if due, otherwise with the
// time to wait.
func (l *lanes) nextPutOff() (row *Row, wait time.Duration, busy bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.putOffs) == 0 {
		return nil, 0, l.busy > 0
	}
	first := l.putOffs[0]
	if wait = first.LaneAt.Sub(l.now()); wait <= 0 {
		l.putOffs = l.putOffs[1:]
	}
	return &first, wait, l.busy > 0
}
