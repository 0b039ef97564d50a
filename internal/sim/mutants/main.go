// Command mutants proves that the simulation notices: it breaks the protocol on purpose, one clause at a
// time, in a copy that only `go test -overlay` sees, and plays worlds until an invariant that has a name
// is violated.
//
//	go run ./internal/sim/mutants            # the table in table.go: each must be caught
//	go run ./internal/sim/mutants -run I4    # those whose name matches
//	go run ./internal/sim/mutants -every internal/outbox/claim.go
//
// The last form makes its own mutants of a file, of every condition and every assignment, and lists those
// that nothing notices, for people to judge: what they change may be of no consequence. It exits with 1
// if one of the table's mutants is not caught: because nothing noticed, because it does not compile or
// ends in a panic or a hang instead of a violation, or because the text that it replaces is gone.
package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"time"
)

func main() {
	seeds := flag.Int("seeds", 2000, "play at most so many worlds for each mutant")
	match := flag.String("run", "", "only mutants whose name matches this regular expression")
	every := flag.String("every", "", "make all mutants of this `file` instead of the table's")
	flag.Parse()
	if err := run(*seeds, *match, *every); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(seeds int, match, every string) error {
	pattern, err := regexp.Compile(match)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	mutants := table
	if every != "" {
		if mutants, err = mutantsOf(every); err != nil {
			return err
		}
	}
	shop, err := newWorkshop()
	if err != nil {
		return err
	}
	defer shop.close()
	begun, played, uncaught, worst := time.Now(), 0, 0, 0
	for _, m := range mutants {
		if !pattern.MatchString(m.name) {
			continue
		}
		v := shop.try(m, seeds)
		played++
		worst = max(worst, v.seeds)
		if !v.caught() {
			uncaught++
		}
		if every == "" || !v.caught() {
			fmt.Printf("%-66s  %s\n", m.name, v)
		}
	}
	fmt.Printf("%d mutants, %d not caught, at most %d seeds, %v\n", played, uncaught, worst, time.Since(begun).Round(time.Second))
	if uncaught > 0 && every == "" {
		return fmt.Errorf("%d mutants were not caught", uncaught)
	}
	return nil
}
