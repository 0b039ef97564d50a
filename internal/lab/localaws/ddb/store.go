package ddb

import (
	"iter"
	"slices"
	"strings"

	"github.com/landfall-dev/landfall/internal/lab/localaws/attr"
)

// store keeps items in the order of their encoded keys. A position in it is a key, not a number, so a page that begins
// where another one ended neither loses nor repeats what did not change meanwhile. It is one sorted slice: 100,000
// items are inserted in their order or any other in seconds, which is more than a test or a desk needs.
type store struct {
	entries []entry
	bytes   int // of all items
}

type entry struct {
	key  string
	item attr.Map
}

// find is where key is, or would be inserted.
func (s *store) find(key string) (at int, found bool) {
	return slices.BinarySearchFunc(s.entries, key, func(e entry, k string) int { return strings.Compare(e.key, k) })
}

// get is the item at key, nil if there is none.
func (s *store) get(key string) attr.Map {
	if at, found := s.find(key); found {
		return s.entries[at].item
	}
	return nil
}

// set puts an item at key; nil removes it.
func (s *store) set(key string, item attr.Map) {
	at, found := s.find(key)
	if s.bytes += item.Size(); found {
		s.bytes -= s.entries[at].item.Size()
	}
	switch {
	case found && item != nil:
		s.entries[at].item = item
	case found:
		s.entries = slices.Delete(s.entries, at, at+1)
	case item != nil:
		s.entries = slices.Insert(s.entries, at, entry{key, item})
	}
}

// between goes through the entries with low <= key < high (all from low on, if high is empty), or the same way back.
// The store must not change meanwhile.
func (s *store) between(low, high string, down bool) iter.Seq[entry] {
	from, _ := s.find(low)
	to := len(s.entries)
	if high != "" {
		to, _ = s.find(high)
	}
	list := s.entries[from:max(from, to)]
	if !down {
		return slices.Values(list)
	}
	return func(yield func(entry) bool) {
		for _, e := range slices.Backward(list) {
			if !yield(e) {
				return
			}
		}
	}
}

// clone is a store of its own with the same items.
func (s *store) clone() *store { return &store{slices.Clone(s.entries), s.bytes} }
