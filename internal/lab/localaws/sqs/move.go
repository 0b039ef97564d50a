package sqs

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/localaws/faults"
	"github.com/landfall-dev/landfall/internal/lab/localaws/wire"
)

// maxMoveRate is the highest rate of a message move task, in messages a second, and the rate of those that name none.
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_StartMessageMoveTask.html
const maxMoveRate = 500

// move is a message move task: it puts dead letters back to where they came from, or elsewhere, as new messages. Its
// first message moves at once, the others at the task's rate.
type move struct {
	id      string
	source  string
	target  string // empty: where each message came from
	rate    int
	limited bool // the rate was asked for
	started time.Time
	total   int
	moved   int
	status  string
	failure string
}

// due is when the next message moves.
func (t *move) due() time.Time {
	return t.started.Add(time.Duration(t.moved) * time.Second / time.Duration(t.rate))
}

func (t *move) handle() string {
	text, _ := json.Marshal(map[string]string{"taskId": t.id, "sourceArn": t.source}) // plain text
	return base64.StdEncoding.EncodeToString(text)
}

// runMoves moves the messages whose time has come, each as of its own time.
func (s *Service) runMoves(now time.Time) {
	for {
		var first *move
		for _, t := range s.moves {
			if t.status == "RUNNING" && (first == nil || t.due().Before(first.due())) {
				first = t
			}
		}
		if first == nil || first.due().After(now) {
			return
		}
		s.step(first)
	}
}

// nextMove is when a message is moved, later if none is before.
func (s *Service) nextMove(later time.Time) time.Time {
	for _, t := range s.moves {
		if t.status == "RUNNING" && t.due().Before(later) {
			later = t.due()
		}
	}
	return later
}

// step moves one message, or ends the task.
func (s *Service) step(t *move) {
	now := t.due()
	from := s.byARN(t.source)
	if from == nil {
		t.status, t.failure = "FAILED", "AWS.SimpleQueueService.NonExistentQueue"
		return
	}
	from.advance(now)
	m := from.oldest()
	if m == nil || t.moved == t.total {
		t.status = "COMPLETED"
		return
	}
	arn := t.target
	if arn == "" {
		arn = m.source
	}
	to := s.byARN(arn)
	switch {
	case arn == "":
		t.status, t.failure = "FAILED", "CouldNotDetermineMessageSource"
		return
	case to == nil:
		t.status, t.failure = "FAILED", "AWS.SimpleQueueService.NonExistentQueue"
		return
	}
	from.remove(m)
	to.advance(now)
	s.put(to, m.content, now, now)
	if t.moved++; t.moved == t.total {
		t.status = "COMPLETED"
	}
}

// oldest is the visible message that is next to be received, nil if there is none.
func (q *queue) oldest() *message {
	if !q.set.fifo {
		return q.visible.first()
	}
	if first := q.groups.turns.Front(); first != nil {
		return first.Value.(*group).messages[0]
	}
	return nil
}

// isDeadLetterQueue is whether dead letters of any queue go to a queue.
func (s *Service) isDeadLetterQueue(q *queue) bool { return len(s.sourcesOf(q)) > 0 }

func (s *Service) task(source string) (*queue, error) {
	if q := s.byARN(source); q != nil {
		return q, nil
	}
	return nil, noResource("SourceArn")
}

func noResource(parameter string) error {
	return failure("ResourceNotFoundException", "The resource that you specified for the %s parameter doesn't exist.", parameter)
}

type startMessageMoveTaskInput struct {
	SourceArn                    *string
	DestinationArn               string
	MaxNumberOfMessagesPerSecond *int
}

func (e endpoint) startMessageMoveTask(in *startMessageMoveTaskInput) (operation, error) {
	if in.SourceArn == nil {
		return operation{}, missing("SourceArn")
	}
	if err := integer("MaxNumberOfMessagesPerSecond", in.MaxNumberOfMessagesPerSecond, 1, maxMoveRate, "Must be between 1 and 500, if provided."); err != nil {
		return operation{}, err
	}
	t := &move{
		source: *in.SourceArn, target: in.DestinationArn, status: "RUNNING",
		rate: wire.Given(in.MaxNumberOfMessagesPerSecond, maxMoveRate), limited: in.MaxNumberOfMessagesPerSecond != nil,
	}
	return e.reading(nameOf(t.source), func(now time.Time) (any, error) {
		if err := e.service.start(t, now); err != nil {
			return nil, err
		}
		return map[string]string{"TaskHandle": t.handle()}, nil
	}), nil
}

