package devstack

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
)

// What is wrong with an answer that fails a whole batch.
var (
	errNoReport   = errors.New("the function's answer is not a JSON object with a list batchItemFailures")
	errNoItem     = errors.New("the function's answer names a failure whose itemIdentifier is not a non-empty string")
	errNotInBatch = errors.New("the function's answer names an itemIdentifier that is not in the batch")
)

// itemFailures reads which records a function reports as failed
// (https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html#services-sqs-batchfailurereporting).
// None are if the answer, or its batchItemFailures, is empty, null or not there. Anything else that is
// not a report is an error: then the whole batch has failed. Names are case-sensitive.
func itemFailures(answer []byte, records []record) (map[string]bool, error) {
	switch string(bytes.TrimSpace(answer)) {
	case "", "null", `""`, "[]":
		return nil, nil
	}
	var report map[string]json.RawMessage // a struct's fields would match in any case
	if err := json.Unmarshal(answer, &report); err != nil {
		return nil, errNoReport
	}
	var items []map[string]json.RawMessage
	if list := report["batchItemFailures"]; list != nil {
		if err := json.Unmarshal(list, &items); err != nil {
			return nil, errNoReport
		}
	}
	failed := make(map[string]bool)
	for _, item := range items {
		var id string
		if err := json.Unmarshal(item["itemIdentifier"], &id); err != nil || id == "" {
			return nil, errNoItem
		}
		if !slices.ContainsFunc(records, func(r record) bool { return r.id == id }) {
			return nil, errNotInBatch
		}
		failed[id] = true
	}
	return failed, nil
}
