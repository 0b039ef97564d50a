package outbox

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/landfall-dev/landfall/internal/bounded"
)

// run is one run of a dispatcher under way: a sweep, or the fast path over one batch.
type run struct {
	dispatcher *Dispatcher
	ctx        context.Context
	// claiming ends when the run stops claiming; what is in flight then is still settled.
	claiming     context.Context
	stop         context.CancelFunc // ends claiming
	clockOff     sync.Once          // reported
	claimFor     time.Duration
	begun        time.Time
	slots        *slots
	destinations []*destinationRun

	mu        sync.Mutex
	report    Report
	errs      []error
	abandoned []abandonedRow
	// found is closed when the first abandoned row is found.
	found chan struct{}
}

// abandonedRow waits to be taken over when nothing else is in flight.
type abandonedRow struct {
	of  *destinationRun
	row Row
}

// destinationRun is a run's work on one destination: its slots, and the rows that the run put off.
type destinationRun struct {
	run      *run
	to       Destination
	quota    *quota
	inFlight sync.WaitGroup

	mu      sync.Mutex
	busy    int
	putOffs []Row
	// changed is signalled when an attempt has ended.
	changed chan struct{}
}

// newRun divides the slots among the destinations that are not idle.
func newRun(ctx context.Context, d *Dispatcher, claimFor time.Duration, idle func(Destination) bool) *run {
	r := &run{
		dispatcher: d, ctx: ctx, claimFor: claimFor, begun: time.Now(), found: make(chan struct{}),
		slots: newSlots(cmp.Or(d.Concurrency, DefaultTotalConcurrency), d.Destinations, idle),
	}
	for i, to := range d.Destinations {
		to.Policy = to.Policy.WithDefaults()
		r.destinations = append(r.destinations, &destinationRun{run: r, to: to, quota: r.slots.quotas[i], changed: make(chan struct{}, 1)})
	}
	return r
}

// eachDestination runs step for all destinations at once and waits for what they have in flight:
// destinations do not wait for each other.
func (r *run) eachDestination(step func(*destinationRun)) {
	claiming, cancel := context.WithDeadline(r.ctx, r.begun.Add(r.claimFor))
	defer cancel()
	r.claiming, r.stop = claiming, cancel
	var all sync.WaitGroup
	for _, d := range r.destinations {
		all.Go(func() {
			step(d)
			r.slots.keep(d.quota, 0)
			d.inFlight.Wait()
		})
	}
	all.Wait()
}

// begin does something about a row as soon as slots are free. It returns false, having done nothing, when the
// run must not claim any more. A new row gives way to abandoned ones.
func (d *destinationRun) begin(isNew bool, do func()) bool {
	if !d.run.slots.acquire(d.run.claiming, d.quota) {
		return false
	}
	if !d.hasTime() || isNew && d.run.mustTakeOver() { // waiting for the slot took its time
		d.run.slots.release(d.quota)
		return false
	}
	d.mu.Lock()
	d.busy++
	d.mu.Unlock()
	d.inFlight.Go(func() {
		defer d.run.slots.release(d.quota)
		do()
		d.mu.Lock()
		d.busy--
		d.mu.Unlock()
		select {
		case d.changed <- struct{}{}:
		default:
		}
	})
	return true
}

// hasTime reports whether a row may still be claimed: the run claims, and the invocation has time for
// one send and one settlement.
func (d *destinationRun) hasTime() bool {
	return d.run.claiming.Err() == nil && remaining(d.run.ctx) >= d.to.Policy.SendTimeout+ClaimMargin
}

func (r *run) now() time.Time { return readClock(r.dispatcher.Now) }

// trusted reports whether the own clock may decide about a row now. If not, the run stops claiming.
func (r *run) trusted() bool {
	err := trusted(r.dispatcher.Clock, r.now())
	if err != nil {
		r.clockOff.Do(func() { r.fail(err) })
		r.stop()
	}
	return err == nil
}

// fail notes what kept the run from listing or claiming.
func (r *run) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errs = append(r.errs, err)
}

func (r *run) result() (Report, error) {
	r.report.sort()
	return r.report, joinFew(r.errs)
}

