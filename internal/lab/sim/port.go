package sim

import (
	"context"
	"time"

	"github.com/landfall-dev/landfall/internal/outbox"
)

// access is a process's way to a table, with all that goes wrong on that way.
type access interface {
	// List and Get are those of [outbox.Store].
	List(ctx context.Context, lane outbox.Lane, before time.Time, after string) ([]outbox.Entry, string, error)
	Get(ctx context.Context, id outbox.ID) (outbox.Row, error)
	// write returns the row as a claim made it, else a zero one.
	write(ctx context.Context, o *operation) (outbox.Row, error)
}

// port is the table as one process sees it. It tells the law about each request of the process and each answer.
type port struct {
	process *process
	access  access
}

func (w *world) open(p *process) store { return &port{p, w.table.open(p)} }

// tell tells the law something, under the world's mutex.
func (p *port) tell(something func(*law)) {
	w := p.process.world
	w.stage.Mu.Lock()
	defer w.stage.Mu.Unlock()
	something(&w.law)
}

// List implements [outbox.Store].
func (p *port) List(ctx context.Context, lane outbox.Lane, before time.Time, after string) ([]outbox.Entry, string, error) {
	began := time.Now()
	page, next, err := p.access.List(ctx, lane, before, after)
	p.tell(func(l *law) {
		l.heardTime(p.process, began, err)
		p.process.told.listed(err)
		l.scan("an error of the table", err)
	})
	return page, next, err
}

// Get implements [outbox.Store].
func (p *port) Get(ctx context.Context, id outbox.ID) (outbox.Row, error) {
	began := time.Now()
	row, err := p.access.Get(ctx, id)
	p.tell(func(l *law) {
		l.heardTime(p.process, began, err)
		l.toldRow(p.process, row, err)
	})
	return row, err
}

// Claim implements [outbox.Store].
func (p *port) Claim(ctx context.Context, claim outbox.Claim) (outbox.Row, error) {
	p.tell(func(l *law) { l.claiming(p.process, claim) })
	o, began := &operation{by: p.process, claim: &claim}, time.Now()
	row, err := p.access.write(ctx, o)
	p.tell(func(l *law) {
		l.heardTime(p.process, began, err)
		l.toldClaim(o, row, err)
	})
	return row, err
}

// Settle implements [outbox.Store].
func (p *port) Settle(ctx context.Context, s outbox.Settlement) error {
	p.tell(func(l *law) { l.settling(p.process, s) })
	o, began := &operation{by: p.process, settlement: &s}, time.Now()
	_, err := p.access.write(ctx, o)
	p.tell(func(l *law) {
		l.heardTime(p.process, began, err)
		l.toldSettlement(o, err)
	})
	return err
}

// Put is the application's, or that of a foreign writer that breaks the row format.
func (p *port) Put(ctx context.Context, row outbox.Row) error {
	o := &operation{by: p.process, put: &row}
	_, err := p.access.write(ctx, o)
	p.tell(func(l *law) { l.toldPut(o, err) })
	return err
}
