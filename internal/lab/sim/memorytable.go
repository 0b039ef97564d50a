package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/memory"
	"github.com/landfall-dev/landfall/internal/lab/sim/stage"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// memoryTable is the store without AWS behind a bad network and with an index that is behind.
type memoryTable struct {
	world *world
	store *memory.Store
	// places is what the index said, row by row, the newest last.
	places map[outbox.ID][]place
}

// place is where a row was in the index from a time on.
type place struct {
	from time.Time
	lane outbox.Lane
	at   time.Time
}

func newMemoryTable(w *world) *memoryTable {
	return &memoryTable{world: w, store: &memory.Store{}, places: map[outbox.ID][]place{}}
}

func (t *memoryTable) open(p *process) access { return &memoryAccess{t, p} }

func (t *memoryTable) row(id outbox.ID) (outbox.Row, bool) {
	row, err := t.store.Get(context.Background(), id)
	return row, err == nil
}

func (t *memoryTable) delete(id outbox.ID) {
	t.replace(id, func(*outbox.Row) bool { return false })
	t.places[id] = append(t.places[id], place{from: time.Now()})
}

func (t *memoryTable) spoil(id outbox.ID, _ *stage.Dice) {
	t.replace(id, func(row *outbox.Row) bool {
		row.Payload, row.Unreadable = nil, errUnreadable
		return true
	})
}

// replace puts all rows into a new store, one of them changed, if it stays: a store forgets nothing by itself.
func (t *memoryTable) replace(id outbox.ID, change func(*outbox.Row) (stays bool)) {
	rows := t.store.Rows()
	t.store = &memory.Store{}
	for _, row := range rows {
		if row.ID != id || change(&row) {
			_ = t.store.Put(context.Background(), row) // its place is free
		}
	}
}

// try applies a write and shows the law what it did.
func (t *memoryTable) try(o *operation, write func() error) error {
	before, _ := t.row(o.id())
	err := write()
	after, _ := t.row(o.id())
	t.world.law.observe(o, before, after, err == nil)
	t.places[o.id()] = append(t.places[o.id()], place{time.Now(), after.Lane, after.LaneAt})
	return err
}

// list is a page of a lane as the index showed it some time ago.
func (t *memoryTable) list(lane outbox.Lane, before time.Time, after string, age time.Duration) ([]outbox.Entry, string) {
	const pageSize = 4
	then := time.Now().Add(-age)
	var page []outbox.Entry
	for id, places := range t.places {
		for _, p := range slices.Backward(places) {
			if !p.from.After(then) {
				if p.lane == lane && !p.at.After(before) {
					page = append(page, outbox.Entry{ID: id, LaneAt: p.at})
				}
				break
			}
		}
	}
	cursor := func(e outbox.Entry) string { return fmt.Sprintf("%020d %s", e.LaneAt.UnixMilli(), e.PK()) }
	page = slices.DeleteFunc(page, func(e outbox.Entry) bool { return cursor(e) <= after })
	slices.SortFunc(page, func(a, b outbox.Entry) int { return cmp.Compare(cursor(a), cursor(b)) })
	if len(page) > pageSize {
		return page[:pageSize], cursor(page[pageSize-1])
	}
	return page, ""
}

// memoryAccess is a process's way to the table.
type memoryAccess struct {
	table   *memoryTable
	process *process
}

// List implements [access].
func (m *memoryAccess) List(ctx context.Context, lane outbox.Lane, before time.Time, after string) ([]outbox.Entry, string, error) {
	c := m.process.call("list", lane, m.table.world.laneSlot(lane))
	var age time.Duration
	if c.Chance(c.Odds.Stale) {
		const oldest = 30 * time.Second
		age = c.Between(10*time.Millisecond, oldest)
	}
	var next string
	began := time.Now()
	var wrote time.Time
	page, err := stage.Reads(ctx, c, "list "+lane.String(), func() ([]outbox.Entry, error) {
		wrote = time.Now()
		if age == 0 {
			page, cursor, err := m.table.store.List(ctx, lane, before, after)
			next = cursor
			return page, err
		}
		page, cursor := m.table.list(lane, before, after, age)
		next = cursor
		return page, nil
	})
	m.heard(began, wrote, err)
	return page, next, err
}

// Get implements [access].
func (m *memoryAccess) Get(ctx context.Context, id outbox.ID) (outbox.Row, error) {
	c := m.process.call("get", id, m.table.world.rowSlot(id))
	began := time.Now()
	var wrote time.Time
	row, err := stage.Reads(ctx, c, fmt.Sprint("get ", id), func() (outbox.Row, error) {
		wrote = time.Now()
		return m.table.store.Get(ctx, id)
	})
	m.heard(began, wrote, err)
	return row, err
}

// heard feeds the process's watch with an answer, if it arrived.
func (m *memoryAccess) heard(began, wrote time.Time, err error) {
	if isAnswer(err) {
		m.process.hears(began, wrote)
	}
}

func (m *memoryAccess) write(ctx context.Context, o *operation) (outbox.Row, error) {
	kind := "put"
	switch {
	case o.claim != nil:
		kind = "claim"
	case o.settlement != nil:
		kind = "settle"
	}
	c := m.process.call(kind, o.id(), m.table.world.rowSlot(o.id()))
	if o.put != nil {
		m.process.onlyOnce(c)
	}
	began := time.Now()
	row, err := stage.Writes(ctx, c, o.id(), o, func(o *operation) (row outbox.Row, err error) {
		o.wrote = time.Now()
		err = m.table.try(o, func() error {
			switch {
			case o.claim != nil:
				row, err = m.table.store.Claim(ctx, *o.claim)
				return err
			case o.settlement != nil:
				return m.table.store.Settle(ctx, *o.settlement)
			}
			return m.table.store.Put(ctx, *o.put)
		})
		return row, err
	})
	m.heard(began, o.wrote, err)
	return row, err
}

// rowSlot and laneSlot are a process's slots for calls about a row and about a destination's lanes.
func (w *world) rowSlot(id outbox.ID) int {
	return slices.IndexFunc(w.plan.rows, func(r plannedRow) bool { return r.ID == id })
}

func (w *world) laneSlot(lane outbox.Lane) int {
	return rowsAtMost + slices.IndexFunc(w.plan.destinations, func(d destination) bool { return d.name == lane.Destination })
}

var errUnreadable = errors.New("payload: missing")
