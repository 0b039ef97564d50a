// Package ledger records what each request to the local AWS did and cost. It keeps sums for ever and the entries of
// the latest requests, so its memory is bounded by the number of tables, operations and callers.
package ledger

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Cost is what a request consumed of one table, or of one index of it, in capacity units.
type Cost struct {
	Table string
	Index string // empty for the table itself
	Read  float64
	Write float64
}

// Entry is one request. It holds no part of its content.
type Entry struct {
	Seq       uint64
	Time      time.Time // when the work was done
	Service   string
	Operation string
	Resource  string // the table or queue; of a transaction or batch the first one
	Caller    string // X-Landfall-Caller, or the application id of the SDK (app/... in its user agent)
	Costs     []Cost
	Billed    int    // requests that it is billed as, of services that bill by request (SQS: one for each 64 KB)
	Error     string // type of the error that it was answered with; empty if none
	Faulty    bool   // a fault was asked for
}

// Key is what sums are kept by.
type Key struct {
	Service, Operation, Resource, Caller, Error string
}

// Sum is what the requests of a Key came to.
type Sum struct {
	Requests   int
	Billed     int     // requests as billed, of services that bill by request
	Read       float64 // capacity units of tables
	Write      float64
	IndexRead  float64 // capacity units of indexes
	IndexWrite float64
}

// Units are all read and write units, of tables and indexes.
func (s Sum) Units() (read, write float64) { return s.Read + s.IndexRead, s.Write + s.IndexWrite }

func (s *Sum) add(t Sum) {
	s.Requests += t.Requests
	s.Billed += t.Billed
	s.Read += t.Read
	s.Write += t.Write
	s.IndexRead += t.IndexRead
	s.IndexWrite += t.IndexWrite
}

// Ledger is safe for concurrent use.
type Ledger struct {
	mu      sync.Mutex
	keep    int
	entries []Entry // a ring once it is full
	next    int
	sums    map[Key]Sum
}

// New makes a ledger that keeps the latest keep entries; none if keep is 0, all if it is negative.
func New(keep int) *Ledger { return &Ledger{keep: keep, sums: map[Key]Sum{}} }

// Record adds an entry.
func (l *Ledger) Record(e Entry) {
	one := Sum{Requests: 1, Billed: e.Billed}
	for _, c := range e.Costs {
		if c.Index == "" {
			one.Read += c.Read
			one.Write += c.Write
		} else {
			one.IndexRead += c.Read
			one.IndexWrite += c.Write
		}
	}
	key := Key{e.Service, e.Operation, e.Resource, e.Caller, e.Error}
	l.mu.Lock()
	defer l.mu.Unlock()
	sum := l.sums[key]
	sum.add(one)
	l.sums[key] = sum
	switch {
	case l.keep < 0 || len(l.entries) < l.keep:
		l.entries = append(l.entries, e)
	case l.keep > 0:
		l.entries[l.next] = e
		l.next = (l.next + 1) % l.keep
	}
}

// Entries are the entries that are kept, oldest first.
func (l *Ledger) Entries() []Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Concat(l.entries[l.next:], l.entries[:l.next])
}

// Sum adds up all requests, ever, whose key matches; a nil match takes all.
func (l *Ledger) Sum(match func(Key) bool) Sum {
	l.mu.Lock()
	defer l.mu.Unlock()
	var total Sum
	for k, s := range l.sums {
		if match == nil || match(k) {
			total.add(s)
		}
	}
	return total
}

// Keys are the keys that have a sum, in order.
func (l *Ledger) Keys() []Key {
	l.mu.Lock()
	defer l.mu.Unlock()
	keys := make([]Key, 0, len(l.sums))
	for k := range l.sums {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b Key) int {
		return cmp.Or(cmp.Compare(a.Service, b.Service), cmp.Compare(a.Operation, b.Operation),
			cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Caller, b.Caller), cmp.Compare(a.Error, b.Error))
	})
	return keys
}

// Reset forgets everything.
func (l *Ledger) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries, l.next, l.sums = nil, 0, map[Key]Sum{}
}
