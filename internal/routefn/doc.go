// Package routefn has the routing functions: built-in ones, CEL expressions, and Lambda functions. A [Spec] says
// which, [Functions] makes it a [routing.Function], once for as long as the process lives.
//
// A function is named by its content, never changes, and is never random: the same question has the same
// answer. Who may be picked at all is not decided here but by package routing, before any function is asked.
package routefn
