package bench

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/outboxdb"
	"github.com/landfall-dev/landfall/internal/schema"
)

// process is a process of a function.
type process struct {
	store  *outboxdb.Store
	gate   outboxdb.Gate
	stalls outbox.Stalls
}

const controlsFor = outboxdb.ControlsFor

// run runs one invocation in a process, with the destinations that it may send to: the one that was idle last if there
// is one, as Lambda does.
func (w *workbench) run(invocation func(*process, []outbox.Destination)) {
	w.t.Helper()
	w.mu.Lock()
	var p *process
	if n := len(w.idle); n > 0 {
		p, w.idle = w.idle[n-1], w.idle[:n-1]
	}
	w.mu.Unlock()
	if p == nil {
		client := dynamodb.NewFromConfig(w.account.Config(function))
		p = &process{store: outboxdb.New(client, schema.OutboxTable), gate: outboxdb.Gate{Reader: outboxdb.NewControls(client, schema.ControlTable)}}
	}
	destinations, err := p.gate.Apply(w.t.Context(), w.destinations())
	if err != nil {
		w.t.Error(err)
	}
	invocation(p, destinations)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.idle = append(w.idle, p)
}

// sweep is one invocation of dispatch, for a part of the shards. Its end by ctx is not an error.
func (w *workbench) sweep(ctx context.Context, part, of int) (report outbox.Report) {
	w.t.Helper()
	w.run(func(p *process, destinations []outbox.Destination) {
		observer := w.observer()
		d := outbox.Dispatcher{Store: p.store, Destinations: destinations, ClaimedBy: sweepID, Observer: observer, Part: part, Of: of}
		invocation, cancel := context.WithTimeout(ctx, 105*time.Second) // as deployed, for sends of 30 s
		defer cancel()
		var err error
		report, err = d.RunOnce(invocation)
		if err := errors.Join(err, observer.Flush()); err != nil && ctx.Err() == nil {
			w.t.Error(err)
		}
	})
	return report
}

// deliver is one invocation of stream.
func (w *workbench) deliver(ctx context.Context, event []byte) error {
	rows, err := inserted(event)
	if err != nil {
		return err
	}
	w.run(func(p *process, destinations []outbox.Destination) {
		observer := w.observer()
		d := outbox.Dispatcher{Store: p.store, Destinations: destinations, ClaimedBy: requestID, Observer: observer, Stalls: &p.stalls}
		ctx, cancel := context.WithTimeout(ctx, 50*time.Second)
		defer cancel()
		_, err = d.RunFastPath(ctx, rows)
		err = errors.Join(err, observer.Flush())
	})
	return err
}

// reconcile is one invocation of reconcile.
func (w *workbench) reconcile() {
	w.t.Helper()
	observer := w.observer()
	r := outbox.Reconciler{
		Store: outboxdb.New(dynamodb.NewFromConfig(w.account.Config(function)), schema.OutboxTable), Destinations: w.destinations(), Observer: observer,
	}
	_, err := r.RunOnce(w.t.Context())
	if err := errors.Join(err, observer.Flush()); err != nil {
		w.t.Error(err)
	}
}
