package routing

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"time"

	"github.com/landfall-dev/landfall/internal/bounded"
)

// batch is one call of Route. All its messages go through the same rounds, so that one call of a port serves them all. In
// a round, all receipts are written before any message is held, and all are held before any is forwarded.
type batch struct {
	router *Router
	ctx    context.Context
	groups map[string]*batchGroup
	flows  []*flow
}

// batchGroup is a group as this batch sees it.
type batchGroup struct {
	snapshot Snapshot
	// unread is why the group could not be read.
	unread error
	// given counts the messages that this batch gave to each consumer since the snapshot.
	given map[string]int64
}

// flow is one message of the batch.
type flow struct {
	incoming Incoming
	group    *batchGroup
	receipt  Receipt
	event    Event
	step     Step
	// refused is the refusal of the last write.
	refused *RefusedError
	// done says that there is nothing left to decide.
	done    bool
	handled Handled
}

func newBatch(ctx context.Context, r *Router, messages []Incoming) *batch {
	b := &batch{router: r, ctx: ctx, groups: map[string]*batchGroup{}}
	for _, in := range messages {
		if b.groups[in.Group] == nil {
			b.groups[in.Group] = b.read(in.Group)
		}
		f := &flow{incoming: in, group: b.groups[in.Group], handled: Handled{ID: in.receiptID(), Kept: true}}
		f.receipt.ID = f.handled.ID
		b.flows = append(b.flows, f)
	}
	// A message that was received once gets its receipt without a read before: if there is one already, the write is
	// refused. The count is a hint, and some queues give none.
	each(b.flows, func(f *flow) bool { return f.incoming.Receives != 1 && f.group.unread == nil && b.hasTime() }, func(f *flow) {
		receipt, err := b.router.Receipts.Get(ctx, f.handled.ID)
		if err != nil {
			f.fail(fmt.Errorf("get receipt: %w", err), b.router.now())
			return
		}
		f.receipt = receipt
	})
	return b
}

func (b *batch) read(group string) *batchGroup {
	snapshot, err := b.router.Groups.Snapshot(b.ctx, group)
	if err != nil {
		err = fmt.Errorf("read group %s: %w", group, err)
	}
	snapshot.Policy = snapshot.Policy.WithDefaults()
	return &batchGroup{snapshot: snapshot, unread: err, given: map[string]int64{}}
}

// round takes one step of each message and returns the messages that need another step. Routing functions may be slow, so
// that all are asked before any deadline is set.
func (b *batch) round(flows []*flow) (open []*flow) {
	for _, f := range flows {
		b.decide(f)
	}
	choosing := pick(flows, func(f *flow) bool { return f.step.Select })
	for _, f := range choosing {
		b.choose(f)
	}
	for _, f := range choosing {
		b.decide(f)
	}
	each(flows, func(f *flow) bool { return f.step.Move != nil }, b.write)
	for _, f := range flows {
		if f.refused != nil {
			f.overtaken()
		}
	}
	b.hold(flows)
	b.forward(flows)
	b.bury(flows)
	b.delete(flows)
	return pick(flows, func(f *flow) bool { return !f.done })
}

// decide finds the next step of a message.
func (b *batch) decide(f *flow) {
	switch {
	case f.done: // it failed, or is given back
		return
	case f.group.unread != nil:
		f.fail(f.group.unread, b.router.now())
		return
	case f.fresh() && !b.hasTime():
		f.giveBack()
		return
	}
	s, err := b.situation(f)
	if err != nil {
		f.fail(err, s.Now)
		return
	}
	f.step = Decide(s)
	if f.step.End == EndLapsed || f.step.Move != nil && f.step.Move.Kind == Extend && !f.step.Move.NotTaken && !f.receipt.OnDelivery {
		b.router.lapses.note(f.incoming.Group, f.receipt.Consumer, f.receipt.Deadline, s.Now)
	}
	f.done = !f.step.Select // unless the write is refused, or the forward answers
}

// fresh reports whether this invocation has done nothing about the message yet that must be finished.
func (f *flow) fresh() bool { return f.event.Kind == Returned || f.event.Kind == Overtaken }

func (f *flow) giveBack() { f.step, f.done, f.handled.GivenBack = Step{}, true, true }

func (b *batch) situation(f *flow) (Situation, error) {
	now := b.router.now()
	token, err := b.router.token()
	others, _ := f.group.snapshot.Candidates(f.receipt.passed(), nil, now)
	return Situation{
		ID: f.handled.ID, Policy: f.group.snapshot.Policy, Receipt: f.receipt, Event: f.event, SentAt: f.incoming.SentAt, Receives: f.incoming.Receives,
		Oversize: f.incoming.Bytes > MaxIncomingBytes || f.incoming.AttributeCount > MaxIncomingAttributes,
		Current:  f.group.snapshot.membership(f.receipt.Consumer, now), Others: len(others) > 0, Token: token, Now: now,
	}, err
}

