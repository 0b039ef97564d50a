package outboxtest

import (
	"bytes"
	"errors"
	"sync"
	"testing"

	"github.com/landfall-dev/landfall/internal/outbox"
)

func (h Harness) puts(t *testing.T) {
	h.content(t)
	h.repetitions(t)
	h.each(t, "a row that does not exist is not found", func(b *bench) {
		if _, err := b.subject.Store.Get(b.t.Context(), b.id); !errors.Is(err, outbox.ErrNotFound) {
			b.t.Errorf("get: %v, want ErrNotFound", err)
		}
	})
}

// content holds a put to being stored as it is.
func (h Harness) content(t *testing.T) {
	h.each(t, "a put is stored as it was put", func(b *bench) {
		b.put(b.fresh())
		b.same("the stored row", b.fresh(), b.get())
	})
	payloads := map[string][]byte{
		"no bytes": {}, "text": []byte("hello"), "JSON, spaces kept": []byte("{ \"a\" : 1.0e0 }\n"),
		"all byte values": allBytes(), "large": bytes.Repeat(allBytes(), 1400),
	}
	for name, payload := range payloads {
		h.each(t, "a payload is kept to the byte: "+name, func(b *bench) {
			row := b.fresh()
			row.Payload, row.Binary = payload, name == "all byte values" || name == "large"
			b.put(row)
			if got := b.get(); !bytes.Equal(got.Payload, payload) {
				b.t.Errorf("%d bytes came back, not the %d that were put", len(got.Payload), len(payload))
			}
		})
	}
}

// repetitions are puts of a key that is there.
func (h Harness) repetitions(t *testing.T) {
	h.each(t, "the same put again succeeds and changes nothing, at any stage", func(b *bench) {
		b.put(b.fresh())
		b.put(b.fresh())
		row := b.claimed(nil)
		before := b.subject.Raw(b.t, b.id)
		b.put(b.fresh())
		if after := b.subject.Raw(b.t, b.id); after != before {
			b.t.Errorf("the stored row changed:\n%s\n%s", before, after)
		}
		b.settled(held(b.to(outbox.StatusCompleted), row.Token))
		b.put(b.fresh())
		if got := b.get(); got.Status != outbox.StatusCompleted {
			b.t.Errorf("a completed row became %q", got.Status)
		}
	})
	h.each(t, "a put of other content does not replace the row", func(b *bench) {
		b.put(b.fresh())
		before := b.subject.Raw(b.t, b.id)
		for _, origin := range []string{"origin-of-other-content", ""} {
			other := b.fresh()
			other.Origin, other.Payload = origin, []byte("other")
			if err := b.subject.Store.Put(b.t.Context(), other); !errors.Is(err, outbox.ErrExists) {
				b.t.Errorf("put with origin %q: %v, want ErrExists", origin, err)
			}
		}
		if after := b.subject.Raw(b.t, b.id); after != before {
			b.t.Errorf("the stored row changed:\n%s\n%s", before, after)
		}
	})
	h.each(t, "of 64 different puts of one key one succeeds", func(b *bench) {
		var all sync.WaitGroup
		results := make([]error, 64)
		for i := range results {
			row := b.fresh()
			row.Origin = "origin-" + string(rune('A'+i))
			all.Go(func() { results[i] = b.subject.Store.Put(b.t.Context(), row) })
		}
		all.Wait()
		stored := 0
		for _, err := range results {
			if err == nil {
				stored++
			} else if !errors.Is(err, outbox.ErrExists) {
				b.t.Errorf("put: %v", err)
			}
		}
		if stored != 1 {
			b.t.Errorf("%d puts succeeded, want 1", stored)
		}
	})
}

func allBytes() []byte {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	return all
}

