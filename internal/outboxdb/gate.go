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

// Gate lets through what may be sent to now, for all invocations of a process. Its fields are set before its first use;
// it is safe for concurrent use.
type Gate struct {
	// Reader reads the controls; [*Controls] is one.
	Reader interface {
		Read(ctx context.Context) ([]Control, error)
	}
	// Logger is told at each reading what holds back sends.
	Logger *slog.Logger

	mu  sync.Mutex
	at  time.Time // of the last reading that succeeded
	all []Control
}

// Apply leaves out paused destinations and lowers concurrencies. Controls that cannot be read are an error; one of them
// that cannot counts as paused. A limit above a destination's own concurrency changes nothing.
func (g *Gate) Apply(ctx context.Context, destinations []outbox.Destination) ([]outbox.Destination, error) {
	all, err := g.current(ctx, destinations)
	if err != nil {
		return nil, err
	}
	allowed := make([]outbox.Destination, 0, len(destinations))
	for _, d := range destinations {
		i := slices.IndexFunc(all, func(c Control) bool { return c.Destination == d.Name })
		switch {
		case i < 0:
		case all[i].Paused:
			continue
		case all[i].MaxConcurrency > 0:
			d.Policy.Concurrency = min(d.Policy.WithDefaults().Concurrency, all[i].MaxConcurrency)
		}
		allowed = append(allowed, d)
	}
	return allowed, nil
}

func (g *Gate) current(ctx context.Context, destinations []outbox.Destination) ([]Control, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	asked := time.Now().Round(0) // by the wall clock: the other one may stand still while the process is frozen
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

// report logs a control by the name of a destination that is configured; what stands in others may be anything.
func (g *Gate) report(ctx context.Context, control Control, known bool) {
	log := g.Logger.With("destination", control.Destination)
	switch {
	case !known:
		g.Logger.WarnContext(ctx, "a control is for no destination of the configuration, and changes nothing")
	case control.Unreadable != nil:
		log.ErrorContext(ctx, "the destination counts as paused", "error", control.Unreadable.Error())
	case control.Paused:
		log.InfoContext(ctx, "the destination is paused")
	case control.MaxConcurrency > 0:
		log.InfoContext(ctx, "the destination is limited", "max_concurrency", control.MaxConcurrency)
	}
}
