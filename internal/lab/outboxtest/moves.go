package outboxtest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landfall-dev/landfall/internal/outbox"
)

// states are the situations of a row, each reached by legal moves.
var states = []struct {
	name  string
	reach func(b *bench)
}{
	{"absent", func(b *bench) {}},
	{"new", func(b *bench) { b.put(b.fresh()) }},
	{"put off", func(b *bench) { b.putOff(time.Time{}) }},
	{"put off, maybe arrived", func(b *bench) { b.putOff(b.now) }},
	{"claimed", func(b *bench) { b.put(b.fresh()); b.claimed(nil) }},
	{"claimed, maybe arrived", func(b *bench) { b.putOff(b.now); row := b.get(); b.claimed(&row) }},
	{"unknown", func(b *bench) { b.unknown() }},
	{"completed", func(b *bench) {
		b.put(b.fresh())
		b.settled(held(b.to(outbox.StatusCompleted), b.claimed(nil).Token))
	}},
	{"failed", func(b *bench) {
		b.put(b.fresh())
		b.settled(held(b.to(outbox.StatusFailed), b.claimed(nil).Token))
	}},
	{"failed, says the remote", func(b *bench) {
		b.unknown()
		b.settled(seen(b.to(outbox.StatusFailed), b.get()))
	}},
}

func (b *bench) putOff(maybeSince time.Time) {
	b.put(b.fresh())
	s := held(b.to(outbox.StatusPending), b.claimed(nil).Token)
	s.MaybeSince = maybeSince
	b.settled(s)
}

func (b *bench) unknown() {
	b.put(b.fresh())
	s := held(b.to(outbox.StatusOutcomeUnknown), b.claimed(nil).Token)
	s.MaybeSince = b.now
	b.settled(s)
}

// moves is the table of legal and illegal moves: a row each for who tries what, a column each for the
// states above. A letter is the status that results (pending, dispatching, unknown, completed, failed);
// '=' succeeds and changes nothing; '.' is refused and leaves the stored row as it was, byte for byte.
var moves = []struct {
	name    string
	results string
	claim   func(b *bench, row outbox.Row) outbox.Claim
	settle  func(b *bench, row outbox.Row) outbox.Settlement
}{
	{name: "claim blind", results: ". d d . . . . . . .",
		claim: func(b *bench, row outbox.Row) outbox.Claim { return b.claim(nil) }},
	{name: "claim blind before it is due", results: ". . . . . . . . . .",
		claim: func(b *bench, row outbox.Row) outbox.Claim { return early(b.claim(nil)) }},
	{name: "claim blind ahead of time, the first time only, whatever the budget", results: ". d . . . . . . . .",
		claim: func(b *bench, row outbox.Row) outbox.Claim { return ahead(b.claim(nil), 5) }},
	{name: "claim blind ahead of time, with a budget of one", results: ". d . . . . . . . .",
		claim: func(b *bench, row outbox.Row) outbox.Claim { return ahead(b.claim(nil), 1) }},
	{name: "claim blind past deliver_by", results: ". . . . . . . . . .",
		claim: func(b *bench, row outbox.Row) outbox.Claim { return past(b.claim(nil)) }},
	{name: "claim blind without budget", results: ". . . . . . . . . .",
		claim: func(b *bench, row outbox.Row) outbox.Claim { return broke(b.claim(nil), row) }},
	{name: "claim as read", results: ". d d d d d . . . .",
		claim: func(b *bench, row outbox.Row) outbox.Claim { return b.claim(&row) }},
	{name: "claim as read before it is due", results: ". . . . d d . . . .",
		claim: func(b *bench, row outbox.Row) outbox.Claim { return early(b.claim(&row)) }},

	{name: "holder: completed", results: ". . . . c c c = . .", settle: holder(outbox.StatusCompleted)},
	{name: "holder: failed", results: ". . . . f . . . = =", settle: holder(outbox.StatusFailed)},
	{name: "holder: put off", results: ". . . . p p . . . .", settle: holder(outbox.StatusPending)},
	{name: "holder: unknown", results: ". . . . u u = . . .", settle: holder(outbox.StatusOutcomeUnknown)},

	{name: "stranger: completed", results: ". . . . . . . . . .", settle: stranger(outbox.StatusCompleted)},
	{name: "stranger: failed", results: ". . . . . . . . . .", settle: stranger(outbox.StatusFailed)},
	{name: "stranger: put off", results: ". . . . . . . . . .", settle: stranger(outbox.StatusPending)},
	{name: "stranger: unknown", results: ". . . . . . . . . .", settle: stranger(outbox.StatusOutcomeUnknown)},

	{name: "reader: completed", results: ". . . . . . c = . .", settle: reader(outbox.StatusCompleted)},
	{name: "reader: failed", results: ". f f . . . f . = =", settle: reader(outbox.StatusFailed)},
	{name: "reader: pending", results: ". . . . . . p . p .", settle: reader(outbox.StatusPending)},
	{name: "reader: unknown", results: ". u u u u u u . . .", settle: reader(outbox.StatusOutcomeUnknown)},
	{name: "reader: never arrived, resend", results: ". . . . . . p . p .",
		settle: func(b *bench, row outbox.Row) outbox.Settlement {
			s := reader(outbox.StatusPending)(b, row)
			s.Certain, s.NewBudget = true, true
			return s
		}},
	{name: "operator: completed", results: ". . . . . . c . . .", settle: operator(outbox.StatusCompleted, true)},
	{name: "operator: failed", results: ". f f . . . f . . .", settle: operator(outbox.StatusFailed, false)},
	{name: "operator: pending", results: ". . . . . . p . p .", settle: operator(outbox.StatusPending, true)},
}

