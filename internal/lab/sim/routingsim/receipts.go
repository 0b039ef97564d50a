package routingsim

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/landfall-dev/landfall/internal/lab/memory"
	"github.com/landfall-dev/landfall/internal/lab/sim/stage"
	"github.com/landfall-dev/landfall/internal/routing"
)

// receipts is where the receipts of a world are.
type receipts interface {
	// open is the receipts as one process sees them.
	open(p *process) routing.Receipts
	// spoil is a foreign hand that breaks the form of a receipt, one of spoilKinds ways. The mutex is held.
	spoil(id routing.ID, how int)
}

// operation is one write that a process asks for; it may be applied more than once.
type operation struct {
	by   *process
	move routing.Move
}

// name tells the writes of a process apart.
func (o *operation) name() string { return string(o.move.Kind) + o.move.From.Token + o.move.Token }

func (o *operation) String() string {
	m := o.move
	text := fmt.Sprintf("%s %s, attempt %d under %s", m.Kind, m.ID, m.From.Attempt, stage.Marked(m.From.Token))
	switch m.Kind {
	case routing.Assign, routing.Reassign:
		text += fmt.Sprintf(", to %s under %s %s", m.Consumer, stage.Marked(m.Token), m.End)
	case routing.Kill:
		text += fmt.Sprintf(", %s", m.Reason)
	}
	return text
}

// memoryReceipts is the store without AWS behind a bad network.
type memoryReceipts struct {
	world *routerWorld
	store memory.Receipts
}

func newMemoryReceipts(w *routerWorld) *memoryReceipts { return &memoryReceipts{world: w} }

func (r *memoryReceipts) open(p *process) routing.Receipts { return &memoryPort{r, p} }

// receipt is a receipt as it is stored, its State "" if there is none. The mutex is held.
func (r *memoryReceipts) receipt(id routing.ID) routing.Receipt {
	receipt, err := r.store.Get(context.Background(), id)
	if err != nil {
		panic(err) // it is memory
	}
	return receipt
}

// spoil does nothing: what is in memory has no form that could be broken.
func (r *memoryReceipts) spoil(routing.ID, int) {}

// memoryPort is the receipts as one process sees them.
type memoryPort struct {
	receipts *memoryReceipts
	process  *process
}

// Get implements [routing.Receipts].
func (m *memoryPort) Get(ctx context.Context, id routing.ID) (routing.Receipt, error) {
	return stage.Reads(ctx, m.process.call("get", id, m.receipts.world.slotOf(id)), "get "+id.String(), func() (routing.Receipt, error) {
		return m.receipts.receipt(id), nil
	})
}

// Write implements [routing.Receipts].
func (m *memoryPort) Write(ctx context.Context, move routing.Move) (routing.Receipt, error) {
	o := &operation{m.process, move}
	c := m.process.call("write", o.name(), slotOf(move.Token))
	return stage.Writes(ctx, c, move.ID.String(), o, func(o *operation) (routing.Receipt, error) {
		before := m.receipts.receipt(move.ID)
		receipt, err := m.receipts.store.Write(context.Background(), o.move)
		m.receipts.world.law.observe(o, before, m.receipts.receipt(move.ID), err == nil)
		return receipt, err
	})
}

// slotOf is the slot of a process for a call about a message.
func (w *routerWorld) slotOf(id routing.ID) int {
	return 1 + slices.IndexFunc(w.plan.sends, func(s send) bool { return s.id == id.Message })
}

// slotOf is the slot of a process for a write that its token names: no two of a round have the same.
func slotOf(token string) int {
	bits, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(bits) < 16 {
		return 0
	}
	return 1 + int(binary.BigEndian.Uint64(bits[8:])%(stage.PerProcess-1))
}

// receiptsPort is the receipts as one instance of the router sees them.
type receiptsPort struct{ instance *instance }

// Get implements [routing.Receipts]. Who asks about a message that is being asked about is told the same: two
// copies in one batch are told apart by nothing.
func (r *receiptsPort) Get(ctx context.Context, id routing.ID) (routing.Receipt, error) {
	p, w := r.instance.process, r.instance.world
	w.stage.Mu.Lock()
	same := p.told.asking[id]
	if same == nil {
		same = &asking{done: make(chan struct{})}
		p.told.asking[id] = same
		w.stage.Mu.Unlock()
		same.receipt, same.err = p.store.Get(ctx, id)
		w.stage.Mu.Lock()
		delete(p.told.asking, id)
		close(same.done)
	}
	w.stage.Mu.Unlock()
	<-same.done
	w.stage.Mu.Lock()
	defer w.stage.Mu.Unlock()
	w.law.toldReceipt(r.instance, same.receipt, same.err)
	return same.receipt, same.err
}

// asking is a reading under way.
type asking struct {
	done    chan struct{}
	receipt routing.Receipt
	err     error
}

// Write implements [routing.Receipts].
func (r *receiptsPort) Write(ctx context.Context, m routing.Move) (routing.Receipt, error) {
	p, w := r.instance.process, r.instance.world
	w.stage.Locked(func() { w.law.moving(r.instance, m) })
	receipt, err := p.store.Write(ctx, m)
	w.stage.Mu.Lock()
	defer w.stage.Mu.Unlock()
	w.law.toldWrite(r.instance, m, receipt, err)
	return receipt, err
}
