package setup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Partition says which part of all lanes an invocation walks: part Part, from 0, of Of parts. If Of is 0, it walks all
// lanes.
type Partition struct{ Part, Of int }

// ErrEvent is an event that none of Landfall's schedules sends.
var ErrEvent = errors.New(`unknown event: want a schedule's ("detail-type": "Scheduled Event") or {"part": P, "of": N} with 0 <= P < N; ` +
	"check what invokes the function")

// ParsePartition reads the event of a schedule: EventBridge's own, or the constant input of a target that says which part
// it is. Any other event is [ErrEvent]: a function that accepted every event would hide a wrong connection for ever.
func ParsePartition(event []byte) (Partition, error) {
	var own struct {
		DetailType *string `json:"detail-type"`
		Source     *string `json:"source"`
	}
	if json.Unmarshal(event, &own) == nil && own.DetailType != nil && own.Source != nil {
		if *own.DetailType == "Scheduled Event" && *own.Source == "aws.events" {
			return Partition{}, nil
		}
		return Partition{}, ErrEvent
	}
	var input struct{ Part, Of *int }
	strict := json.NewDecoder(bytes.NewReader(event))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&input); err != nil || strict.More() || input.Part == nil || input.Of == nil {
		return Partition{}, ErrEvent
	}
	if *input.Part < 0 || *input.Part >= *input.Of {
		return Partition{}, fmt.Errorf("part %d of %d: %w", *input.Part, *input.Of, ErrEvent)
	}
	return Partition{*input.Part, *input.Of}, nil
}
