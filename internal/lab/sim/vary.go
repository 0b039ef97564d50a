package sim

import (
	"time"

	"github.com/landfall-dev/landfall/internal/lab/sim/stage"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// varied is what is rare in production and frequent in some worlds. It has dice of its own, so that the other draws stay
// the same.
type varied struct {
	// writers is by how much an application's clock is wrong, either way: nothing bounds it.
	writers time.Duration
	// expires: rows do not stay for longer than they must, and the table's time to live deletes them.
	expires bool
	// stalls: the fast path remembers which destinations stalled.
	stalls bool
	// broken are times at which a foreign program breaks a row that waits.
	broken []time.Duration
	// silentFrom and silentUntil are when no schedule starts anything.
	silentFrom, silentUntil time.Duration
}

// vary gives a world some of it.
func (p *plan) vary(d *stage.Dice) {
	if d.Chance(0.5) {
		return
	}
	if d.Chance(0.4) {
		p.varied.writers = d.Between(time.Second, time.Hour)
	}
	if d.Chance(0.3) {
		p.varied.silentFrom = time.Duration(d.Unit() * float64(p.length))
		p.varied.silentUntil = p.varied.silentFrom + d.Between(2*time.Minute, 15*time.Minute)
	}
	if d.Chance(0.3) {
		for range 1 + d.Below(4) {
			p.varied.broken = append(p.varied.broken, d.Between(time.Second, p.length))
		}
	}
	if d.Chance(0.5) {
		for i := range p.versions[1:] {
			p.versions[i+1].vary(d)
		}
	}
	if d.Chance(0.4) {
		p.expire(d)
	}
	p.varied.stalls = d.Chance(0.5)
}

// vary changes further keys of a configuration.
func (v *version) vary(d *stage.Dice) {
	v.parts = 1 + d.Below(3)
	v.removed = make([]bool, len(v.policies))
	for i := range v.policies {
		p := &v.policies[i]
		switch d.Below(6) {
		case 0:
			v.removed[i] = true
		case 1:
			p.Attempts += d.Below(5)
		case 2:
			p.Backoff = outbox.Backoff{First: d.Seconds(time.Second, time.Minute), Factor: 1 + 3*d.Unit(), Max: d.Seconds(time.Minute, 5*time.Minute)}
		case 3:
			p.Concurrency = 1 + d.Below(4)
		case 4:
			p.HeadStart = stage.Pick(d, 0, time.Second, 30*time.Second)
		}
	}
}

// expire has rows deleted soon after their end. Applications put them once then: once it is gone, the same row is
// another one.
func (p *plan) expire(d *stage.Dice) {
	p.varied.expires = true
	for _, v := range p.versions {
		for i := range v.policies {
			v.policies[i].Retention = d.Seconds(2*time.Minute, 10*time.Minute)
		}
	}
}

// knows reports whether a destination is in the configuration of a process.
func (p *process) knows(destination string) bool {
	return p.config.has(p.world.plan.destinations, destination)
}

func (v *version) has(destinations []destination, name string) bool {
	for i, d := range destinations {
		if d.name == name {
			return v.removed == nil || !v.removed[i]
		}
	}
	return false
}

// breakages are attributes that a foreign program makes unreadable, in rows that no process has claimed.
func (w *world) breakages() (all []happening) {
	for n, at := range w.plan.varied.broken {
		d := stage.Roll(w.stage.Seed, "broken", n)
		id := w.plan.rows[d.Below(len(w.plan.rows))].ID
		all = append(all, happening{at, func(int) {
			w.stage.Mu.Lock()
			defer w.stage.Mu.Unlock()
			if row, _ := w.table.row(id); row.Status == outbox.StatusPending || row.Status == outbox.StatusOutcomeUnknown {
				w.stage.Happened["a foreign hand broke a row"]++
				w.stage.Note(0, "a foreign hand breaks %s", id)
				w.table.spoil(id, d)
			}
		}})
	}
	return all
}

// expiries are when the table's time to live deletes some of what it may.
func (w *world) expiries() (all []happening) {
	if !w.plan.varied.expires {
		return nil
	}
	d := stage.Roll(w.stage.Seed, "expiries")
	for at := time.Minute; at < w.plan.length; at += d.Between(time.Second, time.Minute) {
		all = append(all, happening{at, func(int) {
			w.stage.Mu.Lock()
			defer w.stage.Mu.Unlock()
			for _, id := range w.law.ids() {
				row, exists := w.table.row(id)
				if exists && !row.ExpiresAt.IsZero() && !row.ExpiresAt.After(time.Now()) && d.Chance(0.5) {
					w.table.delete(id)
					w.law.expired(id, row)
				}
			}
		}})
	}
	return all
}