// operator is a reader who signs. A resolution replaces an earlier one as a whole.
func operator(status outbox.Status, forced bool) func(*bench, outbox.Row) outbox.Settlement {
	return func(b *bench, row outbox.Row) outbox.Settlement {
		s := reader(status)(b, row)
		s.Resolution = outbox.Resolution{ResolutionID: b.newToken(), ResolvedBy: "ada", ResolvedAt: b.now, Forced: forced}
		if !forced {
			s.Reason = "the remote's console shows it"
		}
		s.NewBudget = status == outbox.StatusPending
		return s
	}
}

func early(c outbox.Claim) outbox.Claim { c.At = c.At.Add(-time.Millisecond); return c }

// ahead claims before the row is due, as the fast path does.
func ahead(c outbox.Claim, attempts int) outbox.Claim {
	c.At, c.Due, c.Attempts = c.At.Add(-5*time.Second), c.At, attempts
	return c
}

func past(c outbox.Claim) outbox.Claim { c.At = c.At.Add(48 * time.Hour); return c }

func broke(c outbox.Claim, row outbox.Row) outbox.Claim { c.Attempts = row.AttemptCount; return c }

func holder(status outbox.Status) func(*bench, outbox.Row) outbox.Settlement {
	return func(b *bench, row outbox.Row) outbox.Settlement {
		s := held(b.to(status), row.Token)
		if status == outbox.StatusPending { // another time than any put off before, so that it is no repetition
			s.LaneAt = b.now.Add(time.Second)
		}
		return s
	}
}

func stranger(status outbox.Status) func(*bench, outbox.Row) outbox.Settlement {
	return func(b *bench, row outbox.Row) outbox.Settlement { return held(b.to(status), "token-of-another-claim") }
}

func reader(status outbox.Status) func(*bench, outbox.Row) outbox.Settlement {
	return func(b *bench, row outbox.Row) outbox.Settlement {
		s := seen(b.to(status), row)
		if status == outbox.StatusOutcomeUnknown {
			s.LookedUp, s.LaneAt = row.Status == outbox.StatusOutcomeUnknown, b.now.Add(time.Hour)
		}
		if status == outbox.StatusPending {
			s.LaneAt = b.now.Add(time.Second)
		}
		return s
	}
}

var letters = map[string]outbox.Status{
	"p": outbox.StatusPending, "d": outbox.StatusDispatching, "u": outbox.StatusOutcomeUnknown, "c": outbox.StatusCompleted, "f": outbox.StatusFailed,
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
				var row outbox.Row
				if state.name != "absent" {
					row = b.get()
				}
				b.check(results[i], row, move.claim, move.settle)
			})
		}
	}
}

// check makes a move on the stored row and compares what is stored afterwards with the letter and with
// what the domain says the move means.
func (b *bench) check(result string, row outbox.Row,
	claim func(*bench, outbox.Row) outbox.Claim, settle func(*bench, outbox.Row) outbox.Settlement,
) {
	b.t.Helper()
	before := b.subject.Raw(b.t, b.id)
	var want, got outbox.Row
	var meant, err error
	var refused bool
	if claim != nil {
		c := claim(b, row)
		want, meant = c.Apply(row)
		got, err = b.subject.Store.Claim(b.t.Context(), c)
		var refusal *outbox.RefusedError
		if refused = errors.As(err, &refusal); refused {
			b.same("the row in the refusal", row, refusal.Row)
		} else if err == nil {
			b.same("the row that the claim returned", want, got)
		}
	} else {
		s := settle(b, row)
		want, meant = s.Apply(row)
		err = b.subject.Store.Settle(b.t.Context(), s)
		refused = errors.Is(err, outbox.ErrConflict)
	}
	switch {
	case (meant != nil) != (result == "."):
		b.t.Fatalf("the domain says %v, the table says %q", meant, result)
	case err != nil && !refused:
		b.t.Fatalf("failed: %v", err)
	case refused != (result == "."):
		b.t.Fatalf("refused = %v, want %q", refused, result)
	case result == "." || result == "=":
		if after := b.subject.Raw(b.t, b.id); after != before {
			b.t.Fatalf("the stored row changed:\n%s\n%s", before, after)
		}
		return
	}
	stored := b.get()
	if stored.Status != letters[result] {
		b.t.Fatalf("status = %q, want %q", stored.Status, letters[result])
	}
	b.same("the stored row", want, stored)
}

func (b *bench) same(what string, want, got outbox.Row) {
	b.t.Helper()
	want.Seen, got.Seen = nil, nil
	if diff := cmp.Diff(want, got); diff != "" {
		b.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
