// Package demo is `landfall demo`: Landfall's main job on real payloads, against a remote that misbehaves
// by a seeded plan, while function processes are killed in mid-send. It ends in a verdict: the rows compared
// with the remote's own log.
//
// It is a demonstration and a test of the assembled product. The exhaustive search for faults is the
// simulation's, in internal/lab/sim.
package demo
