package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/landfall-dev/landfall/internal/outbox"
)

// plan is what a seed decides before its world begins. The rest is decided call by call.
type plan struct {
	// length of the time in which things go wrong. Afterwards nothing does, and all must come to its end.
	length       time.Duration
	destinations []destination
	versions     []version
	rows         []plannedRow
	odds         odds
	skew         time.Duration // a clock is wrong by up to so much either way
	orders       int           // that people give
	every        time.Duration // between sweeps, and at least between reconciliations
}

// destination is a remote and what is true of it whatever the configuration says.
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
	concurrency   int
	parts         int
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

// odds are the probabilities, per call, of what goes wrong between a process and its table.
type odds struct {
	crash, pause                              float64
	refuse, lose, late, echo, repeat          float64
	slow, stale                               float64
	longestPause, longestDelay, longestAnswer time.Duration
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
	d := roll(seed, "plan")
	p := plan{length: d.seconds(4*time.Minute, 25*time.Minute)}
	if d.chance(0.5) {
		p.orders = 1 << d.below(7)
	}
	if d.chance(0.7) {
		p.skew = outbox.SkewMargin / 2
	}
	p.odds = newOdds(d)
	for i := range 1 + d.below(destinationsAtMost) {
		p.destinations = append(p.destinations, destination{
			name: fmt.Sprintf("d%d", i), lookup: d.chance(0.7),
			late: d.seconds(10*time.Second, 10*time.Minute), remote: newRemoteOdds(d),
		})
	}
	p.every = time.Minute
	p.versions = newVersions(d, p)
	rows := 3 + d.below(rowsAtMost-2)
	if d.chance(0.1) {
		p.hurry(d)
		rows = 2
	}
	for i := range rows {
		p.rows = append(p.rows, newRow(d, p, i))
	}
	return p
}

// hurry makes a world in which the same rows are given up, resent by people and given up again all the
// time, while what was asked for before is still under way: what must be told apart then are claims of
// the same row with the same number.
func (p *plan) hurry(d *dice) {
	p.length, p.every, p.orders = 8*time.Minute, 10*time.Second, 300
	p.destinations = p.destinations[:1]
	p.destinations[0].lookup, p.destinations[0].late = true, time.Second
	p.destinations[0].remote = remoteOdds{cut: 0.4, hang: 0.6, undecided: 0.3}
	policy := p.versions[0].policies[0]
	policy.Attempts, policy.SendTimeout, policy.LateArrival = 1+d.below(3), 2*time.Second, time.Second
	policy.Deduplicates, policy.Retired = pick(d, outbox.Always, outbox.Never), false
	slower := policy
	slower.SendTimeout = 40 * time.Second // two versions at once, and the claims of one end much later
	p.versions = []version{
		{policies: []outbox.Policy{policy}, concurrency: 4, parts: 1},
		{policies: []outbox.Policy{slower}, concurrency: 4, parts: 1, from: time.Second, overlap: p.length},
	}
	p.odds = odds{
		crash: 0.3, late: 0.5, echo: 0.4, lose: 0.2, pause: 0.2, stale: 0.2,
		longestPause: time.Minute, longestDelay: 4 * time.Minute, longestAnswer: time.Second,
	}
}

// some is a probability that is 0 in many worlds, so that what is rare meets what is frequent.
func some(d *dice, most float64) float64 {
	if d.chance(0.5) {
		return 0
	}
	return most * d.unit()
}

func newOdds(d *dice) odds {
	return odds{
		crash: some(d, 0.2), pause: some(d, 0.4),
		refuse: some(d, 0.3), lose: some(d, 0.3), late: some(d, 0.4), echo: some(d, 0.3), repeat: some(d, 0.3),
		slow: some(d, 0.3), stale: some(d, 0.5),
		longestPause: d.between(time.Minute, 30*time.Minute), longestDelay: d.between(time.Second, 30*time.Minute),
		longestAnswer: d.between(100*time.Millisecond, 10*time.Second),
	}
}