// nameOf is the name of the queue that an ARN means.
func nameOf(arn string) string { return arn[strings.LastIndexByte(arn, ':')+1:] }

func (s *Service) start(t *move, now time.Time) error {
	q, err := s.task(t.source)
	switch {
	case err != nil:
		return err
	case t.target != "" && s.byARN(t.target) == nil:
		return noResource("DestinationArn")
	case !s.isDeadLetterQueue(q):
		return invalid("Source queue must be configured as a Dead Letter Queue.")
	case slices.ContainsFunc(s.moves, func(o *move) bool { return o.source == t.source && o.status == "RUNNING" }):
		return invalid("There is already a task running. Only one active task is allowed for a source queue arn at a given time.")
	}
	q.advance(now)
	t.total, _, _ = q.counts()
	t.id, t.started = fmt.Sprintf("%08x-0000-4000-8000-%012x", len(s.moves)+1, now.Unix()), now
	s.moves = append(s.moves, t)
	s.runMoves(now)
	return nil
}

type listMessageMoveTasksInput struct {
	SourceArn  *string
	MaxResults *int
}

func (e endpoint) listMessageMoveTasks(in *listMessageMoveTasksInput) (operation, error) {
	if in.SourceArn == nil {
		return operation{}, missing("SourceArn")
	}
	if err := integer("MaxResults", in.MaxResults, 1, 10, "Must be between 1 and 10, if provided."); err != nil {
		return operation{}, err
	}
	limit := wire.Given(in.MaxResults, 1)
	return e.reading(nameOf(*in.SourceArn), func(time.Time) (any, error) {
		if _, err := e.service.task(*in.SourceArn); err != nil {
			return nil, err
		}
		var results []map[string]any
		for _, t := range slices.Backward(e.service.moves) {
			if t.source == *in.SourceArn && len(results) < limit {
				results = append(results, t.describe())
			}
		}
		return map[string]any{"Results": results}, nil
	}), nil
}

func (t *move) describe() map[string]any {
	d := map[string]any{
		"SourceArn": t.source, "Status": t.status, "StartedTimestamp": t.started.UnixMilli(),
		"ApproximateNumberOfMessagesMoved": t.moved, "ApproximateNumberOfMessagesToMove": t.total,
	}
	if t.target != "" {
		d["DestinationArn"] = t.target
	}
	if t.limited {
		d["MaxNumberOfMessagesPerSecond"] = t.rate
	}
	if t.status == "RUNNING" {
		d["TaskHandle"] = t.handle()
	}
	if t.failure != "" {
		d["FailureReason"] = t.failure
	}
	return d
}

type cancelMessageMoveTaskInput struct{ TaskHandle string }

func (e endpoint) cancelMessageMoveTask(in *cancelMessageMoveTaskInput) (operation, error) {
	var of struct{ TaskId, SourceArn string }
	text, err := base64.StdEncoding.DecodeString(in.TaskHandle)
	if err != nil || json.Unmarshal(text, &of) != nil {
		return operation{}, invalid("Value for parameter TaskHandle is invalid.")
	}
	return operation{service: e.service, resource: nameOf(of.SourceArn), run: func(time.Time, faults.Fault) wire.Outcome {
		if _, err := e.service.task(of.SourceArn); err != nil {
			return wire.Outcome{Err: err}
		}
		for _, t := range e.service.moves {
			if t.id == of.TaskId && t.source == of.SourceArn && t.status == "RUNNING" {
				t.status = "CANCELLED"
				return wire.Outcome{Answer: map[string]int{"ApproximateNumberOfMessagesMoved": t.moved}}
			}
		}
		return wire.Outcome{Err: failure("ResourceNotFoundException", "Task does not exist.")}
	}}, nil
}
