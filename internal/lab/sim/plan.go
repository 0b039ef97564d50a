package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/sim/stage"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// plan is what a seed decides before its world begins. The rest is decided call by call.
type plan struct {
	// length of the time in which things go wrong. Afterwards nothing does, and all must come to its end.
	length       time.Duration
	destinations []destination
	versions     []version
	rows         []plannedRow
	odds         stage.Odds
	skew         time.Duration // a clock is wrong by up to so much either way
	clocksOff    float64       // of the functions' processes have a clock beyond the margin
	orders       int           // that people give
	every        time.Duration // between sweeps, and at least between reconciliations
	stream       streamOdds
	sayings      []saying
	varied       varied
}

// destination is a remote and its real properties, whatever the configuration says.
type destination struct {
	name   string
	lookup bool
	// late is the longest time after a claim's end at which its request still takes effect.
	late   time.Duration
	remote remoteOdds
}

// version is a configuration from a time on. For a while the one before is used, too.
type version struct {
	from, overlap time.Duration
	policies      []outbox.Policy // of the destinations, in their order
	// removed are the destinations that are not in it; nil: all are.
	removed     []bool
	concurrency int
	parts       int
}

// plannedRow is an effect that an application wants, from a time on.
type plannedRow struct {
	outbox.Row
	destination int
	put         time.Duration
	// notBefore and deliverBy count from the put; 0 means none.
	notBefore, deliverBy time.Duration
	// poison kills the process that sends it, each time.
	poison bool
}

// streamOdds are those of the table's stream.
type streamOdds struct {
	// told: there is a fast path, and the stream reports new rows to it.
	told bool
	lost float64
	// latest is how late a report may be.
	latest time.Duration
}

// remoteOdds are those of one remote, per send or lookup.
type remoteOdds struct {
	unreachable, lost, busy, reject, fail, cut, hang, linger, deaf, panics, tardy float64
	undecided                                                                     float64
	// lag is by how much a lookup may be behind, still within late.
	lag bool
}

// secret is in everything that must not reach a log line, a metric or an error text.
const secret = "s3cr3t"

const destinationsAtMost, rowsAtMost = 3, 12

func newPlan(seed uint64) plan {
	d := stage.Roll(seed, "plan")
	p := plan{length: d.Seconds(4*time.Minute, 25*time.Minute)}
	if d.Chance(0.5) {
		p.orders = 1 << d.Below(7)
	}
	if d.Chance(0.7) {
		p.skew = margin / 2
	}
	p.odds = stage.NewOdds(d)
	for i := range 1 + d.Below(destinationsAtMost) {
		p.destinations = append(p.destinations, destination{
			name: fmt.Sprintf("d%d", i), lookup: d.Chance(0.7),
			late: d.Seconds(10*time.Second, 10*time.Minute), remote: newRemoteOdds(d),
		})
	}
	p.every = time.Minute
	p.versions = newVersions(d, p)
	rows := 3 + d.Below(rowsAtMost-2)
	if d.Chance(0.1) {
		p.hurry(d)
		rows = 2
	}
	for i := range rows {
		p.rows = append(p.rows, newRow(d, p, i))
	}
	p.hasten(stage.Roll(seed, "fast"))
	p.vary(stage.Roll(seed, "vary"))
	p.clocksOff = stage.Some(stage.Roll(seed, "clocks"), 0.5)
	p.sayings = newSayings(stage.Roll(seed, "held"), p)
	return p
}

// hasten gives half of the worlds a fast path, and windows that hardly suffice. It has dice of its own, so that the others
// are what they were before there was one.
func (p *plan) hasten(d *stage.Dice) {
	if d.Chance(0.5) {
		return
	}
	p.stream = streamOdds{told: true, lost: stage.Pick(d, 0, 0, 0.2), latest: stage.Pick(d, time.Second, 10*time.Second, 10*time.Minute)}
	for i := range p.destinations {
		headStart, narrow := stage.Pick(d, 0, 5*time.Second, time.Minute), d.Chance(0.5)
		for _, v := range p.versions {
			policy := &v.policies[i]
			policy.HeadStart = headStart
			if narrow && policy.Deduplicates > outbox.Never {
				policy.Deduplicates = outbox.Window(policy.SendTimeout + settleTime + policy.LateArrival + margin + d.Seconds(time.Second, time.Minute))
			}
		}
	}
}

// hurry makes a world in which the same rows are given up, resent by people and given up again all the
// time, while earlier requests are still under way: claims of the same row with the same number must be
// distinguished then.
func (p *plan) hurry(d *stage.Dice) {
	p.length, p.every, p.orders = 8*time.Minute, 10*time.Second, 300
	p.destinations = p.destinations[:1]
	p.destinations[0].lookup, p.destinations[0].late = true, time.Second
	p.destinations[0].remote = remoteOdds{cut: 0.4, hang: 0.6, undecided: 0.3}
	policy := p.versions[0].policies[0]
	policy.Attempts, policy.SendTimeout, policy.LateArrival = 1+d.Below(3), 2*time.Second, time.Second
	policy.Deduplicates, policy.Retired = stage.Pick(d, outbox.Always, outbox.Never), false
	slower := policy
	slower.SendTimeout = 40 * time.Second // two versions at once, and the claims of one end much later
	p.versions = []version{
		{policies: []outbox.Policy{policy}, concurrency: 4, parts: 1},
		{policies: []outbox.Policy{slower}, concurrency: 4, parts: 1, from: time.Second, overlap: p.length},
	}
	p.odds = stage.Odds{
		Crash: 0.3, Late: 0.5, Echo: 0.4, Lose: 0.2, Pause: 0.2, Stale: 0.2,
		LongestPause: time.Minute, LongestDelay: 4 * time.Minute, LongestAnswer: time.Second,
	}
}

