package ddb

import (
	"iter"
	"slices"
	"sort"

	"github.com/landfall-dev/landfall/internal/localaws/ddb/attr"
)

// store keeps items in the order of their encoded keys: a list of short sorted runs. A position in it is a key, not a
// number, so a page that begins where another one ended neither loses nor repeats what did not change meanwhile.
type store struct {
	runs [][]entry // none is empty
	size int       // entries
}

type entry struct {
	key  string
	item attr.Map
}

const maxRun = 256

// find is where key is, or would be inserted.
func (s *store) find(key string) (run, at int, found bool) {
	run = sort.Search(len(s.runs), func(i int) bool { return s.runs[i][0].key > key }) - 1
	if run < 0 {
		return 0, 0, false
	}
	at, found = slices.BinarySearchFunc(s.runs[run], key, func(e entry, k string) int {
		switch {
		case e.key < k:
			return -1
		case e.key > k:
			return 1
		}
		return 0
	})
	return run, at, found
}

// get is the item at key, nil if there is none.
func (s *store) get(key string) attr.Map {
	if run, at, found := s.find(key); found {
		return s.runs[run][at].item
	}
	return nil
}

// set puts an item at key; nil removes it.
func (s *store) set(key string, item attr.Map) {
	run, at, found := s.find(key)
	switch {
	case found && item != nil:
		s.runs[run][at].item = item
	case found:
		s.size--
		s.runs[run] = slices.Delete(s.runs[run], at, at+1)
		if len(s.runs[run]) == 0 {
			s.runs = slices.Delete(s.runs, run, run+1)
		}
	case item != nil:
		s.insert(run, at, entry{key, item})
	}
}

func (s *store) insert(run, at int, e entry) {
	s.size++
	if len(s.runs) == 0 {
		s.runs = [][]entry{{e}}
		return
	}
	s.runs[run] = slices.Insert(s.runs[run], at, e)
	if r := s.runs[run]; len(r) > maxRun {
		half := len(r) / 2
		s.runs[run] = r[:half:half]
		s.runs = slices.Insert(s.runs, run+1, slices.Clone(r[half:]))
	}
}

// ascend goes through the entries with from <= key, ascending. The store must not change meanwhile.
func (s *store) ascend(from string) iter.Seq[entry] {
	return func(yield func(entry) bool) {
		run, at, _ := s.find(from)
		for ; run < len(s.runs); run, at = run+1, 0 {
			for ; at < len(s.runs[run]); at++ {
				if !yield(s.runs[run][at]) {
					return
				}
			}
		}
	}
}

// descend goes through the entries with key < to, descending.
func (s *store) descend(to string) iter.Seq[entry] {
	return func(yield func(entry) bool) {
		run, at, _ := s.find(to)
		for ; run >= 0 && run < len(s.runs); run-- {
			for at--; at >= 0; at-- {
				if !yield(s.runs[run][at]) {
					return
				}
			}
			if run > 0 {
				at = len(s.runs[run-1])
			}
		}
	}
}

// clone is a store of its own with the same items.
func (s *store) clone() *store {
	c := &store{runs: make([][]entry, len(s.runs)), size: s.size}
	for i, r := range s.runs {
		c.runs[i] = slices.Clone(r)
	}
	return c
}
