package sender

import (
	"context"
	"errors"

	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/routing"
	"github.com/landfall-dev/landfall/internal/schema"
)

const groupPrefix = "landfall.group."

// GroupOptions describe a destination of kind group.
type GroupOptions struct {
	// Client sends. Required.
	Client SQSClient
	// Group is the routing group's name. Required.
	Group string
	// QueuePrefix is what the names of the deployment's queues begin with. Defaults to schema.QueuePrefix.
	QueuePrefix string
	// URL finds a queue; see [SQSOptions].
	URL func(ctx context.Context, queue string) (string, error)
}

// Group hands rows to a routing group, by its ingress queue. Make one with [NewGroup]; it may be used from several
// goroutines at once.
//
// The key travels as the message's id ([schema.MessageIDAttribute]): a row that is sent again finds the receipt of the
// first time, and reaches no second consumer.
type Group struct{ queue }

// NewGroup returns a sender.
func NewGroup(o GroupOptions) (*Group, error) {
	if o.Group == "" {
		return nil, errors.New("group: want a name")
	}
	if o.QueuePrefix == "" {
		o.QueuePrefix = schema.QueuePrefix
	}
	q := SQSOptions{Client: o.Client, Queue: schema.IngressQueue(o.QueuePrefix, o.Group), URL: o.URL}
	if err := q.check(); err != nil {
		return nil, err
	}
	byID := func(id outbox.ID) (string, string) { return schema.MessageIDAttribute, fingerprint(id) }
	return &Group{queue{SQSOptions: q, prefix: groupPrefix, limit: routing.MaxIncomingBytes, key: byID}}, nil
}
