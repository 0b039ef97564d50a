package ddb

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/landfall-dev/landfall/internal/lab/localaws/attr"
)

func TestStoreAgreesWithASortedMap(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	var s store
	model := map[string]attr.Map{}
	for step := range 20000 {
		key := fmt.Sprintf("%04d", r.IntN(3000))
		item := attr.Map{"n": attr.NumberOf(step)}
		if r.IntN(10) < 4 || step > 15000 {
			item = nil
			delete(model, key)
		} else {
			model[key] = item
		}
		s.set(key, item)
		if probe := fmt.Sprintf("%04d", r.IntN(3000)); !attr.Equal(s.get(probe), model[probe]) {
			t.Fatalf("step %d: %s is %v, want %v", step, probe, s.get(probe), model[probe])
		}
		if step%500 == 0 {
			compare(t, &s, model, fmt.Sprintf("%04d", r.IntN(3000)))
		}
	}
}

// compare reads the store in both directions from a key.
func compare(t *testing.T, s *store, model map[string]attr.Map, from string) {
	t.Helper()
	var above, below, up, down []string
	for key := range model {
		if key >= from {
			above = append(above, key)
		} else {
			below = append(below, key)
		}
	}
	slices.Sort(above)
	slices.Sort(below)
	slices.Reverse(below)
	past := s.clone()
	for e := range past.between(from, "", false) {
		up = append(up, e.key)
	}
	for e := range s.between("", from, true) {
		down = append(down, e.key)
	}
	if !slices.Equal(up, above) || !slices.Equal(down, below) || len(s.entries) != len(model) {
		t.Fatalf("from %s: %d up, want %d; %d down, want %d; size %d, want %d", from, len(up), len(above), len(down), len(below), len(s.entries), len(model))
	}
	past.set(from, nil)
	if model[from] != nil && s.get(from) == nil {
		t.Fatal("a clone shares its entries")
	}
}
