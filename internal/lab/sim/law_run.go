package sim

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/landfall-dev/landfall/internal/outbox"
)

// told is what a process has learnt in its run: what its report must say.
type told struct {
	holds []held
	ended []ending
	// asked are the rows that it has begun to claim.
	asked map[outbox.ID]bool
	// barred are the destinations that it was not left.
	barred map[string]bool
	// trouble says that listing, reading or claiming failed.
	trouble bool
}

// held is a claim that the process knows to have won.
type held struct {
	id        outbox.ID
	token     string
	takenOver bool
	status    outbox.Status // as settled, "" if it is not
}

// ending is a row that was settled without a claim.
type ending struct {
	id     outbox.ID
	status outbox.Status
}

func (t *told) won(id outbox.ID, token string, from *outbox.Row) {
	t.holds = append(t.holds, held{id: id, token: token, takenOver: from != nil && from.Status == outbox.StatusDispatching})
}

func (t *told) knows(token string) bool {
	return slices.ContainsFunc(t.holds, func(h held) bool { return h.token == token })
}

func (t *told) failed() { t.trouble = true }

func (t *told) listed(err error) {
	if err != nil {
		t.trouble = true
	}
}

func (t *told) settled(s *outbox.Settlement, err error) {
	if err != nil {
		if s.From != nil {
			t.trouble = true
		}
		return
	}
	if s.From != nil {
		t.ended = append(t.ended, ending{s.ID, s.Status})
		return
	}
	for i := range t.holds {
		if t.holds[i].token == s.Token {
			t.holds[i].status = s.Status
		}
	}
}

// dispatched compares a run's report with what the process has learnt.
func (l *law) dispatched(p *process, report outbox.Report, err error) {
	want := map[outbox.Status][]outbox.ID{}
	var takenOver, ended []outbox.ID
	for _, h := range p.told.holds {
		want[h.status] = append(want[h.status], h.id)
	}
	for _, e := range p.told.ended {
		want[e.status] = append(want[e.status], e.id)
		ended = append(ended, e.id)
	}
	for _, h := range p.told.holds {
		if h.takenOver {
			takenOver = append(takenOver, h.id)
		}
	}
	for name, lists := range map[string][2][]outbox.ID{
		"completed": {report.Completed, want[outbox.StatusCompleted]}, "retried": {report.Retried, want[outbox.StatusPending]},
		"failed": {report.Failed, want[outbox.StatusFailed]}, "unknown": {report.Unknown, want[outbox.StatusOutcomeUnknown]},
		"unsettled": {report.Unsettled, want[""]}, "ended": {report.Ended, ended},
	} {
		l.stage.Must(sameIDs(lists[0], lists[1]), "report", "process %d reports %v as %s, want %v", p.actor.Number, lists[0], name, lists[1])
	}
	for _, id := range takenOver {
		l.stage.Must(slices.Contains(report.TakenOver, id), "report", "process %d took over %v and does not say so", p.actor.Number, id)
	}
	l.worksOn(p, err)
	l.stage.Must(report.Claimed() == len(p.told.holds), "report", "process %d says that it claimed %d rows, not %d", p.actor.Number, report.Claimed(), len(p.told.holds))
	l.stage.Must(err == nil || p.told.trouble, "report", "process %d had no trouble and says %v", p.actor.Number, err)
}

func sameIDs(a, b []outbox.ID) bool {
	sorted := func(ids []outbox.ID) []outbox.ID {
		return slices.SortedFunc(slices.Values(ids), func(a, b outbox.ID) int { return cmp.Compare(a.PK(), b.PK()) })
	}
	return slices.Equal(sorted(a), sorted(b))
}

// observer gets what a run reports to logs and metrics.
type observer struct {
	process         *process
	attempts, looks int
}

func (p *process) observer() *observer { return &observer{process: p} }

// Attempted implements [outbox.Observer].
func (o *observer) Attempted(a outbox.Attempt) {
	o.process.world.stage.Mu.Lock()
	defer o.process.world.stage.Mu.Unlock()
	o.attempts++
	o.process.world.law.scan("an attempt", a)
}

// Looked implements [outbox.ReconcileObserver].
func (o *observer) Looked(look outbox.Look) {
	o.process.world.stage.Mu.Lock()
	defer o.process.world.stage.Mu.Unlock()
	o.looks++
	o.process.world.law.scan("a look", look)
}

// Walked implements both.
func (o *observer) Walked(walk outbox.Walk) {
	o.process.world.stage.Mu.Lock()
	defer o.process.world.stage.Mu.Unlock()
	o.process.world.law.scan("a walk", walk)
}

