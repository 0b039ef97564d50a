package sqs

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
	"github.com/landfall-dev/landfall/internal/lab/localaws/wire"
)

// sendEntry is a message as it is sent: an entry of a batch with its Id, or a request with its QueueUrl.
type sendEntry struct {
	QueueUrl                *string
	Id                      *string
	MessageBody             *string
	DelaySeconds            *int
	MessageAttributes       map[string]attribute
	MessageSystemAttributes map[string]attribute
	MessageGroupId          *string
	MessageDeduplicationId  *string
}

// sendResult is the answer to a sender.
type sendResult struct {
	Id                           string `json:",omitempty"`
	MessageId                    string
	MD5OfMessageBody             string
	MD5OfMessageAttributes       string `json:",omitempty"`
	MD5OfMessageSystemAttributes string `json:",omitempty"`
	SequenceNumber               string `json:",omitempty"`
}

// token is what names of groups and deduplication ids are made of.
var token = regexp.MustCompile("^[a-zA-Z0-9!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~]{1,128}$")

func (e endpoint) sendMessage(in *sendEntry) (operation, error) {
	return e.onQueue(in.QueueUrl, func(q *queue, now time.Time, _ faults.Fault) wire.Outcome {
		answer, err := e.service.send(q, *in, e.trace, now)
		return wire.Outcome{Answer: answer, Err: err, Billed: billed(in.content().size())}
	})
}

type sendMessageBatchInput struct {
	QueueUrl *string
	Entries  []sendEntry
}

func (e endpoint) sendMessageBatch(in *sendMessageBatchInput) (operation, error) {
	id := func(s sendEntry) *string { return s.Id }
	return e.onQueue(in.QueueUrl, func(q *queue, now time.Time, f faults.Fault) wire.Outcome {
		size := 0
		for _, entry := range in.Entries {
			c := entry.content()
			size += c.size()
		}
		if err := q.checkSendBatch(in.Entries, size, idsOf(in.Entries, id)); err != nil {
			return wire.Outcome{Err: err}
		}
		out := runBatch(in.Entries, id, f, func(s sendEntry) (any, error) { return e.service.send(q, s, e.trace, now) })
		out.Billed = billed(size)
		return out
	})
}

// checkSendBatch is what a whole batch is refused for.
func (q *queue) checkSendBatch(entries []sendEntry, size int, ids []*string) error {
	if err := checkBatch("SendMessageBatchRequestEntry", ids); err != nil {
		return err
	}
	if size > maxMessage {
		return failure("BatchRequestTooLong", "Batch requests cannot be longer than %d bytes. You have sent %d bytes.", maxMessage, size)
	}
	for _, s := range entries {
		if q.set.fifo && s.MessageGroupId == nil {
			return invalid("The request must contain the parameter MessageGroupId.")
		}
		if q.set.fifo && s.MessageDeduplicationId == nil && q.set.values["ContentBasedDeduplication"] != "true" {
			return noDeduplication()
		}
	}
	return nil
}

func noDeduplication() error {
	return invalid("The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly")
}

func (s sendEntry) content() *content {
	return &content{
		attributes: s.MessageAttributes, body: wire.Given(s.MessageBody, ""), group: wire.Given(s.MessageGroupId, ""),
		trace: s.MessageSystemAttributes["AWSTraceHeader"].value(),
	}
}

// check is what is wrong with a message for a queue.
func (s sendEntry) check(q *queue, c *content) error {
	if err := c.check(); err != nil {
		return err
	}
	if limit := q.set.number("MaximumMessageSize"); c.size() > limit {
		reason := "One or more parameters are invalid."
		if s.Id != nil {
			reason = "One or more parameters cannot be validated."
		}
		return invalid("%s Reason: Message must be shorter than %d bytes.", reason, limit)
	}
	for _, name := range slices.Sorted(maps.Keys(s.MessageSystemAttributes)) {
		if a := s.MessageSystemAttributes[name]; name != "AWSTraceHeader" || a.DataType != "String" || a.value() == "" {
			return invalid("Message system attribute '%s' is invalid: there is only AWSTraceHeader, a non-empty String.", name)
		}
	}
	if err := integer("DelaySeconds", s.DelaySeconds, 0, 900, "DelaySeconds must be >= 0 and <= 900."); err != nil {
		return err
	}
	return s.checkKind(q)
}