func newRemoteOdds(d *dice) remoteOdds {
	return remoteOdds{
		unreachable: some(d, 0.3), lost: some(d, 0.3), busy: some(d, 0.5), reject: some(d, 0.2), fail: some(d, 0.3),
		cut: some(d, 0.4), hang: some(d, 0.3), linger: some(d, 0.4), deaf: some(d, 0.1), panics: some(d, 0.1),
		tardy: some(d, 0.5), undecided: some(d, 0.5), lag: d.chance(0.5),
	}
}

func newVersions(d *dice, p plan) []version {
	first := version{concurrency: outbox.DefaultTotalConcurrency, parts: 1 + d.below(2)}
	if len(p.destinations) == 1 { // several would race for it, in an order that is the scheduler's
		first.concurrency = 1 + d.below(4)
	}
	attempts := pick(d, 1, 2, 5, 5, 5)
	for _, destination := range p.destinations {
		first.policies = append(first.policies, outbox.Policy{
			Attempts:    1 + d.below(attempts),
			Backoff:     pick(d, outbox.Backoff{}, outbox.Backoff{First: d.seconds(time.Second, 20*time.Second), Factor: 2, Max: d.seconds(20*time.Second, 5*time.Minute)}),
			Concurrency: 1 + d.below(4), Deduplicates: newWindow(d), LateArrival: destination.late,
			SendTimeout: newTimeout(d), Shards: 1 + d.below(3), Retention: 30 * 24 * time.Hour,
			Retired: d.chance(0.03),
		}.WithDefaults())
	}
	versions := []version{first}
	changes, longest := d.below(6), p.length
	if d.chance(0.25) { // somebody tries things out
		changes, longest = 6+d.below(12), 2*time.Minute
	}
	for range changes {
		last := versions[len(versions)-1]
		next := last
		next.policies = slices.Clone(last.policies)
		next.from = last.from + d.seconds(5*time.Second, longest)
		next.overlap = d.seconds(time.Second, 10*time.Minute)
		i := d.below(len(next.policies))
		change(d, &next.policies[i], p.destinations[i])
		versions = append(versions, next)
	}
	return versions
}

// change is what somebody does to a destination's configuration.
func change(d *dice, p *outbox.Policy, destination destination) {
	switch d.below(9) {
	case 0, 1:
		p.Deduplicates = newWindow(d)
	case 2:
		p.Shards += 1 + d.below(2)
	case 3:
		p.Retired = !p.Retired
	case 4:
		p.Attempts = 1 + d.below(p.Attempts)
	case 5, 6, 7:
		p.SendTimeout = newTimeout(d)
	case 8: // more than is true does no harm
		p.LateArrival = destination.late + d.seconds(time.Second, 5*time.Minute)
	}
}

func newTimeout(d *dice) time.Duration {
	return d.seconds(2*time.Second, pick(d, time.Minute, 5*time.Minute))
}

func newWindow(d *dice) outbox.Window {
	switch d.below(6) {
	case 0, 1:
		return outbox.Never
	case 2, 3:
		return outbox.Always
	}
	return outbox.Window(d.seconds(time.Minute, time.Hour))
}

func newRow(d *dice, p plan, i int) plannedRow {
	row := plannedRow{destination: d.below(len(p.destinations)), put: d.between(time.Second, p.length*3/4), poison: d.chance(0.04)}
	name := p.destinations[row.destination].name
	row.Row = outbox.Row{
		ID: outbox.ID{Destination: name, Key: fmt.Sprintf("key %d %s", i, secret)}, Status: outbox.Pending,
		Payload: fmt.Appendf(nil, "payload %d %s", i, secret), Headers: map[string]string{"X-Tenant": secret},
		Origin: fmt.Sprint("origin ", i), CommandID: fmt.Sprint("command ", i), ContentType: "text/plain",
	}
	if d.chance(0.1) {
		row.notBefore = d.between(time.Second, 10*time.Minute)
	}
	if d.chance(0.3) {
		row.deliverBy = d.between(5*time.Second, 20*time.Minute)
	}
	if d.chance(0.03) {
		row.Unreadable = errUnreadable
		row.Status = pick(d, outbox.Pending, outbox.InvalidStatus)
	}
	return row
}
