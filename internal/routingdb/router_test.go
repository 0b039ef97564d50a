package routingdb_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/routingdb"
)

// mail is an ingress queue, consumers that accept at once but for those that never do, and a dead-letter queue.
type mail struct {
	*couriers
	ignores string

	mu      sync.Mutex
	kept    map[string]*routing.Incoming
	shownAt map[string]time.Time
	// accepted counts acceptances as consumers saw them, letters the dead letters by reason.
	accepted map[string]int
	letters  map[string][]routing.Reason
}

func newMail(w *couriers, ids ...string) *mail {
	m := &mail{
		couriers: w, kept: map[string]*routing.Incoming{}, shownAt: map[string]time.Time{},
		accepted: map[string]int{}, letters: map[string][]routing.Reason{},
	}
	for _, id := range ids {
		m.kept[id] = &routing.Incoming{Message: routing.Message{ID: id}, Group: "couriers", Handle: id, SentAt: time.Now()}
	}
	return m
}

// route invokes a router until nothing is left, or for so long.
func (m *mail) route(d time.Duration) {
	router := &routing.Router{Receipts: m.Receipts, Groups: m.groups, Ingress: m, Forwarder: m, DeadLetters: m}
	for until := time.Now().Add(d); time.Now().Before(until); <-time.After(time.Second) {
		m.mu.Lock()
		var batch []routing.Incoming
		left := len(m.kept)
		for id, in := range m.kept {
			if !m.shownAt[id].After(time.Now()) && len(batch) < 10 {
				in.Receives++
				m.shownAt[id] = time.Now().Add(time.Minute)
				batch = append(batch, *in)
			}
		}
		m.mu.Unlock()
		if left == 0 {
			return
		}
		ctx, cancel := context.WithTimeout(m.Context(), time.Minute)
		router.Route(ctx, batch)
		cancel()
	}
}

func (m *mail) Hold(_ context.Context, holds []routing.Hold) []error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, h := range holds {
		m.shownAt[h.Message.ID] = time.Now().Add(h.For)
	}
	return make([]error, len(holds))
}

func (m *mail) Delete(_ context.Context, messages []routing.Incoming) []error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, in := range messages {
		delete(m.kept, in.ID)
	}
	return make([]error, len(messages))
}

func (m *mail) Forward(ctx context.Context, forwards []routing.Forward) (answers []routing.Answer) {
	for _, f := range forwards {
		answers = append(answers, routing.Answer{Kind: routing.Taken})
		if f.Consumer.ID == m.ignores {
			continue
		}
		m.accept(ctx, f.Envelope)
	}
	return answers
}

// accept accepts, until it is known whether that was granted.
func (m *mail) accept(ctx context.Context, e routing.Envelope) {
	for {
		_, err := m.Write(ctx, routing.AcceptMove(e.ID, e.Attempt, e.Token, time.Now()))
		var refused *routing.RefusedError
		switch {
		case err == nil:
			m.mu.Lock()
			m.accepted[e.Message]++
			m.mu.Unlock()
			return
		case errors.As(err, &refused):
			return
		}
		<-time.After(100 * time.Millisecond)
	}
}

func (m *mail) Bury(_ context.Context, letters []routing.DeadLetter) []error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range letters {
		m.letters[l.Message.ID] = append(m.letters[l.Message.ID], l.Receipt.Reason)
	}
	return make([]error, len(letters))
}

// TestMessageWithABrokenReceiptIsDeadLettered, neither their own nor their neighbours': each ends in the dead-letter queue with a
// reason, the others are accepted.
func TestMessageWithABrokenReceiptIsDeadLettered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCouriers(t, "north")
		var ids []string
		for i := range brokenReceipts {
			ids = append(ids, fmt.Sprint("broken-", i), fmt.Sprint("good-", i))
		}
		m := newMail(w, ids...)
		for i, c := range brokenReceipts {
			broken := attempt(routing.ID{Group: "couriers", Message: ids[2*i]})
			c.change(broken)
			w.write(w.table, broken)
		}
		m.route(time.Hour)
		for _, id := range ids {
			accepted, letters := m.accepted[id], fmt.Sprint(m.letters[id])
			switch {
			case strings.HasPrefix(id, "good") && (accepted != 1 || letters != "[]"):
				t.Errorf("%s: accepted %d times, dead letters %s", id, accepted, letters)
			case strings.HasPrefix(id, "broken") && (accepted != 0 || letters != fmt.Sprint([]routing.Reason{routingdb.ReasonInvalid})):
				t.Errorf("%s: accepted %d times, dead letters %s", id, accepted, letters)
			}
		}
		if len(m.kept) > 0 {
			t.Errorf("%d messages are still there", len(m.kept))
		}
	})
}

// TestLostAnswersKeepOneAcceptance: every third answer of the tables is lost, every seventh request is
// refused for a while, one consumer never accepts, and it drains in the middle.
func TestLostAnswersKeepOneAcceptance(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCouriers(t, "north", "south", "east")
		var ids []string
		for i := range 60 {
			ids = append(ids, fmt.Sprint("m", i))
		}
		m := newMail(w, ids...)
		m.ignores = "east"
		w.fallback = func(r faults.Request) faults.Fault {
			n := r.Seq * 0x9e3779b97f4a7c15 >> 33 // without a period, which could hit the same request of each round
			switch {
			case r.Service != "dynamodb":
			case n%3 == 0:
				return faults.Fault{LoseAnswer: true}
			case n%7 == 0:
				return faults.Fault{Error: faults.Throttle}
			}
			return faults.Fault{}
		}
		m.route(20 * time.Second)
		w.drain("east", true)
		m.route(2 * time.Hour)
		w.fallback = faults.None
		moved := 0
		for _, id := range ids {
			end := w.got(routing.ID{Group: "couriers", Message: id})
			if m.accepted[id] != 1 || end.State != routing.Accepted || len(m.letters[id]) > 0 {
				t.Errorf("%s: accepted %d times, %s, dead letters %v", id, m.accepted[id], end.State, m.letters[id])
			}
			moved += len(end.History)
		}
		if moved == 0 || len(m.kept) > 0 {
			t.Errorf("%d reroutes, want some; %d messages left, want none", moved, len(m.kept))
		}
	})
}

// TestMessageWaitsWhileItsRouteCannotBeMade: they are held until it is reset.
func TestMessageWaitsWhileItsRouteCannotBeMade(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCouriers(t, "north")
		m := newMail(w, "m1", "m2")
		if err := w.control.SetRoute(t.Context(), "couriers", routingdb.Route{Kind: "of a later version"}, "ada"); err != nil {
			t.Fatal(err)
		}
		m.route(5 * time.Minute)
		if len(m.kept) != 2 || len(m.letters) > 0 {
			t.Fatalf("%d messages left, dead letters %v", len(m.kept), m.letters)
		}
		if err := w.control.ResetRoute(t.Context(), "couriers"); err != nil {
			t.Fatal(err)
		}
		m.route(5 * time.Minute)
		if m.accepted["m1"] != 1 || m.accepted["m2"] != 1 || len(m.kept) > 0 {
			t.Errorf("accepted %v, %d left", m.accepted, len(m.kept))
		}
	})
}