// checkKind is what only FIFO queues take, or only standard ones.
func (s sendEntry) checkKind(q *queue) error {
	const misplaced = "The request include parameter that is not valid for this queue type."
	if err := errors.Join(checkToken("MessageGroupId", s.MessageGroupId), checkToken("MessageDeduplicationId", s.MessageDeduplicationId)); err != nil {
		return err
	}
	switch {
	case q.set.fifo && s.MessageGroupId == nil:
		return missing("MessageGroupId")
	case q.set.fifo && s.MessageDeduplicationId == nil && q.set.values["ContentBasedDeduplication"] != "true":
		return noDeduplication()
	case q.set.fifo && s.DelaySeconds != nil && *s.DelaySeconds > 0:
		return invalidValue("DelaySeconds", *s.DelaySeconds, misplaced)
	case !q.set.fifo && s.MessageDeduplicationId != nil:
		return invalidValue("MessageDeduplicationId", *s.MessageDeduplicationId, misplaced)
	}
	return nil
}

func checkToken(parameter string, id *string) error {
	if id != nil && !token.MatchString(*id) {
		return invalidValue(parameter, *id, parameter+" can only include alphanumeric and punctuation characters. 1 to 128 in length.")
	}
	return nil
}

// send puts a message into a queue, unless a FIFO queue has it already. A message without a trace gets that of the
// request.
func (s *Service) send(q *queue, entry sendEntry, trace string, now time.Time) (any, error) {
	c := entry.content()
	if err := entry.check(q, c); err != nil {
		return nil, err
	}
	result := sendResult{Id: wire.Given(entry.Id, ""), MD5OfMessageBody: sum(c.body), MD5OfMessageAttributes: sumOf(c.attributes),
		MD5OfMessageSystemAttributes: sumOf(entry.MessageSystemAttributes)}
	if c.trace == "" {
		c.trace = trace
	}
	key := ""
	if q.set.fifo {
		c.dedup, key = q.deduplication(entry, c)
		if before, ok := q.recent.find(key, now); ok {
			result.MessageId, result.SequenceNumber = before.id, before.sequence
			return result, nil
		}
	}
	if q.set.fifo {
		entry.DelaySeconds = nil // the queue's alone counts
	}
	m := s.put(q, *c, now.Add(q.seconds(entry.DelaySeconds, "DelaySeconds")), now)
	if q.set.fifo {
		q.recent.remember(key, sending{m.id, m.sequence, now})
	}
	result.MessageId, result.SequenceNumber = m.id, m.sequence
	return result, nil
}

// deduplication is the deduplication id of a message, and what the queue remembers it by.
func (q *queue) deduplication(entry sendEntry, c *content) (id, key string) {
	if entry.MessageDeduplicationId != nil {
		id = *entry.MessageDeduplicationId
	} else {
		h := sha256.Sum256([]byte(c.body))
		id = hex.EncodeToString(h[:])
	}
	if q.set.perID {
		return id, c.group + " " + id
	}
	return id, id
}

// put makes a message that becomes visible at a time.
func (s *Service) put(q *queue, c content, shows, now time.Time) *message {
	m := &message{content: c, sent: now}
	m.number = s.number()
	m.id = fmt.Sprintf("%08x-%04x-4000-8000-%012x", uint32(m.number), now.Nanosecond()>>14, now.Unix())
	q.take(m, shows, now)
	return m
}

// number is the next message number.
func (s *Service) number() uint64 {
	s.sent++
	return s.sent
}

// take adds a message that has its number.
func (q *queue) take(m *message, shows, now time.Time) {
	if q.set.fifo {
		m.sequence = fmt.Sprintf("188%017d", 49_496_460_467_696_128+m.number<<8)
	}
	q.add(m, shows, now)
}

// move takes a message out of a queue and puts it into another one, visible at once. It keeps its identity; a FIFO
// queue counts its age anew.
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-dead-letter-queues.html
func (s *Service) move(m *message, from, to *queue, now time.Time) {
	from.remove(m)
	m.number = s.number()
	m.source = from.arn
	if to.set.fifo {
		m.sent = now
	}
	to.advance(now)
	to.take(m, now, now)
}
