package setup

import (
	"fmt"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/sender"
)

// destinations makes a sender for each destination of the configuration.
func destinations(cfg *config.Config) (all []outbox.Destination, err error) {
	for _, name := range cfg.Names() {
		d := cfg.Destinations[name]
		s, err := sender.NewHTTP(httpOptions(d))
		if err != nil {
			return nil, fmt.Errorf("destination %s: %w", name, err)
		}
		all = append(all, outbox.Destination{Name: name, Policy: d.Policy(), Sender: s})
	}
	return all, nil
}

func httpOptions(d config.Destination) sender.HTTPOptions {
	o := sender.HTTPOptions{
		AllowPrivate: d.AllowPrivate, Deduplicates: outbox.Window(d.Deduplicates) != outbox.Never,
		Headers: d.Headers, KeyHeader: d.KeyHeader, Method: d.Method, RowHeaders: d.RowHeaders, URL: d.URL,
		Statuses: map[int]outbox.OutcomeKind{},
	}
	if d.RemoteRef != nil {
		o.RefHeader, o.RefPointer = d.RemoteRef.Header, d.RemoteRef.Pointer
	}
	for status, outcome := range d.Statuses {
		o.Statuses[status] = outbox.OutcomeKind(outcome)
	}
	return o
}
