// Package demo is `landfall demo`: Landfall's main job on real payloads, against a remote that misbehaves
// by a seeded plan, while function processes are killed in mid-send. It ends in a verdict: what the
// remote's own log says happened, held against what the rows say.
//
// It is a demonstration and a test of the assembled product. The exhaustive search for breakages is the
// simulator's, in internal/lab/sim.
package demo
