package sender

import (
	"cmp"
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
	// QueuePrefix begins the names of the deployment's queues. Defaults to schema.QueuePrefix.
	QueuePrefix string
	// URL finds the URL of a queue; see [SQSOptions].
	URL func(ctx context.Context, queue string) (string, error)
}

// NewGroup returns a sender that gives rows to a routing group, through its ingress queue.
//
// The key travels as the message's id ([schema.MessageIDAttribute]): a row that is sent again meets the receipt of the
// first time, and reaches no second consumer.
func NewGroup(o GroupOptions) (*Queue, error) {
	if o.Group == "" {
		return nil, errors.New("group: want a name")
	}
	q := SQSOptions{Client: o.Client, Queue: schema.IngressQueue(cmp.Or(o.QueuePrefix, schema.QueuePrefix), o.Group), URL: o.URL}
	if err := q.check(); err != nil {
		return nil, err
	}
	byID := func(id outbox.ID) (string, string) { return schema.MessageIDAttribute, fingerprint(id) }
	return &Queue{o: q, prefix: groupPrefix, limit: routing.MaxIncomingBytes, key: byID}, nil
}
