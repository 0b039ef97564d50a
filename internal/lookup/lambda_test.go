package lookup_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landfall-dev/landfall/internal/lab/lookuptest"
	"github.com/landfall-dev/landfall/internal/lookup"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// function is a Lambda function that behaves as the test says.
type function func(ctx context.Context, event []byte) ([]byte, error)

// errFunction is returned by a function that fails itself.
var errFunction = errors.New("the function failed")

func (f function) Invoke(ctx context.Context, _ string, event []byte) ([]byte, string, error) {
	if err := ctx.Err(); err != nil {
		return nil, "", err
	}
	answer, err := f(ctx, event)
	if errors.Is(err, errFunction) {
		return answer, "Unhandled", nil
	}
	return answer, "", err
}

func TestLambdaPassesTheSuite(t *testing.T) {
	t.Parallel()
	answers := map[lookuptest.Behaviour]string{
		lookuptest.Contradicts: `{"outcome": "completed", "outcome": "failed"}`,
		lookuptest.Failed:      `{"outcome": "failed"}`,
		lookuptest.NotFound:    `{"outcome": "not_found"}`,
		lookuptest.Open:        `{"outcome": "unresolved"}`,
		lookuptest.Babbles:     `"completed"`,
		lookuptest.Floods:      `{"outcome": "completed", "more": "` + strings.Repeat("x", 6<<20),
	}
	lookuptest.Run(t, "lambda", func(t *testing.T, b lookuptest.Behaviour) lookuptest.Remote {
		var mu sync.Mutex
		var asked []string
		received := make(chan struct{}, 100)
		f := func(ctx context.Context, event []byte) ([]byte, error) {
			if b == lookuptest.Absent {
				return nil, errors.New("no such function")
			}
			var q struct {
				Key string `json:"idempotency_key"`
			}
			if err := json.Unmarshal(event, &q); err != nil {
				t.Error(err)
			}
			mu.Lock()
			asked = append(asked, q.Key)
			mu.Unlock()
			received <- struct{}{}
			switch b {
			case lookuptest.Breaks:
				return []byte(`{"errorMessage": "completed"}`), errFunction
			case lookuptest.Cuts:
				return nil, errors.New("connection reset")
			case lookuptest.Stalls:
				<-ctx.Done()
				return nil, ctx.Err()
			case lookuptest.Marks:
				answer, err := json.Marshal(map[string]string{"outcome": "completed", "ref": "ref of " + q.Key})
				return append([]byte("\ufeff"), answer...), err
			case lookuptest.Completed:
				return json.Marshal(map[string]string{"outcome": "completed", "ref": "ref of " + q.Key})
			}
			return []byte(answers[b]), nil
		}
		return lookuptest.Remote{
			Lookup:   &lookup.Lambda{Function: "lookup-charges", Invoker: function(f)},
			Received: received,
			Asked:    func() []string { return asked },
		}
	})
}

