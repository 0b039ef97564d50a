package sqs

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
	"github.com/landfall-dev/landfall/internal/lab/localaws/wire"
)

// handle is the receipt handle of the last receipt of a message. It says all by itself, so none is ever forgotten.
func (q *queue) handle(m *message) string {
	return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "receipt %s %d %d", q.id, m.number, m.receives))
}

// find is the message of a handle, nil if it is gone, and whether the handle is that of its last receipt.
func (q *queue) find(handle string) (m *message, last bool, err error) {
	text, err := base64.StdEncoding.DecodeString(handle)
	parts := strings.Split(string(text), " ")
	if err != nil || len(parts) != 4 || parts[0] != "receipt" {
		return nil, false, failure("ReceiptHandleIsInvalid", "The input receipt handle \"%s\" is not a valid receipt handle.", handle)
	}
	number, badNumber := strconv.ParseUint(parts[2], 10, 64)
	receives, badReceives := strconv.Atoi(parts[3])
	if parts[1] != q.id || badNumber != nil || badReceives != nil {
		return nil, false, failure("ReceiptHandleIsInvalid", "The receipt handle \"%s\" is not valid for this queue.", handle)
	}
	m = q.messages[number]
	return m, m != nil && m.receives == receives, nil
}

// discard deletes the message of a handle. A standard queue takes old handles, too; a FIFO queue does not.
func (q *queue) discard(handle string) error {
	m, last, err := q.find(handle)
	switch {
	case err != nil || m == nil:
		return err
	case q.set.fifo && (!last || !m.inFlight):
		return invalidValue("ReceiptHandle", handle, "The receipt handle has expired.")
	}
	q.remove(m)
	return nil
}

// extend makes the message of a handle visible in a while, from now on. Old handles do so in a standard queue, too. A
// message that is not in flight stays as it is.
func (q *queue) extend(handle string, timeout time.Duration, now time.Time) error {
	m, last, err := q.find(handle)
	switch {
	case err != nil:
		return err
	case m == nil || q.set.fifo && (!last || !m.inFlight):
		return invalidValue("ReceiptHandle", handle, "Message does not exist or is not available for visibility timeout change.")
	case now.Add(timeout).After(m.received.Add(maxVisibility)):
		return invalidValue("VisibilityTimeout", int(timeout.Seconds()), fmt.Sprintf("Total VisibilityTimeout for the message is beyond the limit [%d seconds]", int(maxVisibility.Seconds())))
	case !m.inFlight:
		return nil
	case timeout == 0:
		q.show(m)
		return nil
	}
	q.hide(m, now.Add(timeout), true)
	return nil
}

// handleEntry is a receipt handle and what to do with it: an entry of a batch with its Id, or a request with its QueueUrl.
type handleEntry struct {
	QueueUrl          *string
	Id                *string
	ReceiptHandle     *string
	VisibilityTimeout *int
}

func (h handleEntry) delete(q *queue, _ time.Time) error {
	if h.ReceiptHandle == nil {
		return missing("ReceiptHandle")
	}
	return q.discard(*h.ReceiptHandle)
}

func (h handleEntry) change(q *queue, now time.Time) error {
	switch {
	case h.ReceiptHandle == nil:
		return missing("ReceiptHandle")
	case h.VisibilityTimeout == nil:
		return missing("VisibilityTimeout")
	}
	if err := integer("VisibilityTimeout", h.VisibilityTimeout, 0, 43_200, "Must be between 0 and 43200."); err != nil {
		return err
	}
	return q.extend(*h.ReceiptHandle, time.Duration(*h.VisibilityTimeout)*time.Second, now)
}

// byHandle is an operation on one receipt handle.
func byHandle(do func(handleEntry, *queue, time.Time) error) func(endpoint, *handleEntry) (operation, error) {
	return func(e endpoint, in *handleEntry) (operation, error) {
		return e.asking(in.QueueUrl, func(q *queue, now time.Time) (any, error) { return none, do(*in, q, now) })
	}
}

type handlesInput struct {
	QueueUrl *string
	Entries  []handleEntry
}

// byHandles is an operation on a batch of receipt handles; kind is the type of an entry on the wire.
func byHandles(kind string, do func(handleEntry, *queue, time.Time) error) func(endpoint, *handlesInput) (operation, error) {
	id := func(h handleEntry) *string { return h.Id }
	return func(e endpoint, in *handlesInput) (operation, error) {
		return e.onQueue(in.QueueUrl, func(q *queue, now time.Time, f faults.Fault) wire.Outcome {
			if err := checkBatch(kind, idsOf(in.Entries, id)); err != nil {
				return wire.Outcome{Err: err}
			}
			return runBatch(in.Entries, id, f, func(h handleEntry) (any, error) {
				return map[string]string{"Id": *h.Id}, do(h, q, now)
			})
		})
	}
}
