package sim

import (
	"slices"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/sim/stage"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// fastPath is what a process of the fast path is called.
const fastPath = "fast path"

// report is what the table's stream says of a row that was put. It may be lost, come late, come twice, and before or
// after reports of other rows.
type report struct {
	at  time.Duration // since the world's beginning
	row outbox.Fresh
}

// reports notes that a row was put. The world's mutex is held.
func (w *world) reports(row outbox.Row) {
	d := stage.Roll(w.stage.Seed, "report", row.ID)
	if !w.plan.stream.told || d.Chance(w.plan.stream.lost) {
		return
	}
	for range 1 + d.Below(2) {
		late := d.Between(10*time.Millisecond, w.plan.stream.latest)
		w.reported = append(w.reported, report{time.Since(w.stage.Begun) + late, outbox.Fresh{
			Entry: outbox.Entry{ID: row.ID, LaneAt: row.LaneAt}, CreatedAt: row.CreatedAt,
		}})
	}
}

// polls are when the stream's mapping looks for reports. A function is only started if there are some.
func (w *world) polls() (all []happening) {
	if !w.plan.stream.told {
		return nil
	}
	d := stage.Roll(w.stage.Seed, "polls")
	for at := time.Second; at < w.plan.length; at += d.Between(200*time.Millisecond, 20*time.Second) {
		all = append(all, happening{at, func(slot int) {
			w.stage.Mu.Lock()
			var rows []outbox.Fresh
			w.reported = slices.DeleteFunc(w.reported, func(r report) bool {
				due := r.at <= time.Since(w.stage.Begun)
				if due {
					rows = append(rows, r.row)
				}
				return due
			})
			w.stage.Mu.Unlock()
			if len(rows) > 0 {
				shuffle(stage.Roll(w.stage.Seed, "batch", slot, at), rows)
				w.stage.Running.Go(func() { w.deliver(rows) })
			}
		}})
	}
	return all
}

func shuffle(d *stage.Dice, rows []outbox.Fresh) {
	slices.SortFunc(rows, func(a, b outbox.Fresh) int { return slices.Compare([]byte(a.PK()), []byte(b.PK())) })
	for i := range rows {
		j := i + d.Below(len(rows)-i)
		rows[i], rows[j] = rows[j], rows[i]
	}
}

// deliver is one invocation of the fast path.
func (w *world) deliver(rows []outbox.Fresh) {
	p := w.start(fastPath, fastPathClaimsFor+w.longestSend()+20*time.Second)
	w.invoke(p, func(d outbox.Dispatcher) (outbox.Report, error) {
		if w.plan.varied.stalls {
			d.Stalls = &w.stalls
		}
		return d.RunFastPath(p.actor.Ctx, rows)
	}, func() { w.law.delivered(p, rows) })
}

// sends reports whether the process is one that claims and sends.
func (p *process) sends() bool { return p.actor.Kind == "dispatcher" || p.actor.Kind == fastPath }

// onTime checks that a claimed row is due: for the sweep, by its own clock; for the fast path, within the head start of
// its configuration, and by the writer's clock if that is ahead by no more than clocks may differ.
func (l *law) onTime(o *operation, before outbox.Row) {
	c, limit := o.claim, o.claim.At
	if o.by.actor.Kind == fastPath {
		l.stage.Must(before.AttemptCount == 0, "schedule", "%s was claimed %d times, and is claimed by the fast path", c.ID, before.AttemptCount)
		if ahead := before.CreatedAt.Sub(c.At); ahead > 0 && ahead <= margin {
			limit = before.CreatedAt
		}
		limit = limit.Add(o.by.policy(c.Destination).HeadStart)
	}
	l.stage.Must(!before.LaneAt.After(limit), "schedule", "%s was claimed %v before it was due", c.ID, before.LaneAt.Sub(limit))
}

// delivered checks that a run of the fast path that ended before its time asked for every row that was reported to it.
func (l *law) delivered(p *process, rows []outbox.Fresh) {
	if time.Since(p.runs) >= fastPathClaimsFor {
		return
	}
	deadline, _ := p.actor.Ctx.Deadline()
	for _, row := range rows {
		policy, dueBy := p.policy(row.Destination), p.runs.Add(p.actor.Skew)
		forNow := !p.clock.off && p.knows(row.Destination) && !l.stalls(row.Destination) && time.Until(deadline) >= policy.SendTimeout+settleTime && !policy.Retired && !p.told.barred[row.Destination] && !row.LaneAt.After(dueBy.Add(policy.HeadStart))
		l.stage.Must(!forNow || p.told.asked[row.ID], "effort", "process %d was told of %s and left it to the sweep", p.actor.Number, row.ID)
	}
}

// stalls reports whether the fast path may leave a destination to the sweep now.
func (l *law) stalls(destination string) bool {
	return l.world.plan.varied.stalls && time.Now().Before(l.heldUp[destination])
}

// holdsUp notes that a send of the fast path has ended: after a slow one its destination may be left to the sweep for a
// minute, after one that used up all its time for a quarter of an hour.
func (l *law) holdsUp(p *process, destination string, began time.Time) {
	took, leave := time.Since(began), time.Minute
	if took >= p.policy(destination).SendTimeout {
		leave = 15 * time.Minute
	}
	if until := time.Now().Add(leave); p.actor.Kind == fastPath && took >= 5*time.Second && until.After(l.heldUp[destination]) {
		l.heldUp[destination] = until
	}
}

// mustNotBeNew checks that the fast path was not refused a row that is new and due.
func (l *law) mustNotBeNew(o *operation, row outbox.Row) {
	if o.claim == nil || o.by.actor.Kind != fastPath {
		return
	}
	now := o.claim.At
	isNew := row.Status == outbox.StatusPending && row.Unreadable == nil && row.Token == "" && !row.LaneAt.After(now.Add(o.by.policy(row.Destination).HeadStart)) &&
		(row.DeliverBy.IsZero() || now.Before(row.DeliverBy))
	l.stage.Must(!isNew, "effort", "%s was refused, and the row is new", o)
}
