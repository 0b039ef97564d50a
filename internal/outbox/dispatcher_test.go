package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/memory"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// world is a store, a dispatcher and remotes that do as they are told.
type world struct {
	*testing.T
	memory.Store
	dispatcher outbox.Dispatcher

	mu sync.Mutex
	// arrived counts the requests that reached the remote, by row.
	arrived  map[outbox.ID]int
	attempts []outbox.Attempt
	walks    []outbox.Walk
}

// remote is a destination's sender.
type remote func(ctx context.Context, row outbox.Row) outbox.Outcome

func (r remote) Send(ctx context.Context, row outbox.Row) outbox.Outcome { return r(ctx, row) }

func accepts(context.Context, outbox.Row) outbox.Outcome { return outbox.Completed("") }

// inWorld runs a test in virtual time.
func inWorld(t *testing.T, name string, test func(w *world)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := &world{T: t, arrived: map[outbox.ID]int{}}
			w.dispatcher = outbox.Dispatcher{Store: &w.Store, Observer: w, ClaimedBy: "request-1"}
			test(w)
		})
	})
}

func (w *world) Attempted(a outbox.Attempt) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.attempts = append(w.attempts, a)
}

func (w *world) Walked(walk outbox.Walk) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.walks = append(w.walks, walk)
}

func (w *world) destination(name string, policy outbox.Policy, r remote) {
	counted := func(ctx context.Context, row outbox.Row) outbox.Outcome {
		w.mu.Lock()
		w.arrived[row.ID]++
		w.mu.Unlock()
		return r(ctx, row)
	}
	w.dispatcher.Destinations = append(w.dispatcher.Destinations,
		outbox.Destination{Name: name, Policy: policy, Sender: remote(counted)})
}

// put puts rows "<destination>#0" to "<destination>#n-1", each changed by with.
func (w *world) put(destination string, n int, with ...func(*outbox.Row)) (ids []outbox.ID) {
	w.Helper()
	for i := range n {
		row := outbox.Row{
			ID: outbox.ID{Destination: destination, Key: fmt.Sprint(i)}, Status: outbox.StatusPending,
			Lane:   outbox.Lane{Kind: outbox.DueLane, Destination: destination},
			LaneAt: w.now(), CreatedAt: w.now(), Payload: []byte("secret payload"),
		}
		for _, change := range with {
			change(&row)
		}
		if err := w.Put(w.Context(), row); err != nil {
			w.Fatal(err)
		}
		ids = append(ids, row.ID)
	}
	return ids
}

func (w *world) now() time.Time { return time.Now().Truncate(time.Millisecond) }

func (w *world) run() outbox.Report { return w.runFor(time.Minute + 45*time.Second) }

// runFor is one invocation with so much time.
func (w *world) runFor(timeout time.Duration) outbox.Report {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), timeout)
	defer cancel()
	report, err := w.dispatcher.RunOnce(ctx)
	if err != nil {
		w.Fatalf("run: %v", err)
	}
	return report
}

func (w *world) row(id outbox.ID) outbox.Row {
	w.Helper()
	row, err := w.Get(w.Context(), id)
	if err != nil {
		w.Fatal(err)
	}
	return row
}

// abandon claims a row for a worker that dies, and lets its claim end.
func (w *world) abandon(id outbox.ID, window outbox.Window) {
	w.Helper()
	_, err := w.Claim(w.Context(), outbox.Claim{
		ID: id, Token: "dead", At: w.now(), Until: w.now().Add(40 * time.Second), Window: window, Attempts: 5,
	})
	if err != nil {
		w.Fatal(err)
	}
	pass(40*time.Second + outbox.SkewMargin + time.Millisecond)
}

func (w *world) expect(what string, got, want int) {
	w.Helper()
	if got != want {
		w.Errorf("%s: %d, want %d", what, got, want)
	}
}

// pass lets virtual time pass.
func pass(d time.Duration) {
	if d > 0 { // many timers that are due at once crash the race detector
		<-time.After(d)
	}
}

const day = outbox.Window(24 * time.Hour)

