package setup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Share is which part of all lanes an invocation walks: part Part of Of; Of 0 means all.
type Share struct{ Part, Of int }

// ErrEvent is an event that no schedule of Landfall's sends.
var ErrEvent = errors.New(`the event is neither a schedule's ("detail-type": "Scheduled Event") nor {"part": P, "of": N} with 0 <= P < N: ` +
	"is the function connected to something else?")

// ParseShare reads the event of a schedule: EventBridge's own, or the constant input of a target that
// says which part it is. Anything else is [ErrEvent]: a function that took whatever comes would hide a
// wrong connection for ever.
func ParseShare(event []byte) (Share, error) {
	var own struct {
		DetailType *string `json:"detail-type"`
		Source     *string `json:"source"`
	}
	if json.Unmarshal(event, &own) == nil && own.DetailType != nil && own.Source != nil {
		if *own.DetailType == "Scheduled Event" && *own.Source == "aws.events" {
			return Share{}, nil
		}
		return Share{}, ErrEvent
	}
	var share struct{ Part, Of *int }
	strict := json.NewDecoder(bytes.NewReader(event))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&share); err != nil || strict.More() || share.Part == nil || share.Of == nil {
		return Share{}, ErrEvent
	}
	if *share.Part < 0 || *share.Part >= *share.Of {
		return Share{}, fmt.Errorf("part %d of %d: %w", *share.Part, *share.Of, ErrEvent)
	}
	return Share{*share.Part, *share.Of}, nil
}
