// Stream is the fast path: the table's stream tells it of rows that were just put, and it claims them, sends them and
// settles them before the sweep would.
package main

import "github.com/landfall-dev/landfall/functions/internal/setup"

func main() {
	setup.Start("stream", setup.Load, func(f *setup.Function) any { return (&handler{f}).handle })
}
