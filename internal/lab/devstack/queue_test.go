package devstack

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
)

func TestBatchesRunUpToTheMaximumConcurrency(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, nil, nil)
		p.send("a", "b", "c", "d", "e")
		p.start(QueueMapping{BatchSize: 1, MaximumConcurrency: 2}, func(ctx context.Context, e events.SQSEvent) answer {
			time.Sleep(10 * time.Second) // virtual
			return handled(ctx, e)
		})
		time.Sleep(5 * time.Second) // virtual
		if left := p.left(); left != "3 2" {
			t.Errorf("%s messages are waiting and in flight: what has no room must not be received", left)
		}
		time.Sleep(time.Minute) // virtual
		p.invoked("0s a", "0s b", "10s c", "10s d", "20s e")
	})
}

// Batches are made of what there is, up to their size; a window lets them wait for more.
func TestBatchesWaitNoLongerThanTheirWindow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mapping QueueMapping
		calls   []string // of messages at 0s: a, at 3.3s: b c, at 14.3s: d
	}{
		"no window":         {QueueMapping{}, []string{"0s a", "14s d", "3s b c"}},
		"of one":            {QueueMapping{BatchSize: 1}, []string{"0s a", "14s d", "3s b", "3s c"}},
		"window":            {QueueMapping{BatchingWindow: 5 * time.Second}, []string{"19s d", "5s a b c"}},
		"window, full":      {QueueMapping{BatchingWindow: 5 * time.Second, BatchSize: 2}, []string{"19s d", "3s a b", "8s c"}},
		"window, long poll": {QueueMapping{BatchingWindow: 50 * time.Second, BatchSize: 10_000}, []string{"50s a b c d"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPlant(t, nil, nil)
				p.start(c.mapping, handled)
				p.send("a")
				time.Sleep(3300 * time.Millisecond) // virtual: not a whole second
				p.sendBatch("b", "c")
				time.Sleep(11 * time.Second) // virtual
				p.send("d")
				time.Sleep(3 * time.Minute) // virtual
				p.invoked(c.calls...)
			})
		})
	}
}

func TestBatchIsDeliveredThoughPollsFail(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		polls := 0
		p := newPlant(t, func(r faults.Request) faults.Fault {
			if r.Operation == "ReceiveMessage" {
				polls++
				if polls > 1 {
					return faults.Fault{Error: faults.Unavailable}
				}
			}
			return faults.Fault{}
		}, nil)
		p.send("a")
		p.start(QueueMapping{BatchingWindow: 5 * time.Minute}, handled)
		time.Sleep(time.Minute) // virtual
		if left := p.left(); left != "0 0" || p.count() != 1 {
			t.Errorf("invoked %d times, %s left", p.count(), left)
		}
	})
}

// The SDK repeats a request twice by itself.
func TestFailingPollsBackOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		polls, began := 0, time.Now()
		p := newPlant(t, func(r faults.Request) faults.Fault {
			since := r.Time.Sub(began)
			if r.Operation == "ReceiveMessage" && (since < 10*time.Minute || since > 13*time.Minute) {
				polls++
				return faults.Fault{Error: faults.Internal}
			}
			return faults.Fault{}
		}, nil)
		p.start(QueueMapping{}, handled)
		p.send("a")
		time.Sleep(10 * time.Minute) // virtual
		synctest.Wait()
		if polls < 3*10 || polls > 3*15 {
			t.Errorf("%d requests in ten minutes", polls)
		}
		time.Sleep(maxPollWait) // virtual
		if left := p.left(); p.count() != 1 || left != "0 0" {
			t.Errorf("invoked %d times, %s left", p.count(), left)
		}
		time.Sleep(5 * time.Minute) // virtual: it fails again
		if n := strings.Count(p.text(), "poll failed, next try in 1s: "); n != 2 {
			t.Errorf("%d times it began with a second: %q", n, p.log.lines())
		}
	})
}

func TestLargeBatchIsDeletedWhole(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, nil, nil)
		for range 3 {
			p.sendBatch("a", "b", "c", "d", "e", "f", "g", "h")
		}
		p.start(QueueMapping{BatchSize: 24, BatchingWindow: time.Second}, handled)
		time.Sleep(5 * time.Minute) // virtual
		if left := p.left(); p.count() != 1 || left != "0 0" {
			t.Errorf("invoked %d times, %s left", p.count(), left)
		}
	})
}
