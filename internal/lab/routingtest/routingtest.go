// Package routingtest is the conformance suite for stores of receipts: what [routing.Move.Apply] means must be
// what a store does, one conditional write at a time, under races and lost answers. It holds stores to the
// protocol; it does not test what the router makes of it.
package routingtest

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landfall-dev/landfall/internal/routing"
)

// Subject is a store under test.
type Subject struct {
	Store routing.Receipts
	// Raw is the stored receipt in some canonical form, every byte of it: "" if there is none.
	Raw func(t *testing.T, id routing.ID) string
	// LoseAnswer makes the answer of the next write be lost after the write took effect. A store whose
	// client repeats such a write by itself may return its second answer instead of an error. It is nil
	// for an endpoint that cannot do so; then the cases that need it are not part of the suite.
	LoseAnswer func()
}

// Harness makes subjects.
type Harness struct {
	// New makes an empty store.
	New func(t *testing.T) Subject
	// RealTime runs the suite outside of synctest bubbles, for stores behind real sockets.
	RealTime bool
}

// Run runs the suite.
func Run(t *testing.T, h Harness) {
	t.Run("moves", h.moves)
	t.Run("races", h.races)
	t.Run("lost answers", h.lostAnswers)
	t.Run("receipts", h.receipts)
	t.Run("fields", h.fields)
}

// bench is one store and one receipt that a test plays with.
type bench struct {
	subject Subject
	t       *testing.T
	id      routing.ID
	now     time.Time
	tokens  int
}

// each runs one test over a fresh store, in virtual time where that is possible.
func (h Harness) each(t *testing.T, name string, test func(b *bench)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		run := func(t *testing.T) {
			test(&bench{
				subject: h.New(t), t: t, now: time.Now().Truncate(time.Millisecond),
				id: routing.ID{Group: "couriers", Message: "4bf92f3577b34da6a3ce929d0e0e4736"},
			})
		}
		if h.RealTime {
			run(t)
		} else {
			synctest.Test(t, run)
		}
	})
}

func (b *bench) newToken() string {
	b.tokens++
	return "token-of-22-characters"[:20] + string([]rune{rune('a' + b.tokens/26), rune('a' + b.tokens%26)})
}

// get is the stored receipt.
func (b *bench) get() routing.Receipt {
	b.t.Helper()
	receipt, err := b.subject.Store.Get(b.t.Context(), b.id)
	if err != nil {
		b.t.Fatalf("get: %v", err)
	}
	return receipt
}

// move is a move from a receipt as read. Every move is made at another time than those before.
func (b *bench) move(kind routing.MoveKind, from routing.Receipt) routing.Move {
	b.now = b.now.Add(137 * time.Millisecond)
	m := routing.Move{ID: b.id, Kind: kind, From: from, Token: b.newToken(), At: b.now}
	switch kind {
	case routing.Assign, routing.Reassign:
		m.Consumer, m.Deadline = "consumer-"+string(rune('a'+from.Attempt)), b.now.Add(30*time.Second)
		if kind == routing.Reassign {
			m.End, m.Seen = routing.EndLapsed, b.now.Add(-time.Millisecond)
		}
	case routing.Extend:
		m.Deadline = b.now.Add(time.Minute)
	case routing.Accept:
		return routing.AcceptMove(b.id, from.Attempt, from.Token, b.now)
	case routing.Decline:
		return routing.DeclineMove(b.id, from.Attempt, from.Token, b.now)
	case routing.Kill:
		m.Reason = routing.ReasonMaxWait
	}
	return m
}

// made makes a move that must be granted.
func (b *bench) made(m routing.Move) routing.Receipt {
	b.t.Helper()
	receipt, err := b.subject.Store.Write(b.t.Context(), m)
	if err != nil {
		b.t.Fatalf("%s: %v", m.Kind, err)
	}
	return receipt
}

// refuses makes a move that must be refused, with the receipt as it is, and change nothing.
func (b *bench) refuses(m routing.Move) {
	b.t.Helper()
	before, stored := b.subject.Raw(b.t, b.id), b.get()
	_, err := b.subject.Store.Write(b.t.Context(), m)
	var refused *routing.RefusedError
	if !errors.As(err, &refused) {
		b.t.Errorf("%s: %v, want a refusal", m.Kind, err)
		return
	}
	b.same("the receipt in the refusal", stored, refused.Receipt)
	if after := b.subject.Raw(b.t, b.id); after != before {
		b.t.Errorf("%s was refused, and the stored receipt changed:\n%s\n%s", m.Kind, before, after)
	}
}

func (b *bench) same(what string, want, got routing.Receipt) {
	b.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		b.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// pending is a receipt whose first attempt is under way.
func (b *bench) pending() routing.Receipt { return b.made(b.move(routing.Assign, b.get())) }

// onDelivery is the same where delivery counts as acceptance.
func (b *bench) onDelivery() routing.Receipt {
	m := b.move(routing.Assign, b.get())
	m.OnDelivery = true
	return b.made(m)
}