func TestIsolation(t *testing.T) {
	inWorld(t, "a sender that panics leaves the other rows alone", func(w *world) {
		w.destination("mail", outbox.Policy{}, func(_ context.Context, row outbox.Row) outbox.Outcome {
			if row.Key == "3" {
				panic("secret payload")
			}
			return outbox.Completed("")
		})
		ids := w.put("mail", 8)
		report := w.run()
		w.expect("completed", len(report.Completed), 7)
		if !slices.Equal(report.Unknown, ids[3:4]) || w.row(ids[3]).Code != outbox.CodeSenderPanicked {
			w.Errorf("unknown = %v, code %q", report.Unknown, w.row(ids[3]).Code)
		}
		for _, a := range w.attempts {
			if (a.Panic != nil) != (a.ID == ids[3]) || a.Panic != nil && (a.Panic.Type != "string" || strings.Contains(fmt.Sprint(*a.Panic), "secret")) {
				w.Errorf("%v: panic %+v", a.ID, a.Panic)
			}
		}
	})
	inWorld(t, "a destination that stalls delays no other", func(w *world) {
		var last atomic.Int64
		w.destination("stalls", outbox.Policy{}, func(ctx context.Context, _ outbox.Row) outbox.Outcome {
			<-ctx.Done()
			return outbox.Unknown("", "test.timeout")
		})
		w.destination("works", outbox.Policy{}, func(context.Context, outbox.Row) outbox.Outcome {
			last.Store(time.Now().UnixNano())
			return outbox.Completed("")
		})
		begun := time.Now()
		w.put("stalls", 20)
		w.put("works", 50)
		report := w.run()
		w.expect("completed", len(report.Completed), 50)
		if late := time.Duration(last.Load() - begun.UnixNano()); late > time.Second {
			w.Errorf("the last row of the other destination left %v later", late)
		}
	})
	inWorld(t, "many destinations that stall, whatever their concurrency, delay no other", func(w *world) {
		for _, name := range []string{"s1", "s2", "s3", "s4", "s5"} {
			w.destination(name, outbox.Policy{Concurrency: 100}, func(ctx context.Context, _ outbox.Row) outbox.Outcome {
				<-ctx.Done()
				return outbox.Unknown("", "test.timeout")
			})
			w.put(name, 40)
		}
		var last atomic.Int64
		w.destination("works", outbox.Policy{}, func(context.Context, outbox.Row) outbox.Outcome {
			last.Store(time.Now().UnixNano())
			pass(10 * time.Millisecond)
			return outbox.Completed("")
		})
		begun := time.Now()
		w.put("works", 50)
		w.expect("completed", len(w.run().Completed), 50)
		if late := time.Duration(last.Load() - begun.UnixNano()); late > time.Second {
			w.Errorf("the last row of the other destination left %v later", late)
		}
	})
	inWorld(t, "a sender that ignores its deadline holds up only its own row", func(w *world) {
		release := make(chan struct{})
		w.destination("mail", outbox.Policy{}, func(_ context.Context, row outbox.Row) outbox.Outcome {
			if row.Key == "0" {
				<-release
			}
			return outbox.Completed("late")
		})
		ids := w.put("mail", 30)
		report := w.run()
		close(release)
		w.expect("completed", len(report.Completed), 29)
		if !slices.Equal(report.Unknown, ids[:1]) || w.row(ids[0]).Code != outbox.CodeNoAnswer {
			w.Errorf("unknown = %v, code %q", report.Unknown, w.row(ids[0]).Code)
		}
	})
	inWorld(t, "a row that cannot be read stops no other and is never sent", func(w *world) {
		w.destination("mail", outbox.Policy{}, accepts)
		ids := w.put("mail", 25, func(row *outbox.Row) {
			if row.Key == "7" {
				row.Unreadable = errors.New("payload: missing")
			}
		})
		report := w.run()
		w.expect("completed", len(report.Completed), 24)
		if row := w.row(ids[7]); row.Status != outbox.StatusFailed || row.Code != outbox.CodeRowInvalid || row.Cause != "payload: missing" || w.arrived[ids[7]] != 0 {
			w.Errorf("row is %s, %q, sent %d times", row.Status, row.Code, w.arrived[ids[7]])
		}
	})
}

