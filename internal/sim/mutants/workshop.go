package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// mutant is one deliberate breakage: in file, the one place that says from says to.
type mutant struct {
	name, file, from, to string
	// at is the offset of from where it is not the only such place; 0 otherwise.
	at int
}

// verdict is what became of a mutant.
type verdict struct {
	// invariant is the name of the one that was violated first, after so many seeds; "" if none was.
	invariant string
	seeds     int
	// trouble is why the mutant was no mutant, or how it ended instead.
	trouble string
}

func (v verdict) caught() bool { return v.invariant != "" }

func (v verdict) String() string {
	switch {
	case v.caught():
		return fmt.Sprintf("caught by %s, %d seeds", v.invariant, v.seeds)
	case v.trouble != "":
		return "NOT CAUGHT: " + v.trouble
	}
	return "NOT CAUGHT"
}

// workshop is where mutants are built and tried.
type workshop struct {
	root, dir string
}

func newWorkshop() (workshop, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return workshop{}, fmt.Errorf("find the module: %w", err)
	}
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return workshop{}, fmt.Errorf("make a place for mutants: %w", err)
	}
	return workshop{root: strings.TrimSpace(string(out)), dir: dir}, nil
}

func (w workshop) close() { _ = os.RemoveAll(w.dir) }

// try builds a mutant and plays worlds with it.
func (w workshop) try(m mutant, seeds int) verdict {
	overlay, err := w.overlay(m)
	if err != nil {
		return verdict{trouble: err.Error()}
	}
	binary := filepath.Join(w.dir, "sim.test")
	build := exec.Command("go", "test", "-overlay", overlay, "-c", "-vet=off", "-o", binary, "./internal/sim")
	build.Dir = w.root
	if out, err := build.CombinedOutput(); err != nil {
		return verdict{trouble: "it does not compile: " + firstLines(out)}
	}
	const patience = 5 * time.Minute
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	play := exec.CommandContext(ctx, binary, "-test.run=^TestWorlds$", "-test.timeout=0", "-seed=1", "-seeds="+strconv.Itoa(seeds))
	play.Dir = filepath.Join(w.root, "internal", "sim")
	out, err := play.CombinedOutput()
	return judge(out, err, ctx.Err())
}

var violation = regexp.MustCompile(`seed (\d+): ([A-Za-z_0-9]+): `)

// judge reads the output of a test that played worlds from seed 1 on.
func judge(out []byte, failed, timeout error) verdict {
	if found := violation.FindSubmatch(out); found != nil {
		n, _ := strconv.Atoi(string(found[1]))
		return verdict{invariant: string(found[2]), seeds: n}
	}
	switch {
	case timeout != nil:
		return verdict{trouble: "it hangs"}
	case failed != nil:
		return verdict{trouble: "it ends otherwise: " + firstLines(out)}
	}
	return verdict{}
}

// overlay writes the file as the mutant has it.
func (w workshop) overlay(m mutant) (string, error) {
	path := filepath.Join(w.root, m.file)
	source, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read it: %w", err)
	}
	text, at := string(source), m.at
	if at == 0 {
		if n := strings.Count(text, m.from); n != 1 {
			return "", fmt.Errorf("the text that it replaces is there %d times, want once", n)
		}
		at = strings.Index(text, m.from)
	}
	mutated, overlay := filepath.Join(w.dir, "mutated.go"), filepath.Join(w.dir, "overlay.json")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {path: mutated}})
	return overlay, errors.Join(err,
		os.WriteFile(mutated, []byte(text[:at]+m.to+text[at+len(m.from):]), 0o600),
		os.WriteFile(overlay, replace, 0o600))
}

func firstLines(out []byte) string {
	const some = 3
	lines := strings.SplitN(strings.TrimSpace(string(out)), "\n", some+1)
	return strings.Join(lines[:min(len(lines), some)], " | ")
}
