// Package stage is what a simulated world stands on: chance that a seed decides, moments that no two goroutines
// share, processes that crash and pause at any await, a network that loses, delays and repeats, and a trace.
// It knows nothing of what is simulated; package sim plays the outbox on it, package routingsim the router.
//
// All of it runs on the virtual clock of a testing/synctest bubble. The same seed makes the same world, event
// by event; see the rules at [Dice] and [Stage.Instant].
package stage
