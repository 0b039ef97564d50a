package sqs

import "container/heap"

// What messages are ordered by; each is a slot for their position in that order.
const (
	byNumber  = iota // visible messages of a standard queue, oldest first
	byVisible        // hidden messages, the next one to become visible first
	bySent           // all messages, the next one to be over its retention first
	orders
)

// index holds messages of which the first one, by some order, is found at once. A message can be in one of each order.
type index struct {
	order  int
	before func(a, b *message) bool
	items  []*message
}

func (x *index) Len() int           { return len(x.items) }
func (x *index) Less(i, j int) bool { return x.before(x.items[i], x.items[j]) }
func (x *index) Swap(i, j int) {
	x.items[i], x.items[j] = x.items[j], x.items[i]
	x.items[i].at[x.order], x.items[j].at[x.order] = i+1, j+1
}

// Push is for container/heap; use add.
func (x *index) Push(m any) {
	x.items = append(x.items, m.(*message))
	m.(*message).at[x.order] = len(x.items)
}

// Pop is for container/heap; use drop.
func (x *index) Pop() any {
	last := len(x.items) - 1
	m := x.items[last]
	x.items[last] = nil
	x.items = x.items[:last]
	m.at[x.order] = 0
	return m
}

func (x *index) has(m *message) bool { return m.at[x.order] > 0 }

func (x *index) add(m *message) { heap.Push(x, m) }

// drop takes m out if it is in.
func (x *index) drop(m *message) {
	if x.has(m) {
		heap.Remove(x, m.at[x.order]-1)
	}
}

// first is nil if there is none.
func (x *index) first() *message {
	if len(x.items) == 0 {
		return nil
	}
	return x.items[0]
}
