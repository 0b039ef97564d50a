package sqs

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
	"github.com/landfall-dev/landfall/internal/lab/localaws/wire"
)

// maxVisibility is how long a message can be invisible, from its receipt on.
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-visibility-timeout.html
const maxVisibility = 12 * time.Hour

// systemAttributes are the system attributes of messages that can be asked for.
var systemAttributes = []string{"AWSTraceHeader", "ApproximateFirstReceiveTimestamp", "ApproximateReceiveCount",
	"DeadLetterQueueSourceArn", "MessageDeduplicationId", "MessageGroupId", "SenderId", "SentTimestamp", "SequenceNumber"}

// receiving is a request for messages.
type receiving struct {
	QueueUrl                    *string
	AttributeNames              []string // the former name of the next one
	MessageSystemAttributeNames []string
	MessageAttributeNames       []string
	MaxNumberOfMessages         *int
	VisibilityTimeout           *int
	WaitTimeSeconds             *int
	ReceiveRequestAttemptId     *string
}

// received is a message as it is delivered.
type received struct {
	MessageId              string
	ReceiptHandle          string
	MD5OfBody              string
	Body                   string
	Attributes             map[string]string    `json:",omitempty"`
	MD5OfMessageAttributes string               `json:",omitempty"`
	MessageAttributes      map[string]attribute `json:",omitempty"`
}

func (e endpoint) receiveMessage(in *receiving) (operation, error) {
	if err := in.check(); err != nil {
		return operation{}, err
	}
	return e.onQueue(in.QueueUrl, func(q *queue, now time.Time, f faults.Fault) wire.Outcome {
		wait := q.seconds(in.WaitTimeSeconds, "ReceiveMessageWaitTimeSeconds")
		return e.service.poll(q, in, now, now.Add(wait), wait > 0, f)
	})
}

func (in *receiving) check() error {
	for _, err := range []error{
		integer("MaxNumberOfMessages", in.MaxNumberOfMessages, 1, 10, "Must be between 1 and 10, if provided."),
		integer("VisibilityTimeout", in.VisibilityTimeout, 0, 43_200, "Must be >= 0 and <= 43200, if provided."),
		integer("WaitTimeSeconds", in.WaitTimeSeconds, 0, 20, "Must be >= 0 and <= 20, if provided."),
	} {
		if err != nil {
			return err
		}
	}
	for _, name := range slices.Concat(in.AttributeNames, in.MessageSystemAttributeNames) {
		if name != "All" && !slices.Contains(systemAttributes, name) && !known(name) {
			return failure("InvalidAttributeName", "Unknown Attribute %s.", name)
		}
	}
	if in.ReceiveRequestAttemptId != nil {
		return invalidValue("ReceiveRequestAttemptId", *in.ReceiveRequestAttemptId, "The local SQS does not repeat receive attempts; leave the parameter out.")
	}
	return nil
}

// poll receives what there is, or waits for it until the deadline. A long one is not told that too much is in flight:
// the queue looks empty.
func (s *Service) poll(q *queue, in *receiving, now, deadline time.Time, long bool, f faults.Fault) wire.Outcome {
	if s.queues[q.name] != q { // deleted while waiting
		return wire.Outcome{Err: noQueue()}
	}
	q.advance(now)
	room := s.options.InFlight - q.inFlight
	if room <= 0 && !q.set.fifo && !long {
		return wire.Outcome{Err: failure("OverLimit", "Too many messages in flight: the queue has reached its limit of %d.", s.options.InFlight)}
	}
	n := min(wire.Given(in.MaxNumberOfMessages, 1), max(room, 0))
	got, buried := s.receive(q, in, n, now, f)
	if len(got) == 0 && deadline.After(now) {
		look := func(now time.Time) wire.Outcome {
			s.runMoves(now)
			out := s.poll(q, in, now, deadline, long, f)
			out.Billed = max(out.Billed, 1)
			return out
		}
		until := s.nextMove(q.next(deadline))
		if buried { // which others may wait for: let all look again
			until = now
		}
		return wire.Outcome{Wait: &wire.Wait{Until: until, Look: look}}
	}
	size := 0
	answer := struct {
		Messages []received `json:",omitempty"`
	}{}
	for _, m := range got {
		size += m.content.size()
		answer.Messages = append(answer.Messages, in.deliver(q, m))
	}
	return wire.Outcome{Answer: answer, Billed: billed(size)}
}