func TestConcurrencyIsNeverExceeded(t *testing.T) {
	for _, c := range []struct{ perDestination, total, destinations, want int }{
		{4, 16, 1, 4}, {4, 16, 8, 16}, {1, 16, 3, 3}, {50, 7, 2, 7}, {4, 3, 20, 3}, {20, 16, 1, 16},
	} {
		inWorld(t, fmt.Sprintf("%+v", c), func(w *world) {
			var now, most atomic.Int32
			w.dispatcher.Concurrency = c.total
			for i := range c.destinations {
				name := fmt.Sprintf("d%d", i)
				w.destination(name, outbox.Policy{Concurrency: c.perDestination}, func(context.Context, outbox.Row) outbox.Outcome {
					for n := now.Add(1); ; {
						if m := most.Load(); n <= m || most.CompareAndSwap(m, n) {
							break
						}
					}
					pass(time.Second)
					now.Add(-1)
					return outbox.Completed("")
				})
				w.put(name, 20)
			}
			w.run()
			w.expect("most sends in flight", int(most.Load()), c.want)
		})
	}
}

func TestTimeLeft(t *testing.T) {
	inWorld(t, "a row is claimed only with time left to send and settle it", func(w *world) {
		w.destination("mail", outbox.Policy{}, accepts)
		ids := w.put("mail", 3)
		report := w.runFor(39 * time.Second)
		if !report.Empty() || w.row(ids[0]).AttemptCount != 0 {
			w.Errorf("claimed %d rows with 39 s left for a send of 30 s and a settlement", report.Claimed())
		}
		w.expect("completed with 41 s", len(w.runFor(41*time.Second).Completed), 3)
	})
	inWorld(t, "nothing is claimed after 55 seconds", func(w *world) {
		begun, last := time.Now(), time.Time{}
		w.destination("mail", outbox.Policy{Concurrency: 1}, func(context.Context, outbox.Row) outbox.Outcome {
			last = time.Now()
			pass(10 * time.Second)
			return outbox.Completed("")
		})
		w.put("mail", 20)
		report := w.run()
		w.expect("claimed", report.Claimed(), 6) // at 0, 10, ... 50 s
		if last.After(begun.Add(outbox.SweepFor)) {
			w.Errorf("the last claim came after %v", last.Sub(begun))
		}
	})
	inWorld(t, "a claim that was answered late is not sent", func(w *world) {
		w.destination("mail", outbox.Policy{}, accepts)
		ids := w.put("mail", 1)
		w.dispatcher.Store = &slow{Store: &w.Store, delay: outbox.SkewMargin + time.Millisecond}
		w.runFor(45 * time.Second)
		row := w.row(ids[0])
		if w.arrived[ids[0]] != 0 || row.Status != outbox.StatusPending || row.Code != outbox.CodeClaimLate || row.MayHaveArrived() {
			w.Errorf("sent %d times, row is %s, %q", w.arrived[ids[0]], row.Status, row.Code)
		}
	})
	inWorld(t, "a claim whose answer was lost is read back", func(w *world) {
		w.destination("mail", outbox.Policy{Deduplicates: outbox.Never}, accepts)
		ids := w.put("mail", 1)
		w.dispatcher.Store = &slow{Store: &w.Store, deaf: true}
		w.expect("completed", len(w.run().Completed), 1)
		w.expect("requests", w.arrived[ids[0]], 1)
	})
}

// slow is a store whose claims are answered late, or never.
type slow struct {
	outbox.Store
	delay time.Duration
	deaf  bool
}

func (s *slow) Claim(ctx context.Context, c outbox.Claim) (outbox.Row, error) {
	row, err := s.Store.Claim(ctx, c)
	pass(s.delay)
	if s.deaf && err == nil {
		return outbox.Row{}, errors.New("connection reset")
	}
	return row, err
}

// dropping counts the claims that carry a payload from an earlier reading.
type dropping struct {
	outbox.Store
	payloads atomic.Int32
}

