package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/landfall-dev/landfall/internal/routing"
)

// Receipts keeps receipts in memory. The zero value is empty; it is safe for concurrent use.
type Receipts struct {
	mu       sync.Mutex
	receipts map[routing.ID]routing.Receipt
}

var _ routing.Receipts = (*Receipts)(nil)

// Get implements [routing.Receipts].
func (s *Receipts) Get(_ context.Context, id routing.ID) (routing.Receipt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.get(id), nil
}

// Write implements [routing.Receipts].
func (s *Receipts) Write(_ context.Context, m routing.Move) (routing.Receipt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	receipt, err := m.Apply(s.get(m.ID))
	if err != nil {
		return routing.Receipt{}, err
	}
	if s.receipts == nil {
		s.receipts = map[routing.ID]routing.Receipt{}
	}
	s.receipts[m.ID] = receipt
	return receipt, nil
}

func (s *Receipts) get(id routing.ID) routing.Receipt {
	receipt := s.receipts[id]
	receipt.ID = id
	return receipt
}

// All returns all receipts, by key.
func (s *Receipts) All() []routing.Receipt {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Values(s.receipts), func(a, b routing.Receipt) int {
		return cmp.Compare(a.ID.String(), b.ID.String())
	})
}

// Groups keeps groups in memory. The zero value is empty; it is safe for concurrent use.
type Groups struct {
	mu     sync.Mutex
	groups map[string]routing.Snapshot
}

var _ routing.Groups = (*Groups)(nil)

// Set makes a group what the snapshot says, from the next reading.
func (g *Groups) Set(s routing.Snapshot) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.groups == nil {
		g.groups = map[string]routing.Snapshot{}
	}
	g.groups[s.Name] = s
}

// Snapshot implements [routing.Groups].
func (g *Groups) Snapshot(_ context.Context, group string) (routing.Snapshot, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s, found := g.groups[group]
	if !found {
		return routing.Snapshot{}, routing.ErrNoGroup
	}
	return s, nil
}
