package routing

import (
	"sync"
	"time"
)

// lapses remembers for LapseMemory which consumers let a message lapse.
type lapses struct {
	mu   sync.Mutex
	last map[lapsed]time.Time
}

type lapsed struct{ group, consumer string }

// note remembers a lapse by its deadline, so that one seen again and again does not stay a new one.
func (l *lapses) note(group, consumer string, deadline, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == nil {
		l.last = map[lapsed]time.Time{}
	}
	for key, at := range l.last {
		if now.Sub(at) > LapseMemory {
			delete(l.last, key)
		}
	}
	if key := (lapsed{group, consumer}); deadline.After(l.last[key]) {
		l.last[key] = deadline
	}
}

// lately tells for a group whether a consumer let a message lapse lately.
func (l *lapses) lately(group string, now time.Time) func(consumer string) bool {
	return func(consumer string) bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		at, found := l.last[lapsed{group, consumer}]
		return found && now.Sub(at) <= LapseMemory
	}
}
