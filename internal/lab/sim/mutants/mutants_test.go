package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMutantsFitTheCode keeps the mutants up to date: each replaces a text that its file contains exactly once.
func TestMutantsFitTheCode(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..", "..")
	for _, m := range allMutants() {
		source, err := os.ReadFile(filepath.Join(root, m.file))
		if err != nil {
			t.Errorf("%s: %v", m.name, err)
			continue
		}
		if n := strings.Count(string(source), m.from); n != 1 {
			t.Errorf("%s: %s contains the text %d times, want once: %s", m.name, m.file, n, m.from)
		}
		if m.from == m.to {
			t.Errorf("%s changes nothing", m.name)
		}
	}
}