// receive takes up to n messages. Those that were received too often go to the dead-letter queue instead.
func (s *Service) receive(q *queue, in *receiving, n int, now time.Time, f faults.Fault) (got []*message, buried bool) {
	timeout := q.seconds(in.VisibilityTimeout, "VisibilityTimeout")
	dead := s.deadLetters(q)
	var late []*message
	if n > 0 {
		for m := range q.candidates(f.Shuffle) {
			if dead != nil && m.receives >= q.set.redrive.MaxReceiveCount {
				late = append(late, m)
				q.hide(m, now.Add(maxVisibility), false) // out of the way of the next one
				continue
			}
			got = append(got, m)
			q.visible.drop(m)
			if timeout > 0 {
				q.hide(m, now.Add(timeout), true)
			}
			if len(got) == n {
				break
			}
		}
	}
	for _, m := range late {
		s.move(m, q, dead, now)
	}
	for i, m := range got {
		if timeout == 0 && !q.set.fifo {
			q.visible.add(m)
		}
		if i < f.Duplicates && !q.set.fifo {
			s.duplicate(q, m, now)
		}
		m.receives++
		m.received = now
		if m.first.IsZero() {
			m.first = now
		}
	}
	return got, len(late) > 0
}

// deadLetters is where dead letters of a queue go, nil if nowhere.
func (s *Service) deadLetters(q *queue) *queue {
	if q.set.redrive == nil {
		return nil
	}
	if to := s.byARN(q.set.redrive.DeadLetterTargetArn); to != nil && to != q && to.set.fifo == q.set.fifo {
		return to
	}
	return nil // a queue that is gone buries nothing: messages stay
}

// duplicate leaves a copy of a message in a queue, which is delivered again whatever becomes of the message.
func (s *Service) duplicate(q *queue, m *message, now time.Time) {
	twin := &message{content: m.content, id: m.id, source: m.source, sent: m.sent, first: m.first, received: m.received, receives: m.receives}
	twin.number = s.number()
	q.take(twin, now, now)
}

// candidates are the visible messages in the order in which they are to be received: the oldest first, unless they are
// shuffled. Each that is gone on from must have been hidden, or dropped from the visible ones.
func (q *queue) candidates(shuffle uint64) func(yield func(*message) bool) {
	switch {
	case q.set.fifo:
		return q.groups.candidates
	case shuffle == 0:
		return func(yield func(*message) bool) {
			for m := q.visible.first(); m != nil && yield(m); m = q.visible.first() {
			}
		}
	}
	random := rand.New(rand.NewPCG(shuffle, uint64(len(q.visible.items))))
	return func(yield func(*message) bool) {
		for q.visible.Len() > 0 && yield(q.visible.items[random.IntN(q.visible.Len())]) {
		}
	}
}

// deliver is a message as its receiver wants to see it.
func (in *receiving) deliver(q *queue, m *message) received {
	r := received{MessageId: m.id, ReceiptHandle: q.handle(m), MD5OfBody: sum(m.content.body), Body: m.content.body}
	all := m.system()
	r.Attributes = map[string]string{}
	for _, name := range slices.Concat(in.AttributeNames, in.MessageSystemAttributeNames) {
		if name == "All" {
			r.Attributes = all
			break
		}
		if value, ok := all[name]; ok {
			r.Attributes[name] = value
		}
	}
	r.MessageAttributes = map[string]attribute{}
	for name, a := range m.content.attributes {
		if wanted(in.MessageAttributeNames, name) {
			r.MessageAttributes[name] = a
		}
	}
	r.MD5OfMessageAttributes = sumOf(r.MessageAttributes)
	return r
}

// wanted is whether an attribute's name is among those asked for: all, names, and the beginnings of names.
func wanted(asked []string, name string) bool {
	return slices.ContainsFunc(asked, func(a string) bool {
		prefix, wild := strings.CutSuffix(a, ".*")
		return a == "All" || a == "*" || a == name || wild && strings.HasPrefix(name, prefix)
	})
}

// system are the system attributes of a message.
func (m *message) system() map[string]string {
	all := map[string]string{
		"ApproximateFirstReceiveTimestamp": strconv.FormatInt(m.first.UnixMilli(), 10),
		"ApproximateReceiveCount":          strconv.Itoa(m.receives),
		"SenderId":                         account,
		"SentTimestamp":                    strconv.FormatInt(m.sent.UnixMilli(), 10),
		"AWSTraceHeader":                   m.content.trace,
		"DeadLetterQueueSourceArn":         m.source,
		"MessageDeduplicationId":           m.content.dedup,
		"MessageGroupId":                   m.content.group,
		"SequenceNumber":                   m.sequence,
	}
	maps.DeleteFunc(all, func(_, value string) bool { return value == "" })
	return all
}
