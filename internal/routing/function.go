package routing

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"
)

// Function picks the consumer of a message. It is pure: the same question has the same answer.
type Function interface {
	// Hash is the SHA-256 of what the function is, in hex.
	Hash() string
	// Select returns the id of one of the candidates, of which there is at least one. "" and
	// [ErrNoConsumerAvailable] say that none will do now. Any other error is a failure: an
	// [*EvaluationError] if the function knows of which kind.
	Select(ctx context.Context, q Question) (string, error)
}

// Question is what a routing function is asked. It must not change it.
type Question struct {
	Message Message
	// Attempt counts the consumers that the message was or will be given to, from 1.
	Attempt int
	// Candidates are the consumers that may be picked, ordered by id.
	Candidates []Consumer
}

// EvaluationTimeout is how long a routing function may take.
const EvaluationTimeout = 5 * time.Second

// ErrNoConsumerAvailable: there is no consumer to pick now. All live members were tried, or all are full.
var ErrNoConsumerAvailable = errors.New("no consumer available")

// UnknownConsumerSelectedError: the routing function named a consumer that is not a candidate.
type UnknownConsumerSelectedError struct {
	// ID is what it named. It may have been made of the message's content.
	ID string
	// Member says that it is a consumer of the group, though no candidate.
	Member bool
}

// Error names the consumer if it is one; anything else may be content of the message and is named by its hash.
func (e *UnknownConsumerSelectedError) Error() string {
	if e.Member {
		return fmt.Sprintf("unknown consumer selected: %q is not a candidate", e.ID)
	}
	sum := sha256.Sum256([]byte(e.ID))
	return "unknown consumer selected: an id with SHA-256 " + hex.EncodeToString(sum[:8]) + " is not in the group"
}

// EvaluationFailure is how a routing function failed.
type EvaluationFailure string

// The kinds of failure.
const (
	Crashed    EvaluationFailure = "crashed"
	TimedOut   EvaluationFailure = "timed out"
	NotStarted EvaluationFailure = "not started"
)

// EvaluationError: the routing function failed.
type EvaluationError struct {
	Failure EvaluationFailure
	// Function is the function's hash.
	Function string
	// Cause may quote the message, so that Error does not contain it. The command line shows it.
	Cause error
}

func (e *EvaluationError) Error() string {
	return fmt.Sprintf("routing function %.16s %s", e.Function, e.Failure)
}

func (e *EvaluationError) Unwrap() error { return e.Cause }

// ForwardError is a forward that was not taken, or may not have been.
type ForwardError struct {
	Consumer string
	Text     string
}

func (e *ForwardError) Error() string { return "forward to " + e.Consumer + ": " + e.Text }
