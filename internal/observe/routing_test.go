package observe

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/landfall-dev/landfall/internal/routing"
)

var start = time.UnixMilli(1_700_000_000_000)

// forwarded is a message that was given to its first consumer, and all is well.
func forwarded(changes ...func(*routing.Handled)) routing.Handled {
	id := routing.ID{Group: "couriers", Message: "059f36b4"}
	h := routing.Handled{
		ID: id, Kept: true, Held: 30 * time.Second, Forwards: 1, Age: 1500 * time.Millisecond,
		Receipt: routing.Receipt{
			ID: id, State: routing.Pending, Attempt: 1, Token: "token-of-secrets", Mark: "mark-of-secrets", Consumer: "north",
			AssignedAt: start, Deadline: start.Add(30 * time.Second),
		},
	}
	for _, change := range changes {
		change(&h)
	}
	return h
}

func accepted(h *routing.Handled) {
	h.Receipt.State, h.Kept, h.Held, h.Forwards = routing.Accepted, false, 0, 0
}

func rerouted(h *routing.Handled) {
	h.Receipt.Attempt, h.Receipt.Consumer = 2, "south"
	h.Receipt.History = []routing.Past{{Consumer: "north", End: routing.EndLapsed, Deadline: start, EndedAt: start.Add(time.Second)}}
	h.Reroutes = h.Receipt.Outcome().Reroutes
	h.Reroutes[0].Written = start.Add(1250 * time.Millisecond)
}

func troubled(err error) func(*routing.Handled) {
	return func(h *routing.Handled) { h.Err = err }
}

// Each message and the line that it must, or must not, leave.
func TestMessageLeavesItsLine(t *testing.T) {
	t.Parallel()
	const message = `"group":"couriers","message_id":"059f36b4",`
	for name, c := range map[string]struct {
		handled routing.Handled
		want    string
	}{
		"forwarded":             {forwarded(), ""},
		"accepted":              {forwarded(accepted), ""},
		"accepted after others": {forwarded(rerouted, accepted, func(h *routing.Handled) { h.Reroutes = nil }), `{"level":"INFO","msg":"routed",` + message + `"state":"accepted","attempt":2,"kept":false,"forwards":0,"consumer":"south","first_try":false,"rerouted_from":["north"],"age_s":1.5}`},
		"rerouted":              {forwarded(rerouted), `{"level":"WARN","msg":"routed",` + message + `"state":"pending","attempt":2,"kept":true,"forwards":1,"consumer":"south","rerouted_from":["north"],"reroutes":[{"from":"north","to":"south","end":"lapsed","delay_ms":1250}],"held_s":30,"age_s":1.5}`},
		"no consumer is available": {forwarded(troubled(routing.ErrNoConsumerAvailable), func(h *routing.Handled) { h.Receipt, h.Forwards = routing.Receipt{}, 0 }),
			`{"level":"INFO","msg":"routed",` + message + `"state":"none","attempt":0,"kept":true,"forwards":0,"held_s":30,"age_s":1.5,"trouble":"no_consumer","error":"no consumer available"}`},
		"unanswered": {forwarded(troubled(&routing.ForwardError{Consumer: "north", Text: "NoAnswer"})),
			`{"level":"WARN","msg":"routed",` + message + `"state":"pending","attempt":1,"kept":true,"forwards":1,"consumer":"north","held_s":30,"age_s":1.5,"trouble":"delivery","error":"forward to north: NoAnswer"}`},
		"function failed": {forwarded(troubled(&routing.EvaluationError{Failure: routing.Crashed, Function: "0123456789abcdef0123", Cause: errors.New("secrets")})),
			`{"level":"WARN","msg":"routed",` + message + `"state":"pending","attempt":1,"kept":true,"forwards":1,"consumer":"north","held_s":30,"age_s":1.5,"trouble":"evaluation","error":"routing function 0123456789abcdef crashed"}`},
		"table failed": {forwarded(troubled(errors.New("get receipt: throttled"))),
			`{"level":"ERROR","msg":"routed",` + message + `"state":"pending","attempt":1,"kept":true,"forwards":1,"consumer":"north","held_s":30,"age_s":1.5,"trouble":"error","error":"get receipt: throttled"}`},
		"lease lost": {forwarded(troubled(fmt.Errorf("hold: %w", routing.ErrLeaseLost))),
			`{"level":"INFO","msg":"routed",` + message + `"state":"pending","attempt":1,"kept":true,"forwards":1,"consumer":"north","held_s":30,"age_s":1.5,"trouble":"lease_lost","error":"hold: the handle has expired"}`},
		"dead": {forwarded(accepted, func(h *routing.Handled) { h.Receipt.State, h.Receipt.Reason = routing.Dead, routing.ReasonMaxWait }),
			`{"level":"WARN","msg":"routed",` + message + `"state":"dead","attempt":1,"kept":false,"forwards":0,"consumer":"north","reason":"max_wait","age_s":1.5}`},
		"extended": {forwarded(func(h *routing.Handled) { h.Extended, h.Receipt.Extensions = true, 1 }),
			`{"level":"WARN","msg":"routed",` + message + `"state":"pending","attempt":1,"kept":true,"forwards":1,"consumer":"north","extended":true,"held_s":30,"age_s":1.5}`},
		"forwarded once more": {forwarded(func(h *routing.Handled) { h.Receipt.Extensions = 1 }),
			`{"level":"INFO","msg":"routed",` + message + `"state":"pending","attempt":1,"kept":true,"forwards":1,"consumer":"north","held_s":30,"age_s":1.5}`},
		"by another invocation, too": {forwarded(func(h *routing.Handled) { h.Receipt.Again = true }),
			`{"level":"INFO","msg":"routed",` + message + `"state":"pending","attempt":1,"kept":true,"forwards":1,"consumer":"north","again":true,"held_s":30,"age_s":1.5}`},
		"no time": {forwarded(func(h *routing.Handled) { h.GivenBack, h.Receipt, h.Forwards, h.Held = true, routing.Receipt{}, 0, 0 }),
			`{"level":"WARN","msg":"routed",` + message + `"state":"none","attempt":0,"kept":true,"forwards":0,"given_back":true,"age_s":1.5}`},
	} {
		var log bytes.Buffer
		o := New(Config{Logger: quiet(&log), Groups: []string{"couriers"}})
		o.Routed(c.handled)
		if got := strings.TrimSpace(log.String()); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, c.want)
		}
		log.Reset()
		all := New(Config{Logger: quiet(&log), Groups: []string{"couriers"}, LogSuccesses: 1})
		all.Routed(c.handled)
		if lines := strings.Count(log.String(), "\n"); lines != 1 || strings.Contains(log.String(), "secrets") {
			t.Errorf("%s: %d lines of all: %s", name, lines, log.String())
		}
	}
}