func (d *dropping) Claim(ctx context.Context, c outbox.Claim) (outbox.Row, error) {
	if c.From != nil && len(c.From.Payload) > 0 {
		d.payloads.Add(1)
	}
	return d.Store.Claim(ctx, c)
}

func TestPuttingOff(t *testing.T) {
	inWorld(t, "rows that are put off free their payloads", func(w *world) {
		w.destination("mail", outbox.Policy{Concurrency: 16}, func(context.Context, outbox.Row) outbox.Outcome {
			return outbox.Retryable("test.busy", 50*time.Second)
		})
		payload := make([]byte, 1<<20)
		w.put("mail", 3000, func(row *outbox.Row) { row.Payload = payload[:len(payload):len(payload)] })
		dropped := &dropping{Store: &w.Store}
		w.dispatcher.Store = dropped
		w.expect("retried", len(w.run().Retried), 6000)
		if dropped.payloads.Load() != 0 {
			w.Errorf("%d claims brought a payload along that was read before", dropped.payloads.Load())
		}
	})
	inWorld(t, "a row that falls due within the run is sent in it", func(w *world) {
		w.destination("mail", outbox.Policy{}, func(_ context.Context, row outbox.Row) outbox.Outcome {
			if row.AttemptCount < 3 {
				return outbox.Retryable("test.busy", 0)
			}
			return outbox.Completed("")
		})
		ids := w.put("mail", 5)
		begun := time.Now()
		report := w.run()
		if w.row(ids[0]).AttemptCount != 3 || len(report.Retried) != 10 || len(report.Completed) != 5 {
			w.Errorf("report = %+v", report)
		}
		if took := time.Since(begun); took > 6*time.Second {
			w.Errorf("the run took %v for waits of 1 and 4 s", took)
		}
	})
	inWorld(t, "a run ends without waiting for rows that are due after it", func(w *world) {
		w.destination("mail", outbox.Policy{}, func(context.Context, outbox.Row) outbox.Outcome {
			return outbox.Retryable("test.busy", 57*time.Second)
		})
		w.put("mail", 1)
		begun := time.Now()
		w.expect("retried", len(w.run().Retried), 1)
		if time.Since(begun) != 0 {
			w.Errorf("the run took %v", time.Since(begun))
		}
	})
	inWorld(t, "attempts stay within the budget, and a refused row that never arrived is failed", func(w *world) {
		w.destination("mail", outbox.Policy{}, func(context.Context, outbox.Row) outbox.Outcome { return outbox.Retryable("test.busy", 0) })
		ids := w.put("mail", 1)
		for range 10 {
			w.run()
			pass(2 * time.Minute)
		}
		w.expect("requests", w.arrived[ids[0]], outbox.DefaultAttempts)
		if row := w.row(ids[0]); row.Status != outbox.StatusFailed || row.Code != outbox.CodeAttemptsExhausted {
			w.Errorf("row is %s, %q", row.Status, row.Code)
		}
	})
	inWorld(t, "a row that waited for a free slot until past its time is not claimed", func(w *world) {
		w.destination("mail", outbox.Policy{Concurrency: 1}, func(_ context.Context, row outbox.Row) outbox.Outcome {
			if row.Key == "0" {
				return outbox.Retryable("test.busy", 0)
			}
			pass(10 * time.Second) // row 1 has the only slot when row 0 falls due again
			return outbox.Completed("")
		})
		ids := w.put("mail", 2, func(row *outbox.Row) {
			if row.Key == "0" {
				row.DeliverBy = w.now().Add(5 * time.Second)
			}
		})
		w.run()
		if row := w.row(ids[0]); row.Status != outbox.StatusFailed || row.Code != outbox.CodeExpired || w.arrived[ids[0]] != 1 {
			w.Errorf("row is %s, %q, sent %d times", row.Status, row.Code, w.arrived[ids[0]])
		}
	})
	inWorld(t, "an unknown outcome is never repeated past the window", func(w *world) {
		w.destination("charge", outbox.Policy{Deduplicates: outbox.Window(12 * time.Minute), Attempts: 100, Backoff: outbox.Backoff{Max: 20 * time.Second}},
			func(context.Context, outbox.Row) outbox.Outcome { return outbox.Unknown("", "test.cut") })
		ids := w.put("charge", 1)
		begun := w.now()
		for range 10 {
			w.run()
			pass(time.Minute)
		}
		row := w.row(ids[0])
		if row.Status != outbox.StatusOutcomeUnknown || row.Until.Add(10*time.Minute+outbox.SkewMargin).After(begun.Add(12*time.Minute)) {
			w.Errorf("row is %s, its last claim ended %v after the first", row.Status, row.Until.Sub(begun))
		}
		if w.arrived[ids[0]] < 3 {
			w.Errorf("sent %d times only within a window of 12 minutes", w.arrived[ids[0]])
		}
	})
}

