package demo

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/landfall-dev/landfall/internal/outbox"
)

// act is what the remote does with one request.
type act int

const (
	accept act = iota
	askToWait
	refuse
	unavailable
	failAfterWork
	stallBeforeWork
	stallAfterWork
	cutBeforeWork
	cutAfterWork
	cutAndWorkLate
	reject
	killBeforeWork
	killAfterWork
	acts
)

func (a act) String() string {
	return [acts]string{
		"accepted", "asked to wait (429)", "refused for now (425)", "was unavailable (503)", "did the work and answered 500",
		"stalled without doing the work", "did the work and stalled", "cut the connection without doing the work",
		"did the work and cut the connection", "cut the connection and did the work later", "rejected (422)", "saw its sender killed before the work", "saw its sender killed after the work",
	}[a]
}

// works reports whether the act has the effect, sooner or later.
func (a act) works() bool {
	switch a {
	case accept, failAfterWork, stallAfterWork, cutAfterWork, cutAndWorkLate, killAfterWork:
		return true
	}
	return false
}

// certain reports whether the sender learns that the act had no effect.
func (a act) certain() bool { return a == askToWait || a == refuse || a == reject }

// stalls reports whether the sender is expected to give up before an answer.
func (a act) stalls() bool { return a == stallBeforeWork || a == stallAfterWork }

func (a act) kills() bool { return a == killBeforeWork || a == killAfterWork }

// script is what the remote does with the requests of one row, in turn; it accepts what comes after.
type script []act

// end is the status that a row must reach at a destination if nothing disturbs it. A destination that can
// be asked leaves nothing unknown: what never arrived is sent again.
func (s script) end(to traits) outbox.Status {
	maybe, worked := false, false
	for _, a := range s {
		worked = worked || a.works()
		switch {
		case a == accept:
			return outbox.StatusCompleted
		case a == reject && !maybe:
			return outbox.StatusFailed
		case a == reject || !a.certain() && !to.deduplicates: // unknown
			if !to.canBeAsked {
				return outbox.StatusOutcomeUnknown
			}
			if worked {
				return outbox.StatusCompleted
			}
			maybe = false
		case !a.certain():
			maybe = true
		}
	}
	return outbox.StatusCompleted
}

// plan is a script for each row.
type plan map[string]script

// share is how many of a hundred rows begin with each act; the others are accepted.
var share = [acts]int{
	askToWait: 4, refuse: 3, unavailable: 2, failAfterWork: 3, stallBeforeWork: 2, stallAfterWork: 3,
	cutBeforeWork: 2, cutAfterWork: 3, cutAndWorkLate: 2, reject: 4,
}

// newPlan draws the scripts of rows, which are named "<destination>/<key>". Few senders are killed,
// but some before and some after the work, for remotes that do and do not deduplicate or can be asked.
func newPlan(seed uint64, rows []string) plan {
	random := rand.New(rand.NewPCG(seed, 0))
	p := plan{}
	for _, row := range rows {
		var s script
		if first := draw(random); first != accept {
			s = append(s, first)
			if second := draw(random); second.certain() { // so that the demonstration ends within a minute
				s = append(s, second)
			}
		}
		p[row] = s
	}
	order := slices.Clone(rows)
	random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	for _, destination := range []string{"charge", "payout", "mail"} {
		kills := []act{killBeforeWork, killAfterWork}
		for _, row := range order {
			if len(kills) > 0 && len(row) > len(destination) && row[:len(destination)+1] == destination+"/" {
				p[row], kills = script{kills[0]}, kills[1:]
			}
		}
	}
	return p
}

func draw(random *rand.Rand) act {
	n := random.IntN(100)
	for a, of := range share {
		if n < of {
			return act(a)
		}
		n -= of
	}
	return accept
}

func rowName(destination, key string) string { return fmt.Sprintf("%s/%s", destination, key) }
