// Package memory keeps rows and receipts in memory, for the domains' tests and the simulation. It is the meaning
// of a store in its shortest form. It is not for production: nothing survives the process.
package memory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"sync"
	"time"

	"github.com/landfall-dev/landfall/internal/outbox"
)

// PageSize is how many entries List returns at once. It is small, so that tests meet page ends.
const PageSize = 10

// Store keeps rows in memory. The zero value is an empty store; it is safe for concurrent use.
type Store struct {
	mu   sync.Mutex
	rows map[outbox.ID]outbox.Row
}

// Put inserts a pending row. The same put again succeeds; other content is [outbox.ErrExists].
func (s *Store) Put(_ context.Context, row outbox.Row) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stored, exists := s.rows[row.ID]; exists {
		if row.Repeats(stored) {
			return nil
		}
		return outbox.ErrExists
	}
	s.set(row)
	return nil
}

// List implements [outbox.Store].
func (s *Store) List(_ context.Context, lane outbox.Lane, before time.Time, after string) ([]outbox.Entry, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []outbox.Entry
	for _, row := range s.rows {
		if row.Lane == lane && !row.LaneAt.After(before) {
			all = append(all, outbox.Entry{ID: row.ID, LaneAt: row.LaneAt})
		}
	}
	place := func(e outbox.Entry) string { return fmt.Sprintf("%020d %s", e.LaneAt.UnixMilli(), e.PK()) }
	slices.SortFunc(all, func(a, b outbox.Entry) int {
		return cmp.Or(a.LaneAt.Compare(b.LaneAt), cmp.Compare(a.PK(), b.PK()))
	})
	if after != "" {
		all = slices.DeleteFunc(all, func(e outbox.Entry) bool { return place(e) <= after })
	}
	if len(all) > PageSize {
		return all[:PageSize], place(all[PageSize-1]), nil
	}
	return all, "", nil
}

// Claim implements [outbox.Store].
func (s *Store) Claim(_ context.Context, c outbox.Claim) (outbox.Row, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	row, err := c.Apply(s.rows[c.ID])
	if err != nil {
		return outbox.Row{}, err
	}
	s.set(row)
	return row, nil
}

// Settle implements [outbox.Store].
func (s *Store) Settle(_ context.Context, settlement outbox.Settlement) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	row, err := settlement.Apply(s.rows[settlement.ID])
	if err != nil {
		return err
	}
	s.set(row)
	return nil
}

// Get implements [outbox.Store].
func (s *Store) Get(_ context.Context, id outbox.ID) (outbox.Row, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	row, exists := s.rows[id]
	if !exists {
		return outbox.Row{}, outbox.ErrNotFound
	}
	return row, nil
}

// Rows returns all rows, by primary key.
func (s *Store) Rows() []outbox.Row {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Values(s.rows), func(a, b outbox.Row) int { return cmp.Compare(a.PK(), b.PK()) })
}

func (s *Store) set(row outbox.Row) {
	if s.rows == nil {
		s.rows = map[outbox.ID]outbox.Row{}
	}
	s.rows[row.ID] = row
}