// end is called when a process has ended.
func (p *process) end(o *observer, report any, err error) {
	p.actor.Kill()
	if p.instance != nil && !p.actor.Dead {
		p.instance.runs = nil
	}
	p.world.law.scan("a report", report)
	p.world.law.scan("a run's error", err)
	if d, ok := report.(outbox.Report); ok && !p.actor.Dead {
		p.world.law.world.stage.Must(o.attempts == d.Claimed()+len(d.Ended), "report", "process %d told its observer of %d attempts, not %d",
			p.actor.Number, o.attempts, d.Claimed()+len(d.Ended))
	}
}

// scan looks for what must not be seen in what may be logged.
func (l *law) scan(what string, said any) {
	if said == nil {
		return
	}
	text := fmt.Sprintf("%v %+v", said, said)
	if err, ok := said.(error); ok {
		text = err.Error()
	} else if blob, err := json.Marshal(said); err == nil {
		_ = blob
	}
	l.stage.Must(!strings.Contains(text, secret), "I12", "%s reveals it: %s", what, text)
}

// reconciled compares a reconciler's report with what became of the rows.
func (l *law) reconciled(p *process, report outbox.ReconcileReport, err error) {
	l.worksOn(p, err)
	want := map[outbox.Status][]outbox.ID{}
	for _, e := range p.told.ended {
		want[e.status] = append(want[e.status], e.id)
	}
	for name, lists := range map[string][2][]outbox.ID{
		"completed": {report.Completed, want[outbox.StatusCompleted]}, "failed": {report.Failed, want[outbox.StatusFailed]},
		"resent": {report.Resent, want[outbox.StatusPending]},
	} {
		l.stage.Must(sameIDs(lists[0], lists[1]), "report", "process %d reports %v as %s, want %v", p.actor.Number, lists[0], name, lists[1])
	}
	l.stage.Must(err == nil || p.told.trouble, "report", "process %d had no trouble and says %v", p.actor.Number, err)
}

// over reports whether nothing is left to do about a row: it is at its end, waits for a person, or for
// its destination to come back.
func (l *law) over(row outbox.Row, now time.Time) bool {
	policy := l.world.plan.versions[len(l.world.plan.versions)-1]
	for i, d := range l.world.plan.destinations {
		if d.name != row.Destination {
			continue
		}
		if !policy.has(l.world.plan.destinations, d.name) {
			return true
		}
		switch row.Status {
		case outbox.StatusOutcomeUnknown:
			return !d.lookup || row.Unreadable != nil
		case outbox.StatusPending:
			return policy.policies[i].Retired && (row.DeliverBy.IsZero() || now.Before(row.DeliverBy))
		}
	}
	return row.Status.Terminal()
}

// next is when a row next wants attention; open says that there is one.
func (l *law) next() (at time.Time, open bool) {
	now := time.Now()
	at = now.Add(time.Hour)
	for _, v := range l.world.plan.versions {
		if from := l.stage.Begun.Add(v.from + v.overlap); from.After(now) {
			at, open = earlier(at, from), true
		}
	}
	for _, id := range l.ids() {
		row, exists := l.world.table.row(id)
		if !exists || l.over(row, now) {
			continue
		}
		open = true
		wants := row.LaneAt
		if row.Status == outbox.StatusDispatching {
			wants = row.Until.Add(margin)
		}
		at = earlier(at, wants.Add(margin))
	}
	return at, open
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// stuck names the rows that did not come to their end.
func (l *law) stuck(bound time.Duration) {
	for _, id := range l.ids() {
		if row, exists := l.world.table.row(id); exists && !l.over(row, time.Now()) {
			l.stage.Violated("liveness", "%s is still %s after %v without trouble: lane_at %v, until %v, attempt %d, code %q",
				id, row.Status, bound, row.LaneAt, row.Until, row.AttemptCount, row.Code)
		}
	}
}

// end holds what is left against the remote's own log.
func (l *law) end() {
	l.stage.Mu.Lock()
	defer l.stage.Mu.Unlock()
	l.world.remote.coming = slices.Clip(l.world.remote.coming)
	for len(l.world.remote.coming) > 0 {
		next := l.world.remote.coming[0]
		l.world.remote.coming = l.world.remote.coming[1:]
		next.do(next.at)
	}
	for _, id := range l.ids() {
		h, effects := l.history(id), len(l.world.remote.effects[id])
		row, exists := l.world.table.row(id)
		l.stage.Must(exists || !h.present, "conservation", "%s is gone", id)
		ordered := row.ResolvedBy != ""
		switch row.Status {
		case outbox.StatusCompleted:
			l.stage.Must(effects > 0, "I5", "%s is completed and never took effect", id)
		case outbox.StatusFailed:
			l.stage.Must(effects == 0 || ordered, "I5", "%s is failed and took effect", id)
		case "":
			l.stage.Must(effects == 0 || h.expired, "I1", "%s took effect without a row", id)
		}
	}
}