func newRemoteOdds(d *stage.Dice) remoteOdds {
	return remoteOdds{
		unreachable: stage.Some(d, 0.3), lost: stage.Some(d, 0.3), busy: stage.Some(d, 0.5), reject: stage.Some(d, 0.2), fail: stage.Some(d, 0.3),
		cut: stage.Some(d, 0.4), hang: stage.Some(d, 0.3), linger: stage.Some(d, 0.4), deaf: stage.Some(d, 0.1), panics: stage.Some(d, 0.1),
		tardy: stage.Some(d, 0.5), undecided: stage.Some(d, 0.5), lag: d.Chance(0.5),
	}
}

// documented is the back-off of a destination whose configuration says none.
var documented = outbox.Backoff{First: time.Second, Factor: 4, Max: time.Minute}

func newVersions(d *stage.Dice, p plan) []version {
	first := version{concurrency: concurrencyOfARun, parts: 1 + d.Below(2)}
	if len(p.destinations) == 1 { // several would race for it, in an order that is the scheduler's
		first.concurrency = 1 + d.Below(4)
	}
	attempts := stage.Pick(d, 1, 2, 5, 5, 5)
	for _, destination := range p.destinations {
		first.policies = append(first.policies, outbox.Policy{
			Attempts:    1 + d.Below(attempts),
			Backoff:     stage.Pick(d, documented, outbox.Backoff{First: d.Seconds(time.Second, 20*time.Second), Factor: 2, Max: d.Seconds(20*time.Second, 5*time.Minute)}),
			Concurrency: 1 + d.Below(4), Deduplicates: newWindow(d), LateArrival: destination.late,
			SendTimeout: newTimeout(d), Shards: 1 + d.Below(3), Retention: 30 * 24 * time.Hour,
			Retired: d.Chance(0.03),
		})
	}
	versions := []version{first}
	changes, longest := d.Below(6), p.length
	if d.Chance(0.25) { // many changes in a row
		changes, longest = 6+d.Below(12), 2*time.Minute
	}
	for range changes {
		last := versions[len(versions)-1]
		next := last
		next.policies = slices.Clone(last.policies)
		next.from = last.from + d.Seconds(5*time.Second, longest)
		next.overlap = d.Seconds(time.Second, 10*time.Minute)
		i := d.Below(len(next.policies))
		change(d, &next.policies[i], p.destinations[i])
		versions = append(versions, next)
	}
	return versions
}

// change changes one key of a destination's configuration.
func change(d *stage.Dice, p *outbox.Policy, destination destination) {
	switch d.Below(9) {
	case 0, 1:
		p.Deduplicates = newWindow(d)
	case 2:
		p.Shards += 1 + d.Below(2)
	case 3:
		p.Retired = !p.Retired
	case 4:
		p.Attempts = 1 + d.Below(p.Attempts)
	case 5, 6, 7:
		p.SendTimeout = newTimeout(d)
	case 8: // more than the remote needs does no harm
		p.LateArrival = destination.late + d.Seconds(time.Second, 5*time.Minute)
	}
}

func newTimeout(d *stage.Dice) time.Duration {
	return d.Seconds(2*time.Second, stage.Pick(d, time.Minute, 5*time.Minute))
}

func newWindow(d *stage.Dice) outbox.Window {
	switch d.Below(6) {
	case 0, 1:
		return outbox.Never
	case 2, 3:
		return outbox.Always
	}
	return outbox.Window(d.Seconds(time.Minute, time.Hour))
}

func newRow(d *stage.Dice, p plan, i int) plannedRow {
	row := plannedRow{destination: d.Below(len(p.destinations)), put: d.Between(time.Second, p.length*3/4), poison: d.Chance(0.04)}
	name := p.destinations[row.destination].name
	row.Row = outbox.Row{
		ID: outbox.ID{Destination: name, Key: fmt.Sprintf("key %d %s", i, secret)}, Status: outbox.StatusPending,
		Payload: fmt.Appendf(nil, "payload %d %s", i, secret), Headers: map[string]string{"X-Tenant": secret},
		Origin: fmt.Sprint("origin ", i), CommandID: fmt.Sprint("command ", i), ContentType: "text/plain",
	}
	if d.Chance(0.1) {
		row.notBefore = d.Between(time.Second, 10*time.Minute)
	}
	if d.Chance(0.3) {
		row.deliverBy = d.Between(5*time.Second, 20*time.Minute)
	}
	if d.Chance(0.03) {
		row.Unreadable = errUnreadable
		row.Status = stage.Pick(d, outbox.StatusPending, outbox.StatusInvalid)
	}
	return row
}
