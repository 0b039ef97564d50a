package outboxdb

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/landfall-dev/landfall/internal/outbox"
)

// ControlsFor is for how long the controls that were read are good: a change is honoured by every run that begins so
// much later. Without it, the fast path would pay a read for every few rows.
const ControlsFor = 5 * time.Second

// Gate keeps the controls that were read, for all invocations of a process, and says which destinations may be sent
// to. Its fields are set before its first use; it is safe for concurrent use.
type Gate struct {
	// Reader reads the controls; [*Controls] is one.
	Reader interface {
		Read(ctx context.Context) ([]outbox.Control, error)
	}
	// Logger gets a line for each control that holds back sends, at each reading.
	Logger *slog.Logger

	mu  sync.Mutex
	at  time.Time // of the last reading that succeeded
	all []outbox.Control
}

// Apply leaves out and slows down destinations as [outbox.Controlled] says. It is an error if the controls cannot be
// read: then it is not known what may be sent.
func (g *Gate) Apply(ctx context.Context, destinations []outbox.Destination) ([]outbox.Destination, error) {
	controls, err := g.current(ctx, destinations)
	if err != nil {
		return nil, err
	}
	return outbox.Controlled(destinations, controls), nil
}

func (g *Gate) current(ctx context.Context, destinations []outbox.Destination) ([]outbox.Control, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	asked := time.Now().Round(0) // by the wall clock: the monotonic one may stand still while the process is frozen
	if age := asked.Sub(g.at); !g.at.IsZero() && 0 <= age && age < ControlsFor {
		return g.all, nil
	}
	all, err := g.Reader.Read(ctx)
	if err != nil {
		return nil, err
	}
	g.at, g.all = asked, all
	for _, control := range all {
		g.report(ctx, control, slices.ContainsFunc(destinations, func(d outbox.Destination) bool { return d.Name == control.Destination }))
	}
	return all, nil
}

// report logs a control by the name of a destination that is configured; any other name may be anything, a key for one.
func (g *Gate) report(ctx context.Context, control outbox.Control, known bool) {
	log := g.Logger.With("destination", control.Destination)
	switch {
	case !known:
		g.Logger.WarnContext(ctx, "a control has no effect: its destination is not in the configuration")
	case control.Unreadable != nil:
		log.ErrorContext(ctx, "the destination counts as paused", "error", control.Unreadable.Error())
	case control.Paused:
		log.InfoContext(ctx, "the destination is paused")
	case control.MaxConcurrency > 0:
		log.InfoContext(ctx, "the destination is limited", "max_concurrency", control.MaxConcurrency)
	}
}