func TestWalking(t *testing.T) {
	inWorld(t, "every lane is walked though one has more rows than a run can take", func(w *world) {
		w.destination("mail", outbox.Policy{Shards: 2, Concurrency: 1}, func(context.Context, outbox.Row) outbox.Outcome {
			pass(time.Second)
			return outbox.Completed("")
		})
		w.put("mail", 1000)
		ids := w.put("mail", 1, func(row *outbox.Row) { row.Key, row.Lane.Shard = "behind", 1 })
		for range 2 {
			begun := time.Now()
			w.run()
			pass(time.Until(begun.Add(time.Minute)))
		}
		if row := w.row(ids[0]); row.Status != outbox.StatusCompleted {
			w.Errorf("the row of the other lane is %s after two runs", row.Status)
		}
	})
	inWorld(t, "retired destinations keep no slots from others", func(w *world) {
		var now, most atomic.Int32
		w.destination("live", outbox.Policy{Concurrency: 16}, func(context.Context, outbox.Row) outbox.Outcome {
			most.Store(max(most.Load(), now.Add(1)))
			pass(time.Second)
			now.Add(-1)
			return outbox.Completed("")
		})
		for _, name := range []string{"r1", "r2", "r3"} {
			w.destination(name, outbox.Policy{Retired: true}, accepts)
			w.put(name, 50)
		}
		w.put("live", 100)
		w.run()
		w.expect("most sends in flight", int(most.Load()), 16)
	})
	inWorld(t, "parts never overlap and leave no lane out", func(w *world) {
		const shards = 7
		for _, name := range []string{"a", "b", "c"} {
			w.destination(name, outbox.Policy{Shards: shards}, accepts)
			w.put(name, 100, func(row *outbox.Row) { row.Lane.Shard = row.Shard(shards) })
		}
		const parts = 4
		completed := 0
		for part := range parts {
			w.dispatcher.Part, w.dispatcher.Of = part, parts
			before := len(w.walks)
			completed += len(w.run().Completed)
			if n := len(w.walks) - before; n < 4 || n > 7 {
				w.Errorf("part %d walked %d of 21 lanes", part, n)
			}
		}
		w.expect("completed by all parts", completed, 300)
		w.expect("lanes walked by all parts", len(w.walks), 3*shards)
	})
	inWorld(t, "a part that does not exist is refused", func(w *world) {
		w.dispatcher.Part, w.dispatcher.Of = 4, 4
		if _, err := w.dispatcher.RunOnce(w.Context()); err == nil {
			w.Error("no error")
		}
	})
	inWorld(t, "a retired destination is never claimed, and what is certain is settled", func(w *world) {
		w.destination("old", outbox.Policy{Retired: true, Deduplicates: day}, accepts)
		ids := w.put("old", 4, func(row *outbox.Row) {
			if row.Key == "1" {
				row.DeliverBy = w.now()
			}
		})
		w.abandon(ids[0], day)
		report := w.run()
		if !slices.Equal(report.Unknown, ids[:1]) || !slices.Equal(report.Failed, ids[1:2]) || len(w.arrived) != 0 {
			w.Errorf("report = %+v, arrived = %v", report, w.arrived)
		}
		w.expect("claims of pending rows", w.row(ids[2]).AttemptCount, 0)
		w.expect("held", w.walks[0].Held, 2)
	})
	inWorld(t, "a row of another destination's lane is not claimed for it", func(w *world) {
		w.destination("mail", outbox.Policy{}, accepts)
		ids := w.put("charge", 1, func(row *outbox.Row) {
			row.Lane.Destination = "mail"
			row.Unreadable = errors.New("lane: of another destination")
		})
		w.run()
		if row := w.row(ids[0]); row.Status != outbox.StatusFailed || row.Code != outbox.CodeRowInvalid || len(w.arrived) != 0 {
			w.Errorf("row is %s, %q, sent %d times", row.Status, row.Code, w.arrived[ids[0]])
		}
	})
}