// lostAnswers repeats a write whose answer was lost, as SDKs do, and expects it to have happened once.
func (h Harness) lostAnswers(t *testing.T) {
	unknownBefore := func(b *bench) { b.unknown() }
	claimedBefore := func(b *bench) { b.put(b.fresh()); b.claimed(nil) }
	cases := []struct {
		name  string
		reach func(b *bench)
		write func(b *bench, row outbox.Row) func() error
	}{
		{"claim", func(b *bench) { b.put(b.fresh()) }, claimAgain(false)},
		{"claim as read", func(b *bench) { b.putOff(b.now) }, claimAgain(true)},
		{"take over", claimedBefore, claimAgain(true)},
		{"holder: completed", claimedBefore, settleAgain(holder(outbox.StatusCompleted))},
		{"holder: failed", claimedBefore, settleAgain(holder(outbox.StatusFailed))},
		{"holder: put off", claimedBefore, settleAgain(holder(outbox.StatusPending))},
		{"holder: unknown", claimedBefore, settleAgain(holder(outbox.StatusOutcomeUnknown))},
		{"reader: expired", func(b *bench) { b.put(b.fresh()) }, settleAgain(reader(outbox.StatusFailed))},
		{"reader: abandoned", claimedBefore, settleAgain(reader(outbox.StatusOutcomeUnknown))},
		{"reader: completed", unknownBefore, settleAgain(reader(outbox.StatusCompleted))},
		{"reader: failed", unknownBefore, settleAgain(reader(outbox.StatusFailed))},
		{"reader: resend", unknownBefore, settleAgain(reader(outbox.StatusPending))},
		{"operator: completed", unknownBefore, settleAgain(operator(outbox.StatusCompleted, true))},
		{"operator: cancel", func(b *bench) { b.put(b.fresh()) }, settleAgain(operator(outbox.StatusFailed, false))},
		{"operator: resend", unknownBefore, settleAgain(operator(outbox.StatusPending, true))},
		{"reader: unresolved", unknownBefore, settleAgain(reader(outbox.StatusOutcomeUnknown))},
	}
	h.each(t, "a put whose answer was lost succeeds when repeated", func(b *bench) {
		if b.subject.LoseAnswer == nil {
			return
		}
		b.once(func() error { return b.subject.Store.Put(b.t.Context(), b.fresh()) })
		b.same("the stored row", b.fresh(), b.get())
	})
	for _, c := range cases {
		h.each(t, "a write whose answer was lost happens once: "+c.name, func(b *bench) {
			if b.subject.LoseAnswer == nil {
				return
			}
			c.reach(b)
			row := b.get()
			b.once(c.write(b, row))
		})
	}
}

// once makes a write whose first answer is lost, repeating it if the store's client did not.
func (b *bench) once(write func() error) {
	b.t.Helper()
	b.subject.LoseAnswer()
	err := write()
	if err != nil {
		err = write()
	}
	if err != nil {
		b.t.Fatalf("the repetition failed: %v", err)
	}
}

func claimAgain(asRead bool) func(*bench, outbox.Row) func() error {
	return func(b *bench, row outbox.Row) func() error {
		var from *outbox.Row
		if asRead {
			from = &row
		}
		c := b.claim(from)
		want, err := c.Apply(row)
		if err != nil {
			b.t.Fatal(err)
		}
		return func() error {
			got, err := b.subject.Store.Claim(b.t.Context(), c)
			if err == nil {
				b.same("the row that the claim returned", want, got)
				b.same("the stored row", want, b.get())
			}
			return err
		}
	}
}

func settleAgain(move func(*bench, outbox.Row) outbox.Settlement) func(*bench, outbox.Row) func() error {
	return func(b *bench, row outbox.Row) func() error {
		s := move(b, row)
		want, err := s.Apply(row)
		if err != nil {
			b.t.Fatal(err)
		}
		return func() error {
			err := b.subject.Store.Settle(b.t.Context(), s)
			if err == nil {
				b.same("the stored row", want, b.get())
			}
			return err
		}
	}
}
