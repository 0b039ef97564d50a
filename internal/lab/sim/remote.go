package sim

import (
	"slices"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/sim/stage"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// remote is all that destinations know: what arrived, what took effect, and for how long they remember a
// key. It does not know what Landfall believes. All of it is under the world's mutex.
type remote struct {
	world *world
	// coming is what is under way to it or within it, by time.
	coming []arrival
	sent   map[outbox.ID][]*delivery
	// known is the delivery that a key is remembered for.
	known   map[outbox.ID]*delivery
	effects map[outbox.ID][]*delivery
}

type arrival struct {
	at time.Time
	do func(at time.Time)
}

// delivery is one request.
type delivery struct {
	id    outbox.ID
	token string
	by    *process
	// latest is the last moment at which it may take effect.
	latest time.Time
	// refuse: the remote answers that it does nothing, and does nothing.
	refuse bool

	received time.Time
	// takes is how long the work takes, lag how long it takes until lookups see it.
	takes, lag time.Duration
	forgotten  time.Time // when the key is not recognised any more
	duplicate  bool
	effect     time.Time
	visible    time.Time
}

// ref is what the remote calls an effect.
func (d *delivery) ref() string { return "ref of " + d.id.String() }

// send has a request arrive at a time.
func (r *remote) send(d *delivery, at time.Time) {
	r.sent[d.id] = append(r.sent[d.id], d)
	r.expect(r.atMost(at, d), func(at time.Time) { r.receive(d, at) })
}

func (r *remote) atMost(at time.Time, d *delivery) time.Time {
	if at.After(d.latest) {
		return d.latest
	}
	return at
}

func (r *remote) expect(at time.Time, do func(time.Time)) {
	i, _ := slices.BinarySearchFunc(r.coming, at, func(a arrival, at time.Time) int {
		if a.at.After(at) {
			return 1
		}
		return -1
	})
	r.coming = slices.Insert(r.coming, i, arrival{at, do})
}

// catchUp lets everything happen whose time has come.
func (r *remote) catchUp() {
	for len(r.coming) > 0 && !r.coming[0].at.After(time.Now()) {
		next := r.coming[0]
		r.coming = r.coming[1:]
		next.do(next.at)
	}
}

func (r *remote) receive(d *delivery, at time.Time) {
	r.world.stage.Events++
	d.received = at
	if d.refuse {
		return
	}
	if first := r.known[d.id]; first != nil && at.Before(first.forgotten) {
		d.duplicate = true
		r.world.stage.Happened["recognised by the remote"]++
		r.world.stage.Note(0, "remote recognises %s of %s", d.id, stage.Marked(d.token))
		return
	}
	r.known[d.id] = d
	switch window := r.world.promised(d.id.Destination, at); window {
	case outbox.Always:
		d.forgotten = at.Add(1000 * time.Hour)
	default:
		d.forgotten = at.Add(time.Duration(window))
	}
	r.expect(r.atMost(at.Add(d.takes), d), func(at time.Time) { r.work(d, at) })
}

// work is the moment of an effect.
func (r *remote) work(d *delivery, at time.Time) {
	r.world.stage.Events++
	if at.After(d.received.Add(time.Minute)) {
		r.world.stage.Happened["took effect a minute late"]++
	}
	d.effect, d.visible = at, r.atMost(at.Add(d.lag), d)
	r.effects[d.id] = append(r.effects[d.id], d)
	r.world.stage.Note(0, "remote does %s for %s", d.id, stage.Marked(d.token))
	if n := len(r.effects[d.id]); n > 1 {
		r.world.stage.Violated("I4", "%s took effect %d times", d.id, n)
	}
}

// visible is an effect that a lookup finds now.
func (r *remote) visible(id outbox.ID) *delivery {
	for _, d := range r.effects[id] {
		if !d.visible.After(time.Now()) {
			return d
		}
	}
	return nil
}

// willDo reports whether a row took effect or is going to: the answer that a person gets from the remote's operator.
func (r *remote) willDo(id outbox.ID) bool {
	return slices.ContainsFunc(r.sent[id], func(d *delivery) bool { return !d.refuse && !d.duplicate })
}

// promised is for how long a destination remembers keys that it gets now: as long as any configuration
// says that a process may still use.
func (w *world) promised(name string, now time.Time) outbox.Window {
	longest := outbox.Never
	at := now.Sub(w.stage.Begun)
	for i, v := range w.plan.versions {
		// A process started under a version claims for its invocation's time, and what it sends is late.
		const invocation, claim = 3 * time.Minute, 2 * time.Minute
		for d, destination := range w.plan.destinations {
			if destination.name != name {
				continue
			}
			until := time.Duration(1<<63 - 1)
			if i+1 < len(w.plan.versions) {
				next := w.plan.versions[i+1]
				until = next.from + next.overlap + invocation + claim + destination.late + 2*margin
			}
			if window := v.policies[d].Deduplicates; at >= v.from && at <= until && (window == outbox.Always || longest != outbox.Always && window > longest) {
				longest = window
			}
		}
	}
	return longest
}
