// Package ledger records what each request to the local AWS did and cost. It keeps sums for ever and the entries of
// the latest requests, so its memory is bounded by the number of tables, operations and callers.
package ledger

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Cost is what a request consumed of one table, or of one index of it, in capacity units.
type Cost struct {
	Table string  `json:"table"`
	Index string  `json:"index,omitempty"` // empty for the table itself
	Read  float64 `json:"read"`
	Write float64 `json:"write"`
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

// Key is what sums are kept by; its parts are those of an Entry.
type Key struct {
	Caller    string `json:"caller"`
	Service   string `json:"service"`
	Operation string `json:"operation"`
	Resource  string `json:"resource"`
	Error     string `json:"error,omitempty"`
}

// Line is what the requests of a Key came to, each table and index apart.
type Line struct {
	Key             // embedded: a line is its key and the sums, in JSON as in Go
	Requests int    `json:"requests"`
	Billed   int    `json:"billed,omitempty"` // requests as billed, of services that bill by request
	Units    []Cost `json:"units,omitempty"`
}

func (l *Line) add(e Entry) {
	l.Requests++
	l.Billed += e.Billed
	for _, c := range e.Costs {
		i := slices.IndexFunc(l.Units, func(u Cost) bool { return u.Table == c.Table && u.Index == c.Index })
		if i < 0 {
			l.Units = append(l.Units, c)
			continue
		}
		l.Units[i].Read += c.Read
		l.Units[i].Write += c.Write
	}
}

// Sum is what the requests of some lines came to.
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

func (s *Sum) add(l *Line) {
	s.Requests += l.Requests
	s.Billed += l.Billed
	for _, u := range l.Units {
		if u.Index == "" {
			s.Read += u.Read
			s.Write += u.Write
		} else {
			s.IndexRead += u.Read
			s.IndexWrite += u.Write
		}
	}
}

// Ledger is safe for concurrent use.
type Ledger struct {
	mu      sync.Mutex
	keep    int
	entries []Entry // a ring once it is full
	next    int
	lines   map[Key]*Line
}

// New makes a ledger that keeps the latest keep entries; none if keep is 0, all if it is negative.
func New(keep int) *Ledger { return &Ledger{keep: keep, lines: map[Key]*Line{}} }

// Record adds an entry.
func (l *Ledger) Record(e Entry) {
	key := Key{e.Caller, e.Service, e.Operation, e.Resource, e.Error}
	l.mu.Lock()
	defer l.mu.Unlock()
	line := l.lines[key]
	if line == nil {
		line = &Line{Key: key}
		l.lines[key] = line
	}
	line.add(e)
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
	for k, line := range l.lines {
		if match == nil || match(k) {
			total.add(line)
		}
	}
	return total
}

// Lines are the sums of all requests, ever, in order.
func (l *Ledger) Lines() []Line {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := make([]Line, 0, len(l.lines))
	for _, line := range l.lines {
		one := *line
		one.Units = slices.Clone(line.Units)
		slices.SortFunc(one.Units, func(a, b Cost) int {
			return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(a.Index, b.Index))
		})
		lines = append(lines, one)
	}
	slices.SortFunc(lines, func(a, b Line) int {
		return cmp.Or(cmp.Compare(a.Caller, b.Caller), cmp.Compare(a.Service, b.Service),
			cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Error, b.Error))
	})
	return lines
}

// ServeHTTP answers GET with the lines, as a JSON list of one object to the line; DELETE forgets everything.
func (l *Ledger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet:
		lines := l.Lines()
		texts := make([][]byte, len(lines))
		for i := range lines {
			texts[i], _ = json.Marshal(lines[i]) // texts and finite numbers
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(slices.Concat([]byte("["), bytes.Join(texts, []byte(",\n ")), []byte("]\n"))) // the caller may be gone
	case http.MethodDelete:
		l.Reset()
		w.WriteHeader(http.StatusNoContent)
	default:
		http.Error(w, "GET reads the ledger, DELETE forgets what is in it", http.StatusMethodNotAllowed)
	}
}

// Reset forgets everything.
func (l *Ledger) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries, l.next, l.lines = nil, 0, map[Key]*Line{}
}
