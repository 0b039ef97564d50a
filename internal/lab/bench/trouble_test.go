package bench

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/landfall-dev/landfall"
	"github.com/landfall-dev/landfall/internal/lab/localaws"
	"github.com/landfall-dev/landfall/internal/lab/payloads"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// trouble counts rows that do not land at once: the fast path makes the first attempt, the sweep those that follow.
func trouble(t *testing.T, rows []payloads.Payload) []Effect {
	var attempts sync.Map
	nth := func(row outbox.Row) int {
		n, _ := attempts.LoadOrStore(row.Key, 0)
		attempts.Store(row.Key, n.(int)+1)
		return n.(int) + 1
	}
	return []Effect{
		troubled(t, "lands at the third attempt", rows, func(_ context.Context, row outbox.Row) outbox.Outcome {
			if nth(row) < 3 {
				return outbox.Retryable("busy", 0)
			}
			return outbox.Completed("")
		}),
		troubled(t, "becomes unknown, and is reconciled", rows, func(context.Context, outbox.Row) outbox.Outcome {
			return outbox.Unknown("", "landfall.http.no_answer")
		}),
	}
}

func troubled(t *testing.T, name string, rows []payloads.Payload, send sender) Effect {
	t.Helper()
	e := Effect{Name: name, Way: Plain, Gzip: true, Batch: fullBatch}
	inBubble(t, localaws.Options{}, policy(1), func(w *workbench) {
		w.send, w.look = send, answers{}
		for _, row := range rows {
			e.Item = float64(w.put(row, false, true))
		}
		ctx, stop := context.WithCancel(w.t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			w.follow(ctx, fullBatch, 1, func() {})
		}()
		time.Sleep(10 * time.Second)
		stop()
		<-ended
		w.sweep(w.t.Context(), 0, 0)
		time.Sleep(time.Hour)
		w.reconcile()
		w.per(len(rows), &e)
		if n := w.open(); n > 0 {
			t.Errorf("%s: %d of %d rows are not at their end", name, n, len(rows))
		}
	})
	return e
}

// answers is a remote that knows everything.
type answers struct{}

func (answers) Look(context.Context, outbox.Row) outbox.Answer {
	return outbox.Answer{Kind: outbox.AnswerCompleted}
}

// found counts rows that the sweep finds and lands, alone and among rows that are not due.
func found(t *testing.T) (list []Effect) {
	const due = 1000
	for _, later := range []int{0, 3000} {
		e := Effect{Name: fmt.Sprintf("%d rows due, among %d that are not", due, later), Way: InTransaction, Gzip: true}
		inBubble(t, localaws.Options{}, outbox.Policy{Shards: 4}, func(w *workbench) {
			w.fill(due, time.Time{})
			w.fill(later, time.Now().Add(24*time.Hour))
			before := w.sum("dynamodb", ofRows)
			if report := w.sweep(w.t.Context(), 0, 0); len(report.Completed) != due {
				t.Errorf("%s: %d completed", e.Name, len(report.Completed))
			}
			w.per(due, &e)
			e.TableWrites -= before.Write / due
			e.IndexWrites -= before.IndexWrite / due
			e.Requests -= float64(before.Requests) / due
		})
		list = append(list, e)
	}
	return list
}

// fill puts rows as fast as that goes.
func (w *workbench) fill(rows int, notBefore time.Time) {
	w.t.Helper()
	const most = 100 // items of a transaction
	var items []types.TransactWriteItem
	for i := range rows {
		item, err := w.box.Item(landfall.Row{
			Destination: destination, Key: fmt.Sprintf("order-%d", w.filled), Payload: []byte("{}"), NotBefore: notBefore,
		})
		if err != nil {
			w.t.Fatal(err)
		}
		items = append(items, item)
		w.filled++
		if len(items) == most || i == rows-1 {
			if _, err := w.client.TransactWriteItems(w.t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: items}); err != nil {
				w.t.Fatal(err)
			}
			items = nil
		}
	}
}

// idle counts a minute in which nothing happens, and makes a month of it; and the metrics of a destination whose
// rows meet all kinds of ends.
func idle(t *testing.T) (month Idle) {
	const minutes = 30 * 24 * 60
	inBubble(t, localaws.Options{}, policy(1), func(w *workbench) {
		w.look = answers{}
		w.sweep(w.t.Context(), 0, 0)
		w.reconcile()
		var e Effect
		w.per(1, &e)
		month = Idle{
			Reads: (e.Reads + e.ControlReads) * minutes, Requests: e.Requests * minutes, Invocations: e.Invocations * minutes, MetricBytes: e.MetricBytes * minutes,
		}
		w.metrics.Range(func(any, any) bool { month.Metrics++; return true })
	})
	inBubble(t, localaws.Options{}, policy(1), func(w *workbench) {
		w.look = answers{}
		n := 0
		w.send = func(context.Context, outbox.Row) outbox.Outcome {
			n++
			return []outbox.Outcome{outbox.Completed(""), outbox.Retryable("busy", 0), outbox.Permanent("no"), outbox.Unknown("", "late")}[n%4]
		}
		w.fill(8, time.Time{})
		time.Sleep(time.Minute)
		w.policy.Concurrency = 1
		w.sweep(w.t.Context(), 0, 0)
		time.Sleep(time.Hour)
		w.reconcile()
		w.metrics.Range(func(any, any) bool { month.BusyMetrics++; return true })
	})
	return month
}