// newToken is 128 random bits as 22 characters, from crypto/rand if source is nil.
func newToken(source io.Reader) (string, error) {
	if source == nil {
		source = rand.Reader
	}
	var bits [16]byte
	if _, err := io.ReadFull(source, bits[:]); err != nil {
		return "", fmt.Errorf("make a token: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(bits[:]), nil
}

// From here on: what the dispatcher and the reconciler have in common. Both walk a part of all lanes within one
// invocation, call something that may hang, and write down what they learnt.

// slots are the sends that a run may have in flight in all, divided so that destinations do not wait for
// each other. While it has rows to walk, each destination is sure of an equal number, at least one, and takes more
// only from what no other is sure of. A destination whose remote stalls holds up itself.
type slots struct {
	mu      sync.Mutex
	free    int
	quotas  []*quota      // by destination
	changed chan struct{} // closed when a slot may have become available; nil if no goroutine waits
}

// quota is one destination's part of the slots.
type quota struct {
	limit int
	held  int
	sure  int // how many it is sure of
}

// newSlots divides total slots among destinations that may each hold up to its limit, and that have rows
// to walk, except for those that are idle: they will not need any.
func newSlots(total int, destinations []Destination, idle func(Destination) bool) *slots {
	s := &slots{free: total}
	equal := max(1, total/max(1, len(destinations)))
	for _, d := range destinations {
		limit := d.Policy.WithDefaults().Concurrency
		q := &quota{limit: limit, sure: min(equal, limit)}
		if idle(d) {
			q.sure = 0
		}
		s.quotas = append(s.quotas, q)
	}
	return s
}

// keep lowers what a destination is sure of, because it has no rows to walk any more.
func (s *slots) keep(q *quota, sure int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q.sure = sure
	s.signal()
}

// acquire takes a slot, as soon as there is one for this destination. It returns false when ctx ends.
func (s *slots) acquire(ctx context.Context, q *quota) bool {
	for {
		s.mu.Lock()
		if ctx.Err() == nil && s.available(q) {
			s.free--
			q.held++
			s.mu.Unlock()
			return true
		}
		if s.changed == nil {
			s.changed = make(chan struct{})
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

func (s *slots) available(q *quota) bool {
	if s.free == 0 || q.held >= q.limit {
		return false
	}
	reserved := 0
	for _, other := range s.quotas {
		if other != q {
			reserved += max(0, other.sure-other.held)
		}
	}
	return q.held < q.sure || s.free > reserved
}

func (s *slots) release(q *quota) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free++
	q.held--
	s.signal()
}

func (s *slots) signal() {
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// lanesInPart yields the lanes of a destination that belong to part of of; of 0 means
// that there is one part. Destinations start at different parts, so that many with one shard each are spread, too.
// Each minute it begins with the next shard: a lane whose backlog takes all of a run's time must not keep the lanes
// behind it from ever being walked.
func lanesInPart(kind LaneKind, d Destination, now time.Time, part, of int) iter.Seq[Lane] {
	return func(yield func(Lane) bool) {
		first, parts := int(now.Unix()/60)%d.Policy.Shards, max(of, 1)
		for i := range d.Policy.Shards {
			shard := (first + i) % d.Policy.Shards
			mine := (int(crc32.ChecksumIEEE([]byte(d.Name))%uint32(parts))+shard)%parts == part
			if mine && !yield(Lane{Kind: kind, Destination: d.Name, Shard: shard}) {
				return
			}
		}
	}
}

func checkPart(part, of int) error {
	if of < 0 || part < 0 || part >= max(of, 1) {
		return fmt.Errorf("part %d of %d: want 0 <= part < of", part, of)
	}
	return nil
}

// readClock reads now, or the real clock if that is nil, to the millisecond.
func readClock(now func() time.Time) time.Time {
	if now == nil {
		now = time.Now
	}
	return now().Truncate(time.Millisecond)
}

// trusted asks a clock, if there is one to ask.
func trusted(clock Clock, now time.Time) error {
	if clock == nil {
		return nil
	}
	return clock.Trusted(now)
}

// remaining is how much of the invocation is left.
func remaining(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return time.Until(deadline)
	}
	return math.MaxInt64
}

// settler is a store as far as [settleFor] needs it.
type settler interface {
	Settle(ctx context.Context, s Settlement) error
}

// settleFor writes a settlement, again and again for so long if the store does not answer. It does not
// end with the invocation's context: a fact that is known is worth writing down.
func settleFor(ctx context.Context, store settler, s Settlement, patience time.Duration) error {
	const firstWait, longestWait = 50 * time.Millisecond, 2 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	for wait := firstWait; ; wait = min(2*wait, longestWait) {
		err := store.Settle(ctx, s)
		if err == nil || errors.Is(err, ErrConflict) {
			return err
		}
		if !bounded.Pause(ctx, wait) {
			return err
		}
	}
}

func sortIDs(lists ...[]ID) {
	for _, ids := range lists {
		slices.SortFunc(ids, func(a, b ID) int { return cmp.Compare(a.PK(), b.PK()) })
	}
}

// joinFew joins errors of which there may be as many as rows.
func joinFew(errs []error) error {
	const few = 3
	if n := len(errs) - few; n > 0 {
		errs = append(errs[:few:few], fmt.Errorf("and %d more", n))
	}
	return errors.Join(errs...)
}
