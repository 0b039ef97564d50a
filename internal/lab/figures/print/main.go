// Print writes the figures of the source tree that it runs in; see `make figures`.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/landfall-dev/landfall/internal/lab/figures"
)

func main() {
	every := flag.Bool("all", false, "list each embedded field and each dependency")
	flag.Parse()
	if err := run(*every); err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		os.Exit(1)
	}
}

func run(every bool) error {
	measured, err := figures.Measure(".")
	if err != nil {
		return err
	}
	dependencies, err := figures.Dependencies(".")
	if err != nil {
		return err
	}
	measured.Write(os.Stdout, dependencies, every)
	return nil
}
