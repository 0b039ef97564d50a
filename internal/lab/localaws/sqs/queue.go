package sqs

import (
	"fmt"
	"time"
)

// queue is a queue and its messages. Its methods that take a time leave it as it is at that time.
type queue struct {
	set      settings
	name     string
	arn      string
	id       string // differs from that of any other queue, ever
	created  time.Time
	modified time.Time
	purged   time.Time
	tags     map[string]string

	messages map[uint64]*message // by number
	visible  index               // of a standard queue
	hidden   index               // delayed or in flight
	ages     index
	inFlight int
	groups   groups // of a FIFO queue
	recent   recent // of a FIFO queue
}

// message is a message in a queue.
type message struct {
	content  content
	number   uint64 // in the order of sending, in the account
	id       string
	sequence string // of a FIFO queue
	source   string // ARN of the queue that it was dead-lettered from
	sent     time.Time
	first    time.Time // when it was received first
	received time.Time // and last
	receives int
	shows    time.Time // when it becomes visible
	inFlight bool
	at       [orders]int // positions, from 1
}

func (s *Service) newQueue(name string, set settings, now time.Time) *queue {
	s.made++
	q := &queue{
		set: set, name: name, arn: s.arn(name), id: fmt.Sprintf("%d.%d", s.made, now.UnixNano()),
		created: now, modified: now, tags: map[string]string{},
	}
	q.clear()
	return q
}

// clear forgets all messages, and what FIFO queues remember of them.
func (q *queue) clear() {
	q.messages = map[uint64]*message{}
	q.visible = index{order: byNumber, before: func(a, b *message) bool { return a.number < b.number }}
	q.hidden = index{order: byVisible, before: func(a, b *message) bool {
		if !a.shows.Equal(b.shows) {
			return a.shows.Before(b.shows)
		}
		return a.number < b.number
	}}
	q.ages = index{order: bySent, before: func(a, b *message) bool { return a.sent.Before(b.sent) }}
	q.inFlight = 0
	q.groups = groups{byID: map[string]*group{}}
	q.recent = recent{byKey: map[string]sending{}}
}

// advance does what time does to a queue: hidden messages become visible, those past their retention are dropped.
func (q *queue) advance(now time.Time) {
	for m := q.hidden.first(); m != nil && !m.shows.After(now); m = q.hidden.first() {
		q.show(m)
	}
	for m := q.ages.first(); m != nil && !m.sent.Add(q.set.retention()).After(now); m = q.ages.first() {
		q.remove(m)
	}
}

// add puts a message in that becomes visible at a time.
func (q *queue) add(m *message, shows, now time.Time) {
	q.messages[m.number] = m
	q.ages.add(m)
	if q.set.fifo {
		q.groups.add(m)
	}
	q.hide(m, shows, false)
	if !shows.After(now) {
		q.show(m)
	}
}

// hide makes a message invisible until a time.
func (q *queue) hide(m *message, shows time.Time, inFlight bool) {
	q.visible.drop(m)
	q.hidden.drop(m)
	m.shows = shows
	q.hidden.add(m)
	q.fly(m, inFlight)
	if q.set.fifo {
		q.groups.refresh(m.content.group)
	}
}

// show makes a hidden message visible.
func (q *queue) show(m *message) {
	q.hidden.drop(m)
	q.fly(m, false)
	if q.set.fifo {
		q.groups.refresh(m.content.group)
	} else {
		q.visible.add(m)
	}
}

// remove takes a message out.
func (q *queue) remove(m *message) {
	delete(q.messages, m.number)
	q.visible.drop(m)
	q.hidden.drop(m)
	q.ages.drop(m)
	q.fly(m, false)
	if q.set.fifo {
		q.groups.remove(m)
	}
}

func (q *queue) fly(m *message, inFlight bool) {
	if m.inFlight != inFlight {
		m.inFlight = inFlight
		if inFlight {
			q.inFlight++
		} else {
			q.inFlight--
		}
	}
}

// seconds is a time that a request may give, or else the one of an attribute.
func (q *queue) seconds(given *int, attribute string) time.Duration {
	if given == nil {
		return q.set.seconds(attribute)
	}
	return time.Duration(*given) * time.Second
}

// counts are how many messages are visible, in flight, and delayed.
func (q *queue) counts() (visible, inFlight, delayed int) {
	return len(q.messages) - q.hidden.Len(), q.inFlight, q.hidden.Len() - q.inFlight
}

// next is when a message becomes visible, later if there is none before.
func (q *queue) next(later time.Time) time.Time {
	if m := q.hidden.first(); m != nil && m.shows.Before(later) {
		return m.shows
	}
	return later
}
