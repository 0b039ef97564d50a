// Command mutants proves that the simulations notice faults. It breaks the protocol on purpose, one clause at a
// time, in a copy that only `go test -overlay` sees, and plays worlds until an invariant is violated. For what worlds
// hardly ever meet, a mutant names the package whose tests must fail instead.
//
//	go run ./internal/lab/sim/mutants                                # the tables in the *.go files here: each must be caught
//	go run ./internal/lab/sim/mutants -run window                    # those whose name matches
//	go run ./internal/lab/sim/mutants -every internal/outbox/*.go    # changes made by rule instead
//
// The last form changes every condition of the files and leaves out every assignment. It lists the changes
// that no world notices, for a person to judge: they may be harmless. The other forms exit with 1 if a mutant
// is not caught: no world noticed it, it does not compile, it ends in a panic or a hang instead of a violation,
// or the text that it replaces is gone.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"time"
)

func main() {
	seeds := flag.Int("seeds", 2000, "worlds to play for each mutant, at most")
	match := flag.String("run", "", "only mutants whose name matches this regular expression")
	every := flag.Bool("every", false, "make all changes to the files that follow instead of the table's")
	sdk := flag.Bool("sdk", false, "with -every: play through the SDK")
	flag.Parse()
	if err := run(*seeds, *match, *every, *sdk, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(seeds int, match string, every, sdk bool, files []string) error {
	pattern, err := regexp.Compile(match)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	shop, err := newWorkshop()
	if err != nil {
		return err
	}
	defer shop.close()
	if every {
		return tryEvery(shop, files, pattern, seeds, sdk)
	}
	return tryTable(shop, pattern, seeds)
}

func tryTable(shop workshop, pattern *regexp.Regexp, seeds int) error {
	begun, played, uncaught, worst := time.Now(), 0, 0, 0
	for _, m := range allMutants() {
		if !pattern.MatchString(m.name) {
			continue
		}
		v := shop.try(m, seeds)
		fmt.Printf("%-70s  %s\n", m.name, v)
		played++
		worst = max(worst, v.seeds)
		if !v.caught() {
			uncaught++
		}
	}
	fmt.Printf("%d mutants, %d not caught, at most %d seeds, %v\n", played, uncaught, worst, time.Since(begun).Round(time.Second))
	if uncaught > 0 {
		return errors.New("not all mutants were caught")
	}
	return nil
}

func tryEvery(shop workshop, files []string, pattern *regexp.Regexp, seeds int, sdk bool) error {
	var all []changed
	n := 1
	for _, file := range files {
		c, err := changeAll(file, n)
		if err != nil {
			return err
		}
		all, n = append(all, c), n+len(c.changes)
	}
	binary, err := shop.buildAll(all)
	if err != nil {
		return err
	}
	begun, number, played, uncaught := time.Now(), 0, 0, 0
	for _, c := range all {
		for _, change := range c.changes {
			number++
			name := fmt.Sprintf("%s: %s => %s", change.place, change.from, change.to)
			if !pattern.MatchString(name) {
				continue
			}
			played++
			if v := shop.play(simulation(c.file), binary, seeds, sdk, fmt.Sprint("MUTANT=", number)); !v.caught() {
				uncaught++
				fmt.Printf("%s  %s\n", name, v)
			}
		}
	}
	fmt.Printf("%d changes, %d not caught, %v\n", played, uncaught, time.Since(begun).Round(time.Second))
	return nil
}
