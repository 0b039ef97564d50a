package demo

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"

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

// facts are the facts about each act.
var facts = [acts]struct {
	text string
	// works: it has the effect, sooner or later. certain: the sender learns that it has none. stalls: the sender is
	// expected to give up before an answer. kills: the sender is killed.
	works, certain, stalls, kills bool
	// share is how many of a hundred rows begin with it; the others are accepted.
	share int
	// status answers the request; 0 cuts the connection.
	status int
}{
	accept:          {text: "accepted", works: true, status: http.StatusCreated},
	askToWait:       {text: "asked to wait (429)", certain: true, share: 4, status: http.StatusTooManyRequests},
	refuse:          {text: "refused for now (425)", certain: true, share: 3, status: http.StatusTooEarly},
	unavailable:     {text: "was unavailable (503)", share: 2, status: http.StatusServiceUnavailable},
	failAfterWork:   {text: "did the work and answered 500", works: true, share: 3, status: http.StatusInternalServerError},
	stallBeforeWork: {text: "stalled without doing the work", stalls: true, share: 2},
	stallAfterWork:  {text: "did the work and stalled", works: true, stalls: true, share: 3},
	cutBeforeWork:   {text: "cut the connection without doing the work", share: 2},
	cutAfterWork:    {text: "did the work and cut the connection", works: true, share: 3},
	cutAndWorkLate:  {text: "cut the connection and did the work later", works: true, share: 2},
	reject:          {text: "rejected (422)", certain: true, share: 4, status: http.StatusUnprocessableEntity},
	killBeforeWork:  {text: "saw its sender killed before the work", kills: true},
	killAfterWork:   {text: "saw its sender killed after the work", works: true, kills: true},
}

func (a act) String() string { return facts[a].text }
func (a act) works() bool    { return facts[a].works }
func (a act) certain() bool  { return facts[a].certain }
func (a act) stalls() bool   { return facts[a].stalls }
func (a act) kills() bool    { return facts[a].kills }

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
			if len(kills) > 0 && strings.HasPrefix(row, destination+"/") {
				p[row], kills = script{kills[0]}, kills[1:]
			}
		}
	}
	return p
}

func draw(random *rand.Rand) act {
	n := random.IntN(100)
	for a, fact := range facts {
		if n < fact.share {
			return act(a)
		}
		n -= fact.share
	}
	return accept
}

func rowName(destination, key string) string { return destination + "/" + key }
