package setup

import (
	"fmt"
	"os"

	"github.com/landfall-dev/landfall/internal/config"
	"github.com/landfall-dev/landfall/internal/egress"
	"github.com/landfall-dev/landfall/internal/lookup"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/schema"
	"github.com/landfall-dev/landfall/internal/sender"
)

// destinations makes a sender for each destination of the configuration, and a lookup where it says how to ask.
func destinations(cfg *config.Config, r remotes) (all []outbox.Destination, err error) {
	for _, name := range cfg.Names() {
		d := cfg.Destinations[name]
		s, err := senders[d.Kind()](d, r)
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

// senders make the sender of a destination, by its kind.
var senders = map[string]func(config.Destination, remotes) (outbox.Sender, error){
	"http":  newHTTP,
	"sqs":   newSQS,
	"group": newGroup,
}

func newSQS(d config.Destination, r remotes) (outbox.Sender, error) {
	t, to := d.Target.(*config.SQS), r.sqs()
	return sender.NewSQS(sender.SQSOptions{Base64: t.Base64, Client: to.client, Queue: t.Queue, URL: to.url})
}

func newGroup(d config.Destination, r remotes) (outbox.Sender, error) {
	to := r.sqs()
	return sender.NewGroup(sender.GroupOptions{
		Client: to.client, Group: d.Target.(*config.ToGroup).Group, QueuePrefix: os.Getenv(schema.QueuePrefixEnv), URL: to.url,
	})
}

func newHTTP(d config.Destination, r remotes) (outbox.Sender, error) {
	h := d.Target.(*config.HTTP)
	o := sender.HTTPOptions{
		AllowPrivate: d.AllowPrivate, Deduplicates: outbox.Window(d.Deduplicates) != outbox.Never,
		Headers: h.Headers, KeyHeader: h.KeyHeader, Method: h.Method, RowHeaders: h.RowHeaders, Secret: r.header(h.Secret), URL: h.URL,
		Answers:  rules(h.Answers, outcomes),
		Statuses: map[int]outbox.OutcomeKind{},
	}
	if h.RemoteRef != nil {
		o.RefHeader, o.RefPointer = h.RemoteRef.Header, h.RemoteRef.Pointer
	}
	for status, outcome := range h.Statuses {
		o.Statuses[status] = outcomes[outcome]
	}
	return sender.NewHTTP(o)
}

// lookupOf is nil for a destination without a lookup. An answer to a lookup names the effect where an answer to a send does.
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
	if h, ok := d.Target.(*config.HTTP); ok && h.RemoteRef != nil {
		o.RefHeader, o.RefPointer = h.RemoteRef.Header, h.RemoteRef.Pointer
	}
	o.Rules = rules(d.Lookup.Rules, answers)
	return lookup.NewHTTP(o)
}

// The words of configurations for what answers mean.
var (
	outcomes = words(outbox.KindCompleted, outbox.KindRetryable, outbox.KindPermanent, outbox.KindUnknown)
	answers  = words(outbox.AnswerCompleted, outbox.AnswerFailed, outbox.AnswerNotFound, outbox.AnswerUnresolved)
)

func words[T fmt.Stringer](kinds ...T) map[string]T {
	all := map[string]T{}
	for _, kind := range kinds {
		all[kind.String()] = kind
	}
	return all
}

// rules are those of a configuration as senders and lookups take them.
func rules[T any](from []config.Rule, words map[string]T) (all []egress.Rule[T]) {
	for _, r := range from {
		rule := egress.Rule[T]{Status: r.Status, Pointer: r.Pointer, Test: test(r.Test), Then: words[r.Then]}
		if r.Header != nil {
			rule.Header, rule.HeaderTest = r.Header.Name, test(r.Header.Test)
		}
		all = append(all, rule)
	}
	return all
}

func test(t config.Test) egress.Test {
	if t.Equals != "" {
		return egress.Test{OneOf: []string{t.Equals}}
	}
	return egress.Test{OneOf: t.OneOf, Contains: t.Contains, Exists: t.Exists}
}
