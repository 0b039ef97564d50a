// Package observe turns the domain's reports into structured log lines and CloudWatch metrics, both as JSON on standard
// output. Neither costs a call.
//
// One [Observer] accompanies one invocation. It writes a wide log line for each lookup, and for each attempt and routed
// message that is not a plain success; of plain successes it logs a sample. It sums everything up per destination or group,
// and Flush writes the sums in CloudWatch's embedded metric format. docs/metrics.md lists the metrics.
//
// The package decides nothing. It knows neither payloads nor idempotency keys: a row appears under the name that
// [outbox.ID] gives it, a message under its id, which contains nothing of its content.
package observe
