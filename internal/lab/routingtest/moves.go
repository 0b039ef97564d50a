package routingtest

import (
	"errors"
	"strings"
	"testing"

	"github.com/landfall-dev/landfall/internal/routing"
)

// states are the situations of a receipt, each reached by legal moves.
var states = []struct {
	name  string
	reach func(b *bench)
}{
	{"absent", func(b *bench) {}},
	{"pending", func(b *bench) { b.pending() }},
	{"second attempt", func(b *bench) { b.made(b.move(routing.Reassign, b.pending())) }},
	{"extended", func(b *bench) { b.made(b.move(routing.Extend, b.pending())) }},
	{"on delivery", func(b *bench) { b.onDelivery() }},
	{"on delivery, again", func(b *bench) { b.made(b.move(routing.MarkAgain, b.onDelivery())) }},
	{"declined", func(b *bench) { b.made(b.move(routing.Decline, b.pending())) }},
	{"accepted", func(b *bench) { b.made(b.move(routing.Accept, b.pending())) }},
	{"dead", func(b *bench) { b.made(b.move(routing.Kill, b.pending())) }},
	{"dead before any attempt", func(b *bench) { b.made(b.move(routing.Kill, b.get())) }},
}

// moves is the table of legal and illegal moves: a row each for who tries what, a column each for the states
// above. A letter is the state that results (pending, declined, accepted, x: dead); '=' succeeds and changes
// nothing; '.' is refused and leaves the stored receipt as it was, byte for byte.
var moves = []struct {
	name    string
	results string
	kind    routing.MoveKind
	change  func(m *routing.Move)
}{
	{"assign", "p . . . . . . . . .", routing.Assign, nil},
	{"reassign", ". p p p p . p . . .", routing.Reassign, nil},
	{"reassign, extended since", ". . . . . . . . . .", routing.Reassign, otherMark},
	{"reassign, read in another state", ". . . . . . . . . .", routing.Reassign, otherState},
	{"reassign, by another's token", ". . . . . . . . . .", routing.Reassign, otherToken},
	{"reassign, read before it was marked again", ". p p p p . p . . .", routing.Reassign, notAgain},
	{"extend", ". p p p p p . . . .", routing.Extend, nil},
	{"extend, not taken", ". p p p p p . . . .", routing.Extend, notTaken},
	{"extend, extended since", ". . . . . . . . . .", routing.Extend, otherMark},
	{"extend, by another's token", ". . . . . . . . . .", routing.Extend, otherToken},
	{"again", ". . . . p = . . . .", routing.MarkAgain, nil},
	{"again, by another's token", ". . . . . . . . . .", routing.MarkAgain, otherToken},
	{"accept", ". a a a a a . = . .", routing.Accept, nil},
	{"accept, by another's token", ". . . . . . . . . .", routing.Accept, otherToken},
	{"accept, without a token", ". . . . . . . . . .", routing.Accept, noToken},
	{"accept, of another attempt", ". . . . . . . . . .", routing.Accept, otherAttempt},
	{"decline", ". d d d . . = . . .", routing.Decline, nil},
	{"decline, by another's token", ". . . . . . . . . .", routing.Decline, otherToken},
	{"decline, without a token", ". . . . . . . . . .", routing.Decline, noToken},
	{"decline, of another attempt", ". . . . . . . . . .", routing.Decline, otherAttempt},
	{"kill", "x x x x x x x . . .", routing.Kill, nil},
	{"kill, whatever was extended since", "x x x x x x x . . .", routing.Kill, otherMark},
	{"kill, by another's token", ". . . . . . . . . .", routing.Kill, otherToken},
	{"kill, read before there was a receipt", "x . . . . . . . . .", routing.Kill, unread},
}

func otherMark(m *routing.Move) { m.From.Mark = "token-of-an-extension" }

func notTaken(m *routing.Move) { m.NotTaken = true }

func otherState(m *routing.Move) {
	if m.From.State == routing.Pending {
		m.From.State = routing.Declined
	} else {
		m.From.State = routing.Pending
	}
}

func otherToken(m *routing.Move) {
	m.From.Token = "token-of-somebody-else"
	if m.From.State == "" {
		m.From.State = routing.Pending
	}
}

func noToken(m *routing.Move) { m.From.Token = "" }

func otherAttempt(m *routing.Move) { m.From.Attempt++ }

func notAgain(m *routing.Move) { m.From.Again = false }

func unread(m *routing.Move) { m.From = routing.Receipt{} }

var letters = map[string]routing.State{
	"p": routing.Pending, "d": routing.Declined, "a": routing.Accepted, "x": routing.Dead,
}

func (h Harness) moves(t *testing.T) {
	for _, move := range moves {
		results := strings.Fields(move.results)
		if len(results) != len(states) {
			t.Fatalf("%s: %d results for %d states", move.name, len(results), len(states))
		}
		for i, state := range states {
			h.each(t, move.name+"/"+state.name, func(b *bench) {
				state.reach(b)
				m := b.move(move.kind, b.get())
				if move.change != nil {
					move.change(&m)
				}
				b.check(results[i], m)
			})
		}
	}
}

// check makes a move on the stored receipt and compares what is stored afterwards with the letter and with
// what the domain says the move means.
func (b *bench) check(result string, m routing.Move) {
	b.t.Helper()
	before, stored := b.subject.Raw(b.t, b.id), b.get()
	want, meant := m.Apply(stored)
	if (meant != nil) != (result == ".") {
		b.t.Fatalf("the domain says %v, the table says %q", meant, result)
	}
	if result == "." {
		b.refuses(m)
		return
	}
	got, err := b.subject.Store.Write(b.t.Context(), m)
	var refused *routing.RefusedError
	switch {
	case errors.As(err, &refused):
		b.t.Fatalf("refused, want %q", result)
	case err != nil:
		b.t.Fatalf("failed: %v", err)
	}
	b.same("the receipt that the write returned", want, got)
	b.same("the stored receipt", want, b.get())
	if result == "=" {
		if after := b.subject.Raw(b.t, b.id); after != before {
			b.t.Fatalf("the stored receipt changed:\n%s\n%s", before, after)
		}
	} else if got.State != letters[result] {
		b.t.Fatalf("state = %q, want %q", got.State, letters[result])
	}
}
