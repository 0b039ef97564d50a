package routing

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/landfall-dev/landfall/internal/bounded"
)

// Exclusion says why a member is not a candidate.
type Exclusion string

// The exclusions.
const (
	ExcludedLeaseOver    Exclusion = "its lease is over"
	ExcludedDraining     Exclusion = "draining"
	ExcludedTried        Exclusion = "tried"
	ExcludedLapsedLately Exclusion = "let a message lapse lately, and others are left"
)

// Excluded is a member that is not a candidate.
type Excluded struct {
	Consumer string
	Why      Exclusion
}

// Choice is what a consumer is chosen for, and what is known beside the snapshot.
type Choice struct {
	Message Message
	// Receipt is the message's; its State is "" if it has none.
	Receipt Receipt
	// LapsedLately reports whether a consumer let a message lapse lately. Optional.
	LapsedLately func(consumer string) bool
	// Given counts the messages that consumers were given since the snapshot. Optional.
	Given map[string]int64
	Now   time.Time
}

// Decision is what came of a choice, in full.
type Decision struct {
	Question Question
	Excluded []Excluded
	// Function is the hash of the function that was asked, "" if none was.
	Function string
	// Consumer is the one that was picked, "" if Err is not nil.
	Consumer string
	Err      error
}

// Candidates are the live members minus those tried, and minus those behind whose target is one that was tried,
// ordered by id, before any function sees them. One that lapsed lately is left out while others are there. Either
// argument may be nil.
func (s Snapshot) Candidates(tried []string, lapsedLately func(id string) bool, now time.Time) ([]Consumer, []Excluded) {
	var candidates, lapsed []Consumer
	var excluded []Excluded
	for _, c := range s.consumers {
		switch membership := c.membership(now); {
		case slices.Contains(tried, c.ID) || s.hasTarget(tried, c.Target):
			excluded = append(excluded, Excluded{c.ID, ExcludedTried})
		case membership == NoMember:
			excluded = append(excluded, Excluded{c.ID, ExcludedLeaseOver})
		case membership == DrainingMember:
			excluded = append(excluded, Excluded{c.ID, ExcludedDraining})
		case lapsedLately != nil && lapsedLately(c.ID):
			lapsed = append(lapsed, c)
		default:
			candidates = append(candidates, c)
		}
	}
	if len(candidates) == 0 {
		return lapsed, excluded
	}
	for _, c := range lapsed {
		excluded = append(excluded, Excluded{c.ID, ExcludedLapsedLately})
	}
	return candidates, excluded
}

// hasTarget reports whether one of these members has a target.
func (s Snapshot) hasTarget(ids []string, target string) bool {
	return target != "" && slices.ContainsFunc(s.consumers, func(c Consumer) bool {
		return slices.Contains(ids, c.ID) && SameTarget(c.Target, target)
	})
}

// Choose finds the candidates and asks the snapshot's function. Whatever the function does, Choose picks only a candidate
// and returns within EvaluationTimeout and a second.
func (s Snapshot) Choose(ctx context.Context, c Choice) Decision {
	candidates, excluded := s.Candidates(c.Receipt.passed(), c.LapsedLately, c.Now)
	for i := range candidates {
		candidates[i].ConsumerState = candidates[i].plus(c.Given[candidates[i].ID])
	}
	d := Decision{
		Question: Question{Message: c.Message, Attempt: c.Receipt.Attempt + 1, Candidates: candidates}, Excluded: excluded,
	}
	if len(candidates) == 0 {
		d.Err = ErrNoConsumerAvailable
		return d
	}
	if s.Function == nil {
		d.Err = &EvaluationError{Failure: NotStarted, Cause: errors.New("the group has no routing function")}
		return d
	}
	d.Function = s.Function.Hash()
	id, err := s.evaluate(ctx, d.Question)
	switch {
	case err != nil:
		d.Err = err
	case id == "":
		d.Err = ErrNoConsumerAvailable
	case !slices.ContainsFunc(candidates, func(c Consumer) bool { return c.ID == id }):
		_, member := s.Consumer(id)
		d.Err = &UnknownConsumerSelectedError{ID: id, Member: member}
	default:
		d.Consumer = id
	}
	return d
}

// evaluate calls the function and says how it failed, if it did.
func (s Snapshot) evaluate(ctx context.Context, q Question) (string, error) {
	hash := s.Function.Hash()
	if err := ctx.Err(); err != nil {
		return "", &EvaluationError{Failure: NotStarted, Function: hash, Cause: err}
	}
	type answer struct {
		id  string
		err error
	}
	given := Question{Message: q.Message, Attempt: q.Attempt, Candidates: slices.Clone(q.Candidates)}
	got, panicked := bounded.Call(ctx, time.Now().Add(EvaluationTimeout),
		answer{err: &EvaluationError{Failure: TimedOut, Function: hash}},
		func(ctx context.Context) answer {
			id, err := s.Function.Select(ctx, given)
			return answer{id, err}
		})
	if panicked != nil {
		return "", &EvaluationError{Failure: Crashed, Function: hash}
	}
	var evaluation *EvaluationError
	switch {
	case got.err == nil || errors.Is(got.err, ErrNoConsumerAvailable):
		return got.id, got.err
	case errors.As(got.err, &evaluation):
		return "", &EvaluationError{Failure: evaluation.Failure, Function: hash, Cause: evaluation.Cause}
	case errors.Is(got.err, context.DeadlineExceeded) || errors.Is(got.err, context.Canceled):
		return "", &EvaluationError{Failure: TimedOut, Function: hash, Cause: got.err}
	}
	return "", &EvaluationError{Failure: Crashed, Function: hash, Cause: got.err}
}
