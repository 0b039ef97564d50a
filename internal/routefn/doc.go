// Package routefn implements the routing functions: built-in ones, CEL expressions, and Lambda functions. [Functions] makes
// a [routing.Function] of a [Spec], once in the life of a process.
//
// A function is named by its content, never changes, and is never random: the same question has the same answer. Package
// routing decides which consumers are candidates before it asks a function.
package routefn
