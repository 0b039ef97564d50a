package outbox

import (
	"context"
	"sync"
)

// slots are the sends that a run may have in flight in all, shared out so that destinations do not wait for
// each other: while it has rows to walk, each is sure of an equal share, at least one, and takes more only
// from what no other is sure of. A destination whose remote stalls holds up itself.
type slots struct {
	mu      sync.Mutex
	free    int
	of      []*share
	changed chan struct{} // closed when a slot may have become available; nil if nobody waits
}

// share is one destination's part of the slots.
type share struct {
	limit int
	held  int
	sure  int // how many it is sure of
}

// newSlots shares out total slots among destinations that may each hold up to its limit, and that have rows
// to walk, except for those that are idle: they will not need any.
func newSlots(total int, destinations []Destination, idle func(Destination) bool) *slots {
	s := &slots{free: total}
	equal := max(1, total/max(1, len(destinations)))
	for _, d := range destinations {
		limit := d.Policy.WithDefaults().Concurrency
		sh := &share{limit: limit, sure: min(equal, limit)}
		if idle(d) {
			sh.sure = 0
		}
		s.of = append(s.of, sh)
	}
	return s
}

// keep lowers what a destination is sure of, because it has no rows to walk any more.
func (s *slots) keep(sh *share, sure int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sh.sure = sure
	s.signal()
}

// acquire takes a slot, as soon as there is one for this destination. It returns false when ctx ends.
func (s *slots) acquire(ctx context.Context, sh *share) bool {
	for {
		s.mu.Lock()
		if ctx.Err() == nil && s.available(sh) {
			s.free--
			sh.held++
			s.mu.Unlock()
			return true
		}
		if s.changed == nil {
			s.changed = make(chan struct{})
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

func (s *slots) available(sh *share) bool {
	if s.free == 0 || sh.held >= sh.limit {
		return false
	}
	reserved := 0
	for _, other := range s.of {
		if other != sh {
			reserved += max(0, other.sure-other.held)
		}
	}
	return sh.held < sh.sure || s.free > reserved
}

func (s *slots) release(sh *share) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free++
	sh.held--
	s.signal()
}

func (s *slots) signal() {
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}
