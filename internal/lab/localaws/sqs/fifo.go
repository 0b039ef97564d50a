package sqs

import (
	"cmp"
	"container/list"
	"slices"
	"time"
)

// dedupInterval is how long a FIFO queue remembers what was sent.
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/using-messagededuplicationid-property.html
const dedupInterval = 5 * time.Minute

// group is the messages of a message group, in order. It gives its messages away from the first one on, up to one that
// is hidden.
type group struct {
	messages []*message
	turn     *list.Element // nil while its first message is hidden
}

// groups are the message groups of a FIFO queue. Those that have something to give take turns.
type groups struct {
	byID  map[string]*group
	turns list.List // of *group
}

func (g *groups) add(m *message) {
	if g.byID[m.content.group] == nil {
		g.byID[m.content.group] = &group{}
	}
	g.byID[m.content.group].messages = append(g.byID[m.content.group].messages, m)
}

func (g *groups) remove(m *message) {
	of := g.byID[m.content.group]
	if i, found := slices.BinarySearchFunc(of.messages, m.number, func(x *message, n uint64) int { return cmp.Compare(x.number, n) }); found {
		of.messages = slices.Delete(of.messages, i, i+1)
	}
	g.refresh(m.content.group)
}

// refresh gives a group a turn if it has something to give, and takes it away otherwise.
func (g *groups) refresh(id string) {
	of := g.byID[id]
	gives := len(of.messages) > 0 && of.messages[0].at[byVisible] == 0
	switch {
	case gives && of.turn == nil:
		of.turn = g.turns.PushBack(of)
	case !gives && of.turn != nil:
		g.turns.Remove(of.turn)
		of.turn = nil
	}
	if len(of.messages) == 0 {
		delete(g.byID, id)
	}
}

// candidates are the visible messages in the order in which they are to be received: as many as possible of the first
// group, then of the next. Groups that are reached go to the end of the line.
func (g *groups) candidates(yield func(*message) bool) {
	for range g.turns.Len() {
		if g.turns.Len() == 0 {
			return
		}
		of := g.turns.Front().Value.(*group)
		g.turns.MoveToBack(of.turn)
		for _, m := range slices.Clone(of.messages) {
			if m.at[byVisible] != 0 {
				break
			}
			if !yield(m) {
				return
			}
		}
	}
}

// sending is what a FIFO queue remembers of a message that was sent.
type sending struct {
	id, sequence string
	at           time.Time
}

// recent is what was sent to a FIFO queue within the deduplication interval.
type recent struct {
	byKey map[string]sending
	keys  []string // oldest first
}

// find is what was sent under a key.
func (r *recent) find(key string, now time.Time) (sending, bool) {
	for len(r.keys) > 0 && !r.byKey[r.keys[0]].at.Add(dedupInterval).After(now) {
		delete(r.byKey, r.keys[0])
		r.keys = r.keys[1:]
	}
	s, ok := r.byKey[key]
	return s, ok
}

func (r *recent) remember(key string, s sending) {
	r.byKey[key] = s
	r.keys = append(r.keys, key)
}