func TestAnswerOfAFunctionDecidesOnlyByAKnownOutcome(t *testing.T) {
	t.Parallel()
	invalid := outbox.Answer{Code: lookup.CodeAnswerInvalid}
	for body, want := range map[string]outbox.Answer{
		`{"outcome": "completed", "ref": "ch_1", "code": "x"}`: {Kind: outbox.AnswerCompleted, Ref: "ch_1", Code: "x"},
		`{"outcome": "completed", "ref": "a\nb"}`:              {Kind: outbox.AnswerCompleted},
		`{"outcome": "completed", "ref": 7, "code": {}}`:       {Kind: outbox.AnswerCompleted},
		`{"outcome": "failed", "code": "card_declined"}`:       {Kind: outbox.AnswerFailed, Code: "card_declined"},
		`{"outcome": "failed", "code": "Alice: declined"}`:     {Kind: outbox.AnswerFailed},
		`{"outcome": "failed", "ref": "ch_1"}`:                 {Kind: outbox.AnswerFailed},
		`{"outcome": "not_found", "more": [1, {"a": null}]}`:   {Kind: outbox.AnswerNotFound},
		`{"outcome": "unresolved", "code": "remote.busy"}`:     {Code: "remote.busy"},
		`{"outcome": "unresolved"}`:                            {Code: lookup.CodeUnresolved},
		`{"outcome": "failed", "outcome": "not_found"}`:        {Code: lookup.CodeAnswerAmbiguous},
		`{"outcome": "Completed"}`:                             invalid,
		`{"Outcome": "completed"}`:                             invalid,
		`{"outcome": null}`:                                    invalid,
		`{"outcome": ["completed"]}`:                           invalid,
		`{"outcome": ""}`:                                      invalid,
		`{}`:                                                   invalid,
		`null`:                                                 invalid,
		`[{"outcome": "completed"}]`:                           invalid,
		`{"outcome": "completed"} {}`:                          invalid,
		``:                                                     invalid,
		"{\"outcome\": \"completed\", \"x\": \"\xff\"}":        invalid,
		strings.Repeat("[", 1<<20):                             invalid,
	} {
		l := &lookup.Lambda{Invoker: function(func(context.Context, []byte) ([]byte, error) { return []byte(body), nil })}
		if got := l.Look(t.Context(), row()); got != want {
			t.Errorf("%.60s: %+v, want %+v", body, got, want)
		}
	}
}

func TestFailureOfTheFunctionAndOfTheCallHaveTheirOwnCodes(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		lookup.CodeFunctionError: errFunction, lookup.CodeInvoke: errors.New("throttled"),
	} {
		l := &lookup.Lambda{Invoker: function(func(context.Context, []byte) ([]byte, error) { return []byte(`{"outcome": "not_found"}`), err })}
		if a := l.Look(t.Context(), row()); a != (outbox.Answer{Code: want}) {
			t.Errorf("%v: %+v", err, a)
		}
	}
}

func TestQuestionContainsOnlyWhatAFunctionNeeds(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.FixedZone("CET", 3600))
	r := outbox.Row{
		ID: outbox.ID{Destination: "charge", Key: "order-42"}, RemoteRef: "ch_1", MaybeSince: at, CreatedAt: at, CommandID: "c",
		Trace: "alice", Payload: []byte("secret"), Headers: map[string]string{"a": "secret"}, Token: "secret", Origin: "secret",
	}
	var got map[string]any
	l := &lookup.Lambda{Invoker: function(func(_ context.Context, event []byte) ([]byte, error) {
		return nil, errors.Join(json.Unmarshal(event, &got), errors.New("enough"))
	})}
	if a := l.Look(t.Context(), r); a != (outbox.Answer{Code: lookup.CodeInvoke}) {
		t.Errorf("answer %+v", a)
	}
	want := map[string]any{
		"destination": "charge", "idempotency_key": "order-42", "remote_ref": "ch_1", "command_id": "c",
		"maybe_since": "2026-03-01T11:00:00Z", "created_at": "2026-03-01T11:00:00Z",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("question (-want +got):\n%s", diff)
	}
}

func FuzzFunctionAnswer(f *testing.F) {
	for _, body := range []string{
		`{"outcome": "completed", "ref": "ch_1", "code": "x"}`, `{"outcome": "failed", "outcome": "not_found"}`, `{"outcome": "unresolved"}`,
		`{"\u006futcome": "not_found"}`, `[[[]]]`, `{"outcome": 1e400}`, "", "null", "\ufeff{}",
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		l := &lookup.Lambda{Invoker: function(func(context.Context, []byte) ([]byte, error) { return body, nil })}
		a := l.Look(t.Context(), row())
		var plain map[string]any
		err := json.Unmarshal(bytes.TrimPrefix(body, []byte("\ufeff")), &plain)
		if a.Kind != outbox.AnswerUnresolved && (err != nil || plain["outcome"] != a.Kind.String()) {
			t.Errorf("%q: %s", body, a.Kind)
		}
		if a.Kind == outbox.AnswerUnresolved && a.Code == "" {
			t.Errorf("%q: undecided without a code", body)
		}
	})
}
