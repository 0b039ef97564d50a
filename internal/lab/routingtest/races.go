package routingtest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/landfall-dev/landfall/internal/routing"
)

func (h Harness) races(t *testing.T) {
	h.routerRaces(t)
	h.acceptanceRaces(t)
	h.deliveryRaces(t)
}

// routerRaces are between routers that make the same move.
func (h Harness) routerRaces(t *testing.T) {
	h.each(t, "a message is never assigned by two routers", func(b *bench) {
		b.exclusive(b.many(routing.Assign, b.get())...)
	})
	h.each(t, "a lapse seen by many is never rerouted by two", func(b *bench) {
		b.exclusive(b.many(routing.Reassign, b.pending())...)
		if after := b.get(); after.Attempt != 2 || len(after.History) != 1 {
			b.t.Errorf("attempt %d with %d before it, want 2 with 1", after.Attempt, len(after.History))
		}
	})
	h.each(t, "a deadline is never extended by two", func(b *bench) {
		pending := b.pending()
		extensions := b.many(routing.Extend, pending)
		for i := range extensions { // the very same deadline, to the millisecond
			extensions[i].At, extensions[i].Deadline = b.now, b.now.Add(time.Minute)
		}
		b.exclusive(extensions...)
		if after := b.get(); after.Extensions != 1 {
			b.t.Errorf("extended %d times, want once", after.Extensions)
		}
	})
	h.each(t, "a forward that was not taken is never made again by two whose clocks say that no time has passed", func(b *bench) {
		extend := b.move(routing.Extend, b.onDelivery())
		extend.NotTaken = true
		extensions := b.many(routing.Extend, b.made(extend))
		for i := range extensions {
			extensions[i].At, extensions[i].Deadline = extend.At, extend.Deadline
		}
		b.exclusive(extensions...)
		b.refuses(b.move(routing.Reassign, extensions[0].From))
	})
	h.each(t, "a message is never given up by two", func(b *bench) {
		b.exclusive(b.many(routing.Kill, b.pending())...)
	})
}

// acceptanceRaces are between a consumer and what the router, or the consumer itself, does otherwise.
func (h Harness) acceptanceRaces(t *testing.T) {
	h.each(t, "a message is never accepted and moved on", func(b *bench) {
		pending := b.pending()
		accept := b.move(routing.Accept, pending)
		b.either([]routing.Move{accept, accept}, b.many(routing.Reassign, pending))
	})
	h.each(t, "a message is never accepted and dead", func(b *bench) {
		pending := b.pending()
		accept := b.move(routing.Accept, pending)
		b.either([]routing.Move{accept, accept}, b.many(routing.Kill, pending))
	})
	h.each(t, "a message is never accepted and declined", func(b *bench) {
		pending := b.pending()
		accept, decline := b.move(routing.Accept, pending), b.move(routing.Decline, pending)
		b.either([]routing.Move{accept, accept, accept}, []routing.Move{decline, decline, decline})
	})
	h.each(t, "a stale acceptance never takes a message back", func(b *bench) {
		first := b.pending()
		second := b.made(b.move(routing.Reassign, first))
		b.refuses(b.move(routing.Accept, first))
		b.refuses(b.move(routing.Decline, first))
		b.made(b.move(routing.Accept, second))
		b.refuses(b.move(routing.Accept, first))
		b.refuses(b.move(routing.Decline, second))
		b.made(b.move(routing.Accept, second))
	})
}

// deliveryRaces are about messages whose delivery is their acceptance.
func (h Harness) deliveryRaces(t *testing.T) {
	h.each(t, "a refused forward never reroutes what another invocation may have delivered", func(b *bench) {
		pending := b.onDelivery()
		b.made(b.move(routing.MarkAgain, pending))
		b.refuses(b.move(routing.Reassign, pending))
		b.refuses(b.move(routing.Reassign, b.get()))
	})
	h.each(t, "an assignment that was marked again since is never repeated as if it were one's own", func(b *bench) {
		assign := b.move(routing.Assign, b.get())
		assign.OnDelivery = true
		b.made(b.move(routing.MarkAgain, b.made(assign)))
		b.refuses(assign)
	})
}

// many are the same move by many routers.
func (b *bench) many(kind routing.MoveKind, from routing.Receipt) []routing.Move {
	all := make([]routing.Move, 64)
	for i := range all {
		all[i] = b.move(kind, from)
		all[i].Token = fmt.Sprintf("token-of-router-%06d", i)
	}
	return all
}

