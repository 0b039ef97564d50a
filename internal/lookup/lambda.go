package lookup

import (
	"context"
	"encoding/json"
	"regexp"
	"time"

	"github.com/landfall-dev/landfall/internal/egress"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// The codes of kind lambda, all of undecided answers. A function may give a code of its own instead of CodeUnresolved.
const (
	// CodeInvoke: the function could not be invoked, or its answer did not come.
	CodeInvoke = "landfall.lookup.lambda.invoke"
	// CodeFunctionError: the function failed, ran out of time, or gave an answer that is too large.
	CodeFunctionError = "landfall.lookup.lambda.function_error"
	// CodeAnswerInvalid: the answer is not one JSON object in UTF-8, or lacks a known outcome.
	CodeAnswerInvalid = "landfall.lookup.lambda.answer_invalid"
	// CodeAnswerAmbiguous: an object in the answer has a name twice.
	CodeAnswerAmbiguous = "landfall.lookup.lambda.answer_ambiguous"
	// CodeUnresolved: the function says that it cannot tell, and no more.
	CodeUnresolved = "landfall.lookup.lambda.unresolved"
)

// Invoker calls a function at most once and waits for its answer, which it bounds in size. If the function itself failed,
// functionError says how.
type Invoker interface {
	Invoke(ctx context.Context, function string, event []byte) (answer []byte, functionError string, err error)
}

// Lambda asks a function, which may be written in any language.
type Lambda struct {
	// Function is a name or an ARN.
	Function string
	Invoker  Invoker
}

// question is the event that the function gets.
type question struct {
	Destination    string `json:"destination"`
	IdempotencyKey string `json:"idempotency_key"`
	// RemoteRef is what the remote called the effect, if an attempt got that far.
	RemoteRef string `json:"remote_ref,omitempty"`
	// MaybeSince is when the first attempt that may have arrived was claimed, CreatedAt when the row was put.
	MaybeSince time.Time `json:"maybe_since,omitzero"`
	CreatedAt  time.Time `json:"created_at,omitzero"`
	CommandID  string    `json:"command_id,omitempty"`
	Trace      string    `json:"traceparent,omitempty"`
}

// Look invokes the function once, with a question, and believes its answer,
//
//	{"outcome": "completed" | "failed" | "not_found" | "unresolved", "ref": TEXT, "code": CODE}
//
// Only the outcome is required; other members are ignored. A code has up to 100 characters, lower-case letters, digits
// and ._-; any other code is dropped.
func (l *Lambda) Look(ctx context.Context, row outbox.Row) outbox.Answer {
	q := question{
		Destination: row.Destination, IdempotencyKey: row.Key, RemoteRef: row.RemoteRef,
		MaybeSince: row.MaybeSince.UTC(), CreatedAt: row.CreatedAt.UTC(), CommandID: row.CommandID, Trace: outbox.Traceparent(row.Trace),
	}
	event, err := json.Marshal(q)
	if err != nil {
		return outbox.Answer{Code: CodeInvoke}
	}
	body, functionError, err := l.Invoker.Invoke(ctx, l.Function, event)
	switch {
	case err != nil:
		return outbox.Answer{Code: CodeInvoke}
	case functionError != "":
		return outbox.Answer{Code: CodeFunctionError}
	}
	return understand(body)
}

var stableCode = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,99}$`)

// understand reads the answer of a function.
func understand(body []byte) outbox.Answer {
	document, trouble := egress.ParseDocument(body)
	switch {
	case trouble == egress.BodyAmbiguous:
		return outbox.Answer{Code: CodeAnswerAmbiguous}
	case trouble != "":
		return outbox.Answer{Code: CodeAnswerInvalid}
	}
	object, _ := document.Value.(map[string]any)
	word, _ := object["outcome"].(string)
	a := outbox.Answer{Kind: -1}
	for _, kind := range []outbox.AnswerKind{outbox.AnswerCompleted, outbox.AnswerFailed, outbox.AnswerNotFound, outbox.AnswerUnresolved} {
		if word == kind.String() {
			a.Kind = kind
		}
	}
	if a.Kind < 0 {
		return outbox.Answer{Code: CodeAnswerInvalid}
	}
	if text, _ := object["code"].(string); stableCode.MatchString(text) {
		a.Code = text
	}
	if text, _ := object["ref"].(string); a.Kind == outbox.AnswerCompleted {
		a.Ref = outbox.KeepableRef(text)
	}
	if a.Kind == outbox.AnswerUnresolved && a.Code == "" {
		a.Code = CodeUnresolved
	}
	return a
}