// broken is a store of which some calls fail.
type broken struct {
	outbox.Store
	list, claim, settle, get atomic.Int32 // how many calls still fail; negative: all of them
}

var errDown = errors.New("the store does not answer")

func down(left *atomic.Int32) error {
	if n := left.Load(); n < 0 || n > 0 && left.CompareAndSwap(n, n-1) {
		return errDown
	}
	return nil
}

func (b *broken) List(ctx context.Context, lane outbox.Lane, before time.Time, after string) ([]outbox.Entry, string, error) {
	if err := down(&b.list); err != nil {
		return nil, "", err
	}
	return b.Store.List(ctx, lane, before, after)
}

func (b *broken) Claim(ctx context.Context, c outbox.Claim) (outbox.Row, error) {
	if err := down(&b.claim); err != nil {
		return outbox.Row{}, err
	}
	return b.Store.Claim(ctx, c)
}

func (b *broken) Settle(ctx context.Context, s outbox.Settlement) error {
	if err := down(&b.settle); err != nil {
		return err
	}
	return b.Store.Settle(ctx, s)
}

func (b *broken) Get(ctx context.Context, id outbox.ID) (outbox.Row, error) {
	if err := down(&b.get); err != nil {
		return outbox.Row{}, err
	}
	return b.Store.Get(ctx, id)
}

func TestStoreTrouble(t *testing.T) {
	inWorld(t, "a run that could not list or claim returns the error", func(w *world) {
		w.destination("mail", outbox.Policy{}, accepts)
		w.put("mail", 5)
		store := &broken{Store: &w.Store}
		w.dispatcher.Store = store
		store.list.Store(-1)
		if _, err := w.dispatcher.RunOnce(w.Context()); !errors.Is(err, errDown) {
			w.Errorf("listing failed, the run says %v", err)
		}
		w.expect("lanes said to have been walked", len(w.walks), 0)
		store.list.Store(0)
		store.claim.Store(1)
		report, err := w.dispatcher.RunOnce(w.Context())
		if !errors.Is(err, errDown) || len(report.Completed) != 4 {
			w.Errorf("a claim failed, the run says %v and completed %d of the 4 others", err, len(report.Completed))
		}
		w.expect("completed by the next run", len(w.run().Completed), 1)
	})
	inWorld(t, "a settlement is repeated while the claim lives", func(w *world) {
		w.destination("mail", outbox.Policy{}, accepts)
		w.put("mail", 1)
		store := &broken{Store: &w.Store}
		store.settle.Store(8)
		w.dispatcher.Store = store
		w.expect("completed", len(w.run().Completed), 1)
	})
	inWorld(t, "a row whose settlement was lost is taken over", func(w *world) {
		w.destination("charge", outbox.Policy{Deduplicates: day}, accepts)
		ids := w.put("charge", 1)
		store := &broken{Store: &w.Store}
		store.settle.Store(-1)
		w.dispatcher.Store = store
		report := w.run()
		if !slices.Equal(report.Unsettled, ids) || w.row(ids[0]).Status != outbox.StatusDispatching {
			w.Errorf("report = %+v", report)
		}
		store.settle.Store(0)
		pass(time.Minute)
		if report := w.run(); !slices.Equal(report.Completed, ids) || !slices.Equal(report.TakenOver, ids) {
			w.Errorf("the next run: %+v", report)
		}
	})
}
