package routefn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/landfall-dev/landfall/internal/routing"
)

// Invoker calls a Lambda function synchronously. It calls at most once.
type Invoker interface {
	// Invoke returns what the function answered; functionError is not "" if it failed. An error says that
	// it was not started, as far as is known, or, with ctx over, that it did not answer in time.
	Invoke(ctx context.Context, function string, payload []byte) (answer []byte, functionError string, err error)
}

// MaxAnswerBytes bounds what a Lambda function may answer.
const MaxAnswerBytes = 4 << 10

// lambda asks a Lambda function. The router gives it [routing.EvaluationTimeout].
type lambda struct {
	hash   string
	name   string
	invoke Invoker
}

func (l *lambda) Hash() string { return l.hash }

// Select sends {"message": {"id", "fields", "attributes"}, "attempt", "consumers": [...]} and expects
// {"consumer": "<id>"}, with null or "" to pick no consumer.
func (l *lambda) Select(ctx context.Context, q routing.Question) (string, error) {
	payload, err := json.Marshal(asked(q))
	if err != nil {
		return "", l.failed(routing.NotStarted, err)
	}
	answer, functionError, err := l.invoke.Invoke(ctx, l.name, payload)
	switch {
	case err != nil && (ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded)):
		return "", l.failed(routing.TimedOut, err)
	case err != nil:
		return "", l.failed(routing.NotStarted, err)
	case functionError != "":
		return "", l.failed(routing.Crashed, fmt.Errorf("function error %s", functionError))
	case len(answer) > MaxAnswerBytes:
		return "", l.failed(routing.Crashed, fmt.Errorf("it answered %d bytes, want at most %d", len(answer), MaxAnswerBytes))
	}
	var said map[string]any
	if err := json.Unmarshal(answer, &said); err != nil {
		return "", l.failed(routing.Crashed, errors.New(`its answer is not {"consumer": "<id>"}`))
	}
	switch consumer, there := said["consumer"]; id := consumer.(type) {
	case string:
		return id, nil
	case nil:
		if there {
			return "", nil
		}
	}
	return "", l.failed(routing.Crashed, errors.New(`"consumer" in its answer is missing or not a string`))
}

func (l *lambda) failed(how routing.EvaluationFailure, cause error) error {
	return &routing.EvaluationError{Failure: how, Function: l.hash, Cause: cause}
}

// question is what a Lambda function is asked. Its names are public.
type question struct {
	Message   messageText `json:"message"`
	Attempt   int         `json:"attempt"`
	Consumers []Candidate `json:"consumers"`
}

type messageText struct {
	ID         string            `json:"id"`
	Fields     map[string]any    `json:"fields"`
	Attributes map[string]string `json:"attributes"`
}

// Candidate is a consumer in the words that a function is asked with. MaxInFlight and AvailableCapacity are null where
// there is no limit.
type Candidate struct {
	ID                string   `json:"id"`
	CurrentInFlight   int64    `json:"current_in_flight"`
	MaxInFlight       *int64   `json:"max_in_flight"`
	AvailableCapacity *int64   `json:"available_capacity"`
	HasCapacity       bool     `json:"has_capacity"`
	BufferDepth       int64    `json:"buffer_depth"`
	Tags              []string `json:"tags"`
	Weight            int      `json:"weight"`
}

func asked(q routing.Question) question {
	text := question{
		Attempt: q.Attempt,
		Message: messageText{ID: q.Message.ID, Fields: map[string]any{}, Attributes: q.Message.Attributes},
	}
	if text.Message.Attributes == nil {
		text.Message.Attributes = map[string]string{}
	}
	for _, f := range q.Message.Fields {
		text.Message.Fields[f.Name] = plain(f.Value)
	}
	for _, c := range q.Candidates {
		text.Consumers = append(text.Consumers, CandidateOf(c))
	}
	return text
}

// CandidateOf says what routing functions are told of a consumer.
func CandidateOf(c routing.Consumer) Candidate {
	told := Candidate{
		ID: c.ID, CurrentInFlight: c.CurrentInFlight, HasCapacity: c.HasCapacity(), BufferDepth: c.BufferDepth,
		Tags: append([]string{}, c.Tags...), Weight: max(1, c.Weight),
	}
	if c.MaxInFlight != routing.Unlimited {
		available := c.AvailableCapacity()
		told.MaxInFlight, told.AvailableCapacity = &c.MaxInFlight, &available
	}
	return told
}

// plain is a field's value in Go's own types; null is nil.
func plain(v routing.Value) any {
	switch v.Kind {
	case routing.TextValue:
		return v.Text
	case routing.IntValue:
		return v.Int
	case routing.FloatValue:
		return v.Float
	case routing.BoolValue:
		return v.Bool
	}
	return nil
}
