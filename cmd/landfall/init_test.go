package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestInitWritesAValidConfigurationAndOverwritesNothing(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "new")
	if r := execute(t, "", "init", folder); r.code != exitOK || strings.Count(r.stdout, " written") != 3 {
		t.Fatalf("%+v", r)
	}
	path := filepath.Join(folder, "landfall.yaml")
	if r := execute(t, "", "validate", path); r.code != exitOK || r.stderr != "" {
		t.Errorf("what init wrote: %+v", r)
	}
	const mine = "destinations: {}\n"
	if err := os.WriteFile(path, []byte(mine), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := execute(t, "", "init", folder); r.code != exitOK || strings.Count(r.stdout, "left unchanged") != 3 {
		t.Errorf("again: %+v", r)
	}
	if now, err := os.ReadFile(path); err != nil || string(now) != mine {
		t.Errorf("the file that was there is now %q, %v", now, err)
	}
}

func TestComposeFilesAreTheSame(t *testing.T) {
	t.Parallel()
	written, err := starter.ReadFile("starter/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if own, err := os.ReadFile("../../compose.yaml"); err != nil || string(own) != string(written) {
		t.Errorf("compose.yaml differs from starter/compose.yaml (%v)", err)
	}
	if !strings.Contains(string(written), `"127.0.0.1:4566:4566"`) {
		t.Error("LocalStack would listen to others than this machine")
	}
}
