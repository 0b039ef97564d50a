// Reconcile asks what became of the rows whose outcome is not known: a schedule starts it, it asks the
// remotes about what is due, settles what they know, and ends.
package main

import "github.com/landfall-dev/landfall/functions/internal/setup"

func main() {
	setup.Start("reconcile", setup.Load, func(f *setup.Function) any { return (&handler{f}).handle })
}