// choose asks the group's function and makes its answer the message's event.
func (b *batch) choose(f *flow) {
	switch {
	case !b.hasTime() && f.fresh():
		f.giveBack()
		return
	case !b.hasTime(): // it is held, and comes back
		f.event = Event{Kind: NoneChosen, End: f.step.End}
		return
	}
	now := b.router.now()
	d := f.group.snapshot.Choose(b.ctx, Choice{
		Message: f.incoming.Message, Receipt: f.receipt, LapsedLately: b.router.lapses.lately(f.incoming.Group, now), Given: f.group.given, Now: now,
	})
	if d.Err != nil {
		f.event, f.handled.Err = Event{Kind: NoneChosen, End: f.step.End}, d.Err
		return
	}
	f.group.given[d.Consumer]++
	f.event = Event{Kind: Chosen, Consumer: d.Consumer, End: f.step.End, Seen: f.step.Seen}
}

// fail ends the message's flow in this batch: it comes back later.
func (f *flow) fail(err error, now time.Time) {
	f.handled.Err, f.done = err, true
	f.step = Situation{Policy: f.group.snapshot.Policy, SentAt: f.incoming.SentAt, Now: now}.wait()
}

// overtaken takes back what a refused write would have done: another process has just written.
func (f *flow) overtaken() {
	if f.event.Kind == Chosen {
		f.group.given[f.event.Consumer]--
	}
	f.receipt, f.done = f.refused.Receipt, false
	f.receipt.ID = f.handled.ID
	f.event, f.step, f.refused = Event{Kind: Overtaken}, Step{}, nil
}

func (f *flow) report(now time.Time) Handled {
	f.handled.Receipt = f.receipt
	if !f.incoming.SentAt.IsZero() {
		f.handled.Age = max(0, now.Sub(f.incoming.SentAt))
	}
	return f.handled
}

// atOnce is how many requests about receipts are under way at a time: a batch may have 10,000 messages, and a function
// of Lambda may have 1,024 files and connections open
// (https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html).
const atOnce = 32

// each calls do for the flows that need it, several at once, and waits for all.
func each(flows []*flow, needs func(*flow) bool, do func(*flow)) {
	slots := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for _, f := range flows {
		if needs(f) {
			slots <- struct{}{}
			all.Go(func() {
				defer func() { <-slots }()
				do(f)
			})
		}
	}
	all.Wait()
}

func (r *Router) now() time.Time {
	if r.Now != nil {
		return r.Now().Truncate(time.Millisecond)
	}
	return time.Now().Truncate(time.Millisecond)
}

// token is 128 random bits as 22 characters.
func (r *Router) token() (string, error) {
	source := r.Rand
	if source == nil {
		source = rand.Reader
	}
	var bits [16]byte
	if _, err := io.ReadFull(source, bits[:]); err != nil {
		return "", fmt.Errorf("make a token: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(bits[:]), nil
}

// remaining is how much of the invocation is left.
func (b *batch) remaining() time.Duration {
	if deadline, ok := b.ctx.Deadline(); ok {
		return time.Until(deadline)
	}
	return math.MaxInt64
}

// hasTime reports whether a message may be begun.
func (b *batch) hasTime() bool {
	return b.ctx.Err() == nil && b.remaining() >= cmp.Or(b.router.Reserve, DefaultReserve)
}

// write makes the step's move. It repeats a write without an answer: a repeated move recognises itself.
func (b *batch) write(f *flow) {
	const firstWait, lastWait = 50 * time.Millisecond, 200 * time.Millisecond
	m := *f.step.Move
	for wait := firstWait; ; wait *= 2 {
		receipt, err := b.router.Receipts.Write(b.ctx, m)
		var refused *RefusedError
		switch {
		case err == nil:
			b.written(f, m, receipt)
			return
		case errors.As(err, &refused) && !refused.Receipt.same(m.From):
			f.refused = refused
			return
		case refused != nil: // nothing has changed: deciding again would lead here again
			f.fail(fmt.Errorf("write receipt: %w", err), b.router.now())
			return
		case wait > lastWait || b.ctx.Err() != nil:
			f.fail(fmt.Errorf("write receipt: %w", err), b.router.now())
			return
		}
		bounded.Pause(b.ctx, wait)
	}
}

// written notes a write that took effect.
func (b *batch) written(f *flow, m Move, receipt Receipt) {
	f.receipt = receipt
	switch m.Kind {
	case Reassign:
		reroutes := receipt.Outcome().Reroutes
		f.handled.Reroutes = append(f.handled.Reroutes, reroutes[len(reroutes)-1])
	case Extend:
		f.handled.Extended = true
	}
}
