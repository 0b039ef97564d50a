package routingsim

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/sim/stage"
	"github.com/landfall-dev/landfall/internal/routing"
)

// ingressQueue is the ingress queue of a group, as SQS promises it: at least once, in any order. All of it is under the
// stage's mutex.
type ingressQueue struct {
	stage    *stage.Stage
	world    *routerWorld
	plan     *plannedGroup
	dice     *stage.Dice
	messages []*message
}

// message is a message that was sent; several may have the same id.
type message struct {
	send      *send
	number    int
	body      string
	sentAt    time.Time
	visibleAt time.Time
	receives  int
	deleted   bool
	// redriven: the queue gave it up by itself, without a reason.
	redriven bool
	// routed is the receive count with which it last got to a router that came to its end.
	routed int
}

func (m *message) id(group string) routing.ID { return routing.ID{Group: group, Message: m.send.id} }

// put is the arrival of a message.
func (q *ingressQueue) put(s *send) {
	m := &message{
		send: s, number: len(q.messages), sentAt: time.Now().Truncate(time.Millisecond), visibleAt: time.Now(),
		body: fmt.Sprintf(`{"order": %q, "secret": %q}`, s.id, secret),
	}
	q.messages = append(q.messages, m)
	q.stage.Events++
	q.stage.Note(0, "%s is sent to %s, message %d", s.id, q.plan.name, m.number)
	q.world.law.sent(m.id(q.plan.name), m)
}

// receive hands out some of what is visible.
func (q *ingressQueue) receive() (batch []routing.Incoming) {
	now := time.Now()
	for _, m := range q.messages {
		if len(batch) == q.plan.batch || m.deleted || m.visibleAt.After(now) {
			continue
		}
		if m.receives >= q.plan.policy.MaxReceives {
			m.deleted, m.redriven = true, true
			q.stage.Note(0, "%s is given up by the queue, message %d", m.send.id, m.number)
			q.world.law.redriven(m.id(q.plan.name), m)
			continue
		}
		m.receives++
		m.visibleAt = now.Add(q.plan.visibility)
		if q.world.troubled() && q.dice.Chance(q.plan.ingress.double) {
			m.visibleAt = now.Add(q.dice.Between(time.Millisecond, 20*time.Second))
			q.stage.Happened["handed out twice"]++
		}
		in := routing.Incoming{
			Message: routing.Message{
				ID: m.send.id, Fields: routing.ParseFields([]byte(m.body)), Attributes: map[string]string{"tenant": secret},
			},
			Group: q.plan.name, Handle: fmt.Sprintf("%s %d %d", handleMark, m.number, m.receives),
			SentAt: m.sentAt, Receives: m.receives, Bytes: len(m.body), AttributeCount: 1, Source: m,
		}
		if q.plan.uncounted {
			in.Receives = 0
		}
		if m.send.oversize {
			in.AttributeCount = routing.MaxIncomingAttributes + 1
		}
		batch = append(batch, in)
	}
	return batch
}

// next is when the next message is visible; open says that there is one.
func (q *ingressQueue) next() (at time.Time, open bool) {
	for _, m := range q.messages {
		if !m.deleted && (!open || m.visibleAt.Before(at)) {
			at, open = m.visibleAt, true
		}
	}
	return at, open
}

// handleMark begins every handle: a handle can delete a message.
const handleMark = "h4ndl3"

var errExpired = errors.New("the handle has expired")

// handed is the message that a handle stands for. An old handle is honoured sometimes.
func (q *ingressQueue) handed(handle string) (*message, error) {
	parts := strings.Fields(handle)
	number, _ := strconv.Atoi(parts[1])
	receives, _ := strconv.Atoi(parts[2])
	m := q.messages[number]
	switch {
	case m.deleted:
		return nil, errExpired
	case receives != m.receives && !q.dice.Chance(q.plan.ingress.old):
		return nil, errExpired
	}
	return m, nil
}

// hold hides a message for so long from now; 0 shows it.
func (q *ingressQueue) hold(handle string, d time.Duration) error {
	m, err := q.handed(handle)
	if err == nil {
		m.visibleAt = time.Now().Add(d)
	}
	return err
}

// delete deletes a message, which may come back.
func (q *ingressQueue) delete(by int, handle string) error {
	m, err := q.handed(handle)
	if err != nil {
		return err
	}
	m.deleted = true
	q.stage.Events++
	q.stage.Note(by, "%s is deleted from %s, message %d", m.send.id, q.plan.name, m.number)
	q.world.law.deleted(m.id(q.plan.name))
	if q.world.troubled() && q.dice.Chance(q.plan.ingress.ghost) {
		m.deleted, m.visibleAt = false, time.Now().Add(q.dice.Between(time.Second, 10*time.Minute))
		q.stage.Happened["handed out again though deleted"]++
	}
	return nil
}

func (w *routerWorld) troubled() bool { return !w.stage.Calm.Load() }

// empty reports whether nothing is left in any queue, and nothing is to be sent.
func (w *routerWorld) empty() bool {
	return !slices.ContainsFunc(w.queues, func(q *ingressQueue) bool { _, open := q.next(); return open })
}
