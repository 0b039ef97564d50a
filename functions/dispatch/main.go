// Dispatch is the sweep: a schedule starts it, it claims what is due, sends it, settles it, and ends.
package main

import "github.com/landfall-dev/landfall/functions/internal/setup"

func main() {
	setup.Start("dispatch", setup.Load, func(f *setup.Function) any { return (&handler{f}).handle })
}
