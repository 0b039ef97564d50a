package setup

import (
	"fmt"
	"os"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/lookup"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/schema"
	"github.com/landfall-dev/landfall/internal/sender"
)

// destinations makes a sender for each destination of the configuration, and a lookup where it says how to ask.
func destinations(cfg *config.Config, r remotes) (all []outbox.Destination, err error) {
	for _, name := range cfg.Names() {
		d := cfg.Destinations[name]
		s, err := senderOf(d, r)
		if err != nil {
			return nil, fmt.Errorf("destination %s: %w", name, err)
		}
		l, err := lookupOf(d, r)
		if err != nil {
			return nil, fmt.Errorf("destination %s: lookup: %w", name, err)
		}
		all = append(all, outbox.Destination{Name: name, Policy: d.Policy(), Sender: s, Lookup: l})
	}
	return all, nil
}

func senderOf(d config.Destination, r remotes) (outbox.Sender, error) {
	switch {
	case d.SQS != nil:
		to := r.sqs()
		return sender.NewSQS(sender.SQSOptions{Base64: d.Base64, Client: to.client, Queue: d.Queue, URL: to.url})
	case d.Group != "":
		to := r.sqs()
		return sender.NewGroup(sender.GroupOptions{
			Client: to.client, Group: d.Group, QueuePrefix: os.Getenv(schema.QueuePrefixEnv), URL: to.url,
		})
	}
	return sender.NewHTTP(httpOptions(d, r))
}

// lookupOf is nil where nobody can be asked. An answer to a lookup names the effect where an answer to a send does.
func lookupOf(d config.Destination, r remotes) (outbox.Lookup, error) {
	switch {
	case d.Lookup == nil:
		return nil, nil
	case d.Lookup.Lambda != "":
		return &lookup.Lambda{Function: d.Lookup.Lambda, Invoker: r.invoker()}, nil
	}
	o := lookup.HTTPOptions{
		AllowPrivate: d.AllowPrivate, Headers: d.Lookup.Headers, Method: d.Lookup.Method, Secret: r.header(d.Lookup.Secret), URL: d.Lookup.URL,
	}
	if d.HTTP != nil && d.RemoteRef != nil {
		o.RefHeader, o.RefPointer = d.RemoteRef.Header, d.RemoteRef.Pointer
	}
	for _, r := range d.Lookup.Rules {
		o.Rules = append(o.Rules, lookup.Rule{Status: r.Status, Pointer: r.Pointer, Equals: r.Equals, Then: outbox.AnswerKind(r.Then)})
	}
	return lookup.NewHTTP(o)
}

func httpOptions(d config.Destination, r remotes) sender.HTTPOptions {
	o := sender.HTTPOptions{
		AllowPrivate: d.AllowPrivate, Deduplicates: outbox.Window(d.Deduplicates) != outbox.Never,
		Headers: d.Headers, KeyHeader: d.KeyHeader, Method: d.Method, RowHeaders: d.RowHeaders, Secret: r.header(d.Secret), URL: d.URL,
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
