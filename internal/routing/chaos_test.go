package routing_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/landfall-dev/landfall/internal/routing"
)

// chaos is a router process whose calls take their time, and sometimes fail, or lose their answers.
type chaos struct {
	*faults
	dice    *dice
	trouble float64
}

// dice is a seeded source for several goroutines.
type dice struct {
	mu sync.Mutex
	*rand.Rand
}

func (d *dice) n(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.IntN(n)
}

func (d *dice) chance(p float64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.Float64() < p
}

func (d *dice) upTo(most time.Duration) time.Duration { return time.Duration(d.n(int(most))) }

// next spoils the next call, or not.
func (c *chaos) next() {
	pass(c.dice.upTo(400 * time.Millisecond))
	c.mu.Lock()
	defer c.mu.Unlock()
	switch n := c.calls + 1; {
	case c.dice.chance(c.trouble):
		c.lost[n] = true
	case c.dice.chance(c.trouble):
		c.failed[n] = true
	}
}

func (c *chaos) Get(ctx context.Context, id routing.ID) (routing.Receipt, error) {
	c.next()
	return c.faults.Get(ctx, id)
}

func (c *chaos) Write(ctx context.Context, m routing.Move) (routing.Receipt, error) {
	c.next()
	return c.faults.Write(ctx, m)
}

func (c *chaos) Snapshot(ctx context.Context, group string) (routing.Snapshot, error) {
	c.next()
	return c.faults.Snapshot(ctx, group)
}

func (c *chaos) Hold(ctx context.Context, holds []routing.Hold) []error {
	c.next()
	return c.faults.Hold(ctx, holds)
}

func (c *chaos) Delete(ctx context.Context, messages []routing.Incoming) []error {
	c.next()
	return c.faults.Delete(ctx, messages)
}

func (c *chaos) Forward(ctx context.Context, forwards []routing.Forward) []routing.Answer {
	c.next()
	return c.faults.Forward(ctx, forwards)
}

func (c *chaos) Bury(ctx context.Context, letters []routing.DeadLetter) []error {
	c.next()
	return c.faults.Bury(ctx, letters)
}

// whim is a consumer that behaves otherwise each time.
func (w *rig) whim(d *dice) behaviour {
	return func(ctx context.Context, f routing.Forward) routing.Answer {
		late := d.upTo(80 * time.Second)
		does := []behaviour{
			w.worker(func(f routing.Forward) { pass(late); _ = w.accept(f) }),
			w.worker(func(f routing.Forward) { pass(late / 40); _ = w.accept(f) }),
			w.worker(func(f routing.Forward) { pass(late / 10); _ = w.decline(f); pass(late); _ = w.accept(f) }),
			w.worker(func(f routing.Forward) { _ = w.decline(f) }),
			w.takesSilently(w.worker(func(f routing.Forward) { pass(late); _ = w.accept(f) })),
			w.ignores(), refuses(), answers(routing.Answer{}), answers(routing.Answer{Kind: routing.Failed}),
		}
		return does[d.n(len(does))](ctx, f)
	}
}

// again hands out a message that somebody has, as queues do.
func (w *rig) again(d *dice) []routing.Incoming {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.queue[d.n(len(w.queue))]
	if m.deleted {
		return nil
	}
	if d.chance(0.5) {
		m.Receives++
		m.Handle = fmt.Sprintf("%s/%d", m.ID, m.Receives)
	}
	return []routing.Incoming{m.Incoming}
}

func TestChaosGivesEachMessageExactlyOneEnd(t *testing.T) {
	t.Parallel()
	for seed := range uint64(150) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { playChaos(t, &dice{Rand: rand.New(rand.NewPCG(seed, 7))}) })
		})
	}
}

func playChaos(t *testing.T, d *dice) {
	w := newRig(t)
	w.policy.MaxWait, w.racy = 10*time.Minute, true
	if d.chance(0.4) {
		w.policy.Accept = routing.OnDelivery
	}
	for i := range d.n(5) {
		w.consumer(string(rune('a'+i)), w.whim(d))
	}
	w.function(first{})
	w.send("m1", "m2", "m3")
	var processes sync.WaitGroup
	for range 3 {
		processes.Go(func() {
			for range 60 {
				c := &chaos{&faults{rig: w, lost: map[int]bool{}, failed: map[int]bool{}}, d, 0.05}
				if d.chance(0.2) {
					c.cut = 1 + d.n(8)
				}
				router := &routing.Router{Receipts: c, Groups: c, Ingress: c, Forwarder: c, DeadLetters: c}
				batch := w.receive()
				if len(batch) == 0 && d.chance(0.2) {
					batch = w.again(d)
				}
				if len(batch) > 0 {
					ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
					router.Route(ctx, batch)
					cancel()
				}
				if d.chance(0.03) {
					w.consumer("late", w.whim(d))
				}
				pass(d.upTo(6 * time.Second))
			}
		})
	}
	processes.Wait()
	w.drive(time.Hour)
	w.working.Wait()
	for _, m := range []string{"m1", "m2", "m3"} {
		w.end(m)
		w.neverBack(m)
	}
}

// neverBack checks that each attempt had one consumer and each consumer one attempt (I10).
func (w *rig) neverBack(message string) {
	w.Helper()
	consumers, attempts := map[int]string{}, map[string]int{}
	for _, f := range w.forwards {
		if f.Message.ID != message {
			continue
		}
		n, c := f.Envelope.Attempt, f.Consumer.ID
		if was, seen := consumers[n]; seen && was != c {
			w.Errorf("%s: attempt %d went to %s and %s", message, n, was, c)
		}
		if was, seen := attempts[c]; seen && was != n {
			w.Errorf("%s: %s was given it in attempts %d and %d", message, c, was, n)
		}
		consumers[n], attempts[c] = c, n
	}
}
