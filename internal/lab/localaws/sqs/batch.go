package sqs

import (
	"regexp"

	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
	"github.com/landfall-dev/landfall/internal/lab/localaws/wire"
)

// maxBatch is how many entries a batch has at most.
const maxBatch = 10

var entryID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`)

// checkBatch demands entries, not too many, each with an id of its own. kind is the type of an entry on the wire.
func checkBatch(kind string, ids []*string) error {
	if len(ids) == 0 {
		return failure("EmptyBatchRequest", "There should be at least one %s in the request.", kind)
	}
	if len(ids) > maxBatch {
		return failure("TooManyEntriesInBatchRequest", "Maximum number of entries per request are %d. You have sent %d.", maxBatch, len(ids))
	}
	seen := map[string]bool{}
	for _, id := range ids {
		switch {
		case id == nil:
			return missing(kind + ".Id")
		case !entryID.MatchString(*id):
			return failure("InvalidBatchEntryId", "A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 letters long.")
		case seen[*id]:
			return failure("BatchEntryIdsNotDistinct", "Id %s repeated.", *id)
		}
		seen[*id] = true
	}
	return nil
}

// batchAnswer is what became of the entries of a batch.
type batchAnswer struct {
	Successful []any        `json:",omitempty"`
	Failed     []batchError `json:",omitempty"`
}

// runBatch does the entries of a batch, each by itself, but for the last ones, if the fault says so.
func runBatch[E any](entries []E, id func(E) *string, f faults.Fault, do func(E) (any, error)) wire.Outcome {
	var answer batchAnswer
	for i, e := range entries {
		if i >= len(entries)-f.Unprocessed {
			answer.Failed = append(answer.Failed, batchError{*id(e), "InternalError", "The entry could not be processed. Repeat it later", false})
			continue
		}
		done, err := do(e)
		if err != nil {
			answer.Failed = append(answer.Failed, entryFailed(*id(e), err))
			continue
		}
		answer.Successful = append(answer.Successful, done)
	}
	return wire.Outcome{Answer: answer}
}

func idsOf[E any](entries []E, id func(E) *string) []*string {
	ids := make([]*string, len(entries))
	for i, e := range entries {
		ids[i] = id(e)
	}
	return ids
}
