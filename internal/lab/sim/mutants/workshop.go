package main

import (
	"cmp"
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
	// sdk: only worlds that are played through the SDK meet what it breaks.
	sdk bool
	// tests is the package whose tests notice it, where worlds hardly ever do; "" if worlds do.
	tests string
}

// verdict is what became of a mutant.
type verdict struct {
	// invariant is the name of the one that was violated first, after so many seeds; "" if none was.
	invariant string
	seeds     int
	// trouble is why the mutant could not be played, or how it ended instead.
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
	source, err := os.ReadFile(filepath.Join(w.root, m.file))
	if err != nil {
		return verdict{trouble: err.Error()}
	}
	if n := strings.Count(string(source), m.from); n != 1 {
		return verdict{trouble: fmt.Sprintf("its file contains the text that it replaces %d times, want once", n)}
	}
	broken := map[string][]byte{m.file: []byte(strings.Replace(string(source), m.from, m.to, 1))}
	binary, err := w.build(cmp.Or(m.tests, simulation(m.file)), broken)
	switch {
	case err != nil:
		return verdict{trouble: err.Error()}
	case m.tests != "":
		return w.test(m.tests, binary)
	}
	return w.play(simulation(m.file), binary, seeds, m.sdk)
}

// test runs a package's tests until one fails.
func (w workshop) test(pkg, binary string) verdict {
	tests := exec.Command(binary, "-test.failfast", "-test.timeout=10m")
	tests.Dir = filepath.Join(w.root, pkg)
	out, err := tests.CombinedOutput()
	failed := failure.FindSubmatch(out)
	switch {
	case failed != nil:
		return verdict{invariant: string(failed[1])}
	case err != nil:
		return verdict{trouble: "it ends otherwise: " + firstLines(out)}
	}
	return verdict{}
}

// simulation is the package that plays what a file is about.
func simulation(file string) string {
	if strings.HasPrefix(filepath.ToSlash(file), "internal/routing") {
		return "internal/lab/sim/routingsim"
	}
	return "internal/lab/sim"
}

// buildAll builds one binary with all changes, which are of one package.
func (w workshop) buildAll(all []changed) (string, error) {
	files := map[string][]byte{}
	for _, c := range all {
		files[c.file] = c.source
		dir := filepath.Dir(c.file)
		files[filepath.Join(dir, "mutant_switches.go")] = fmt.Appendf(nil, switches, filepath.Base(dir))
	}
	return w.build(simulation(all[0].file), files)
}

// build builds a package's tests with some files replaced or added.
func (w workshop) build(pkg string, files map[string][]byte) (string, error) {
	replace := map[string]string{}
	for file, source := range files {
		copied := filepath.Join(w.dir, fmt.Sprint(len(replace), ".go"))
		if err := os.WriteFile(copied, source, 0o600); err != nil {
			return "", fmt.Errorf("write a mutant: %w", err)
		}
		replace[filepath.Join(w.root, file)] = copied
	}
	overlay, binary := filepath.Join(w.dir, "overlay.json"), filepath.Join(w.dir, "sim.test")
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err := errors.Join(err, os.WriteFile(overlay, text, 0o600)); err != nil {
		return "", fmt.Errorf("write an overlay: %w", err)
	}
	build := exec.Command("go", "test", "-overlay", overlay, "-c", "-o", binary, "./"+pkg)
	build.Dir = w.root
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("it does not compile: %s", firstLines(out))
	}
	return binary, nil
}

// play plays worlds until a violation.
func (w workshop) play(simulation, binary string, seeds int, sdk bool, env ...string) verdict {
	const patience = 10 * time.Minute
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	play := exec.CommandContext(ctx, binary, "-test.run=^TestWorlds$", "-test.v", "-test.timeout=0",
		"-seed=1", "-seeds="+strconv.Itoa(seeds), "-sdk="+strconv.FormatBool(sdk))
	play.Dir, play.Env = filepath.Join(w.root, simulation), append(os.Environ(), env...)
	heard := &listener{stop: stop}
	play.Stdout, play.Stderr = heard, heard
	failed := play.Run()
	switch {
	case heard.verdict.invariant != "":
		return heard.verdict
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return verdict{trouble: "it hangs"}
	case failed != nil:
		return verdict{trouble: "it ends otherwise: " + firstLines(heard.out)}
	}
	return verdict{}
}

// listener reads the output of a test that plays worlds from seed 1 on, and stops it at the first violation: what
// follows proves nothing.
type listener struct {
	verdict verdict
	out     []byte
	stop    func()
}

var failure = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)

var violation = regexp.MustCompile(`seed (\d+): ([A-Za-z_0-9]+): `)

func (l *listener) Write(b []byte) (int, error) {
	l.out = append(l.out, b...)
	if found := violation.FindSubmatch(l.out); found != nil && l.verdict.invariant == "" {
		l.verdict.seeds, _ = strconv.Atoi(string(found[1]))
		l.verdict.invariant = string(found[2])
		l.stop()
	}
	return len(b), nil
}

func firstLines(out []byte) string {
	const some = 4
	lines := strings.SplitN(strings.TrimSpace(string(out)), "\n", some+1)
	return strings.Join(lines[:min(len(lines), some)], " | ")
}