func TestMetricsOfGroupsAreCountedOnceEach(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	o := New(Config{Metrics: &out, Groups: []string{"couriers", "vans"}, RequestID: "req-1"})
	declined := func(h *routing.Handled) {
		rerouted(h)
		h.Reroutes[0].End, h.Reroutes[0].Seen = routing.EndDeclined, start.Add(1245*time.Millisecond)
	}
	elsewhere := func(group string) func(*routing.Handled) {
		return func(h *routing.Handled) { h.ID.Group = group }
	}
	for _, h := range []routing.Handled{
		forwarded(), forwarded(accepted), forwarded(rerouted), forwarded(declined), forwarded(rerouted, accepted, func(h *routing.Handled) { h.Reroutes = nil }),
		forwarded(troubled(&routing.ForwardError{})), forwarded(troubled(&routing.UnknownConsumerSelectedError{})), forwarded(troubled(&routing.EvaluationError{})),
		forwarded(troubled(routing.ErrNoConsumerAvailable), func(h *routing.Handled) { h.Forwards = 0 }), forwarded(troubled(routing.ErrLeaseLost)), forwarded(troubled(errGone)),
		forwarded(func(h *routing.Handled) { h.GivenBack, h.Forwards = true, 0 }), forwarded(func(h *routing.Handled) { h.Extended = true }),
		forwarded(accepted, func(h *routing.Handled) { h.Receipt.State = routing.Dead }),
		forwarded(func(h *routing.Handled) { h.Receipt.State, h.Forwards = routing.Dead, 0 }), // not buried yet
		forwarded(elsewhere("vans")), forwarded(elsewhere("alice@example.com")),
	} {
		o.Routed(h)
	}
	if err := o.Flush(); err != nil {
		t.Fatal(err)
	}
	want := []map[string]any{
		{"Group": "couriers", "requestId": "req-1", "Messages": 15.0, "Forwards": 9.0, "Accepted": 2.0, "AcceptedFirstTry": 1.0, "Lapsed": 1.0, "Declined": 1.0,
			"RerouteDelay": []any{1250.0, 5.0}, "Extended": 1.0, "Held": 2.0, "GivenBack": 1.0, "DeadLetters": 1.0, "MessageAge": []any{1500.0, 1500.0, 1500.0},
			"NoConsumer": 1.0, "UnknownConsumer": 1.0, "EvaluationFailed": 1.0, "DeliveryFailed": 1.0, "LeaseLost": 1.0, "Errors": 1.0},
		{"Group": "other", "requestId": "req-1", "Messages": 1.0, "Forwards": 1.0},
		{"Group": "vans", "requestId": "req-1", "Messages": 1.0, "Forwards": 1.0},
	}
	got := checked(t, out.Bytes())
	for _, root := range got {
		delete(root, "_aws")
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}