// atOnce makes moves at the same time and tells which were granted.
func (b *bench) atOnce(moves []routing.Move) []bool {
	b.t.Helper()
	var all sync.WaitGroup
	errs := make([]error, len(moves))
	for i, m := range moves {
		all.Go(func() { _, errs[i] = b.subject.Store.Write(b.t.Context(), m) })
	}
	all.Wait()
	granted := make([]bool, len(moves))
	for i, err := range errs {
		var refused *routing.RefusedError
		if granted[i] = err == nil; err != nil && !errors.As(err, &refused) {
			b.t.Errorf("%s: %v, want a refusal", moves[i].Kind, err)
		}
	}
	return granted
}

// exclusive makes moves at once, of which one must be granted.
func (b *bench) exclusive(moves ...routing.Move) {
	b.t.Helper()
	won := 0
	for _, granted := range b.atOnce(moves) {
		if granted {
			won++
		}
	}
	if won != 1 {
		b.t.Errorf("%d of %d were granted, want 1", won, len(moves))
	}
}

// either makes moves at once, of which only those of one side may be granted.
func (b *bench) either(one, other []routing.Move) {
	b.t.Helper()
	granted := b.atOnce(append(append([]routing.Move{}, one...), other...))
	ones, others := 0, 0
	for i, ok := range granted {
		switch {
		case ok && i < len(one):
			ones++
		case ok:
			others++
		}
	}
	if (ones > 0) == (others > 0) {
		b.t.Errorf("%d %s and %d %s were granted, want one kind", ones, one[0].Kind, others, other[0].Kind)
	}
	for range one { // whoever lost, stays refused; whoever won, may say so again
		if _, err := b.subject.Store.Write(b.t.Context(), one[0]); (err == nil) != (ones > 0) {
			b.t.Errorf("%s again: %v, after %d were granted", one[0].Kind, err, ones)
		}
	}
}

// lostAnswers repeats a write whose answer was lost, as SDKs do, and expects it to have happened once.
func (h Harness) lostAnswers(t *testing.T) {
	for _, move := range moves {
		if move.change != nil {
			continue
		}
		for i, state := range states {
			if result := move.results[2*i]; result == '.' {
				continue
			}
			h.each(t, "a write whose answer was lost happens once: "+move.name+"/"+state.name, func(b *bench) {
				if b.subject.LoseAnswer == nil {
					return
				}
				state.reach(b)
				m := b.move(move.kind, b.get())
				want, err := m.Apply(b.get())
				if err != nil {
					b.t.Fatal(err)
				}
				b.subject.LoseAnswer()
				if _, err := b.subject.Store.Write(b.t.Context(), m); err != nil {
					b.same("the receipt that the repetition returned", want, b.made(m))
				}
				b.same("the stored receipt", want, b.get())
			})
		}
	}
}

func (h Harness) receipts(t *testing.T) {
	h.each(t, "a message without a receipt never has another's", func(b *bench) {
		b.pending()
		for _, id := range []routing.ID{
			{Group: "couriers", Message: "other"}, {Group: "other", Message: b.id.Message}, {Group: "couriers", Message: ""},
		} {
			receipt, err := b.subject.Store.Get(b.t.Context(), id)
			if err != nil || receipt.State != "" || receipt.ID != id {
				b.t.Errorf("%v: %+v, %v", id, receipt, err)
			}
		}
	})
	h.each(t, "every consumer that was tried is kept", func(b *bench) {
		receipt := b.pending()
		for range 20 {
			receipt = b.made(b.move(routing.Reassign, receipt))
		}
		stored := b.get()
		b.same("the stored receipt", receipt, stored)
		if tried := stored.Tried(); len(tried) != 20 || tried[0] != "consumer-a" || tried[19] != "consumer-t" {
			b.t.Errorf("tried = %v", tried)
		}
	})
	h.each(t, "every end of an attempt is stored as it is", func(b *bench) {
		receipt := b.pending()
		for _, end := range []routing.End{routing.EndLapsed, routing.EndDeclined, routing.EndRefused, routing.EndErrored} {
			m := b.move(routing.Reassign, receipt)
			m.End = end
			receipt = b.made(m)
		}
		b.same("the stored receipt", receipt, b.get())
	})
	h.each(t, "every reason is stored as it is", func(b *bench) {
		for _, reason := range []routing.Reason{
			routing.ReasonMaxWait, routing.ReasonNobodyLeft, routing.ReasonReceiveCount,
			routing.ReasonDeliveryUnknown, routing.ReasonOversize,
		} {
			b.id.Message = "m-" + string(reason)
			m := b.move(routing.Kill, b.get())
			m.Reason = reason
			b.same("the stored receipt", b.made(m), b.get())
		}
	})
}
