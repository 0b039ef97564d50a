// Package outboxtest is the conformance suite for stores of rows: what [outbox.Claim.Apply] and
// [outbox.Settlement.Apply] mean must be what a store does, one conditional write at a time, under
// races and lost answers. It holds stores to the protocol; it does not test what the dispatcher makes
// of it.
package outboxtest

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/landfall-dev/landfall/internal/outbox"
)

// Store is what the suite tests: the dispatcher's port and the application's put.
type Store interface {
	outbox.Store
	Put(ctx context.Context, row outbox.Row) error
}

// Subject is a store under test.
type Subject struct {
	Store Store
	// Raw is the stored row in some canonical form, every byte of it: "" if there is none.
	Raw func(t *testing.T, id outbox.ID) string
	// LoseAnswer makes the answer of the next write be lost after the write took effect. A store whose
	// client repeats such a write by itself may return its second answer instead of an error. It is
	// nil for an endpoint that cannot do so; then the cases that need it are not part of the suite.
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
	t.Run("lanes", h.lanes)
	t.Run("puts", h.puts)
	t.Run("lost answers", h.lostAnswers)
	t.Run("fields", h.fields)
}

// bench is one store and one row that a test plays with.
type bench struct {
	subject Subject
	t       *testing.T
	id      outbox.ID
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
				id: outbox.ID{Destination: "charge", Key: "order 42/é#1"},
			})
		}
		if h.RealTime {
			run(t)
		} else {
			synctest.Test(t, run)
		}
	})
}

func lane(kind outbox.LaneKind) outbox.Lane {
	return outbox.Lane{Kind: kind, Destination: "charge", Shard: 1}
}

// fresh is a row as an application puts it, with every optional attribute.
func (b *bench) fresh() outbox.Row {
	return outbox.Row{
		ID: b.id, Status: outbox.StatusPending, Lane: lane(outbox.DueLane), LaneAt: b.now,
		Payload: []byte(`{"amount": 1.50, "note": "é"}`), ContentType: "application/json",
		Headers: map[string]string{"X-Tenant": "t1"}, Origin: "origin-of-the-first-content",
		CommandID: "command-7", Trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		CreatedAt: b.now, DeliverBy: b.now.Add(48 * time.Hour),
	}
}

func (b *bench) put(row outbox.Row) {
	b.t.Helper()
	if err := b.subject.Store.Put(b.t.Context(), row); err != nil {
		b.t.Fatalf("put: %v", err)
	}
}

// get is the stored row, as a reader sees it.
func (b *bench) get() outbox.Row {
	b.t.Helper()
	row, err := b.subject.Store.Get(b.t.Context(), b.id)
	if err != nil {
		b.t.Fatalf("get: %v", err)
	}
	if row.Unreadable != nil {
		b.t.Fatalf("the store cannot read what it wrote: %v", row.Unreadable)
	}
	return row
}

func (b *bench) newToken() string {
	b.tokens++
	return "token-of-22-characters"[:21] + string(rune('a'+b.tokens))
}

// claim is a claim made at the bench's time; from may be nil.
func (b *bench) claim(from *outbox.Row) outbox.Claim {
	return outbox.Claim{
		ID: b.id, Token: b.newToken(), ClaimedBy: "8f0ae0b1-7f6e-4e0e-9a53-3c1f0f5b2b10",
		At: b.now, Until: b.now.Add(40 * time.Second), Window: outbox.Window(24 * time.Hour), Attempts: 5, From: from,
	}
}

func (b *bench) claimed(from *outbox.Row) outbox.Row {
	b.t.Helper()
	row, err := b.subject.Store.Claim(b.t.Context(), b.claim(from))
	if err != nil {
		b.t.Fatalf("claim: %v", err)
	}
	return row
}

func (b *bench) settled(s outbox.Settlement) {
	b.t.Helper()
	if err := b.subject.Store.Settle(b.t.Context(), s); err != nil {
		b.t.Fatalf("settle: %v", err)
	}
}

// to is a settlement to the given status, without its fence.
func (b *bench) to(status outbox.Status) outbox.Settlement {
	s := outbox.Settlement{ID: b.id, Status: status, Code: "test.code"}
	switch status {
	case outbox.StatusPending:
		s.Lane, s.LaneAt = lane(outbox.DueLane), b.now
	case outbox.StatusOutcomeUnknown:
		s.Lane, s.LaneAt, s.Cause = lane(outbox.UnknownLane), b.now.Add(11*time.Minute), "test.cause"
	case outbox.StatusFailed:
		s.Lane, s.LaneAt, s.ExpiresAt = lane(outbox.FailedLane), b.now, b.now.Add(time.Hour).Truncate(time.Second)
		s.Cause = "test.cause"
	case outbox.StatusCompleted:
		s.RemoteRef, s.CompletedAt, s.ExpiresAt = "ch_123", b.now, b.now.Add(time.Hour).Truncate(time.Second)
	}
	return s
}

func held(s outbox.Settlement, token string) outbox.Settlement {
	s.Token = token
	return s
}

func seen(s outbox.Settlement, row outbox.Row) outbox.Settlement {
	s.From = &row
	return s
}
