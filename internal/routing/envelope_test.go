package routing_test

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/landfall-dev/landfall/internal/lab/routingtest"
	"github.com/landfall-dev/landfall/internal/routing"
)

func TestEnvelopeIsReadAsItWasSent(t *testing.T) {
	t.Parallel()
	e := routing.Envelope{
		ID: routing.ID{Group: "couriers", Message: `m"1\<&>`}, Attempt: 3, Token: "t/+=", Deadline: time.UnixMilli(1767225600123), Handle: "h&<>",
	}
	got, err := routing.ParseEnvelope(e.Text())
	if err != nil || got != e {
		t.Errorf("%+v, %v, want %+v", got, err, e)
	}
	const public = `{"group":"couriers","message_id":"m1","attempt":1,"token":"t","deadline":1767225600123,"ingress_handle":"h","later":{}}`
	if got, err := routing.ParseEnvelope(public); err != nil || got.Message != "m1" || got.Deadline != e.Deadline {
		t.Errorf("the public form: %+v, %v", got, err)
	}
}

// TestEveryFieldOfAnEnvelopeIsSentReadAndDocumented: in the schema, and in the table of docs/routing.md.
func TestEveryFieldOfAnEnvelopeIsSentReadAndDocumented(t *testing.T) {
	t.Parallel()
	var e routing.Envelope
	routingtest.Fill(t, &e)
	read, err := routing.ParseEnvelope(e.Text())
	if err != nil || read != e {
		t.Errorf("%+v, %v, want %+v", read, err, e)
	}
	var members map[string]any
	var schema struct {
		Required   []string
		Properties map[string]any
	}
	text, err := os.ReadFile("../../docs/schema/envelope.schema.json")
	if err := errors.Join(err, json.Unmarshal([]byte(e.Text()), &members), json.Unmarshal(text, &schema)); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/routing.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range members {
		if schema.Properties[name] == nil || !slices.Contains(schema.Required, name) {
			t.Errorf("the schema does not require %s", name)
		}
		if !strings.Contains(string(page), "| `"+name+"` |") {
			t.Errorf("docs/routing.md has no row for %s", name)
		}
	}
	if len(schema.Properties) != len(members) {
		t.Errorf("the schema has %d members, an envelope %d", len(schema.Properties), len(members))
	}
}

func TestInvalidEnvelopeIsRefused(t *testing.T) {
	t.Parallel()
	const good = `{"group":"g","message_id":"m","attempt":1,"token":"secret","deadline":1,"ingress_handle":"h"}`
	for text, want := range map[string]string{
		``: "not a JSON object", `[]`: "wrong type", `"secret"`: "wrong type", `null`: "group is missing", good[:20]: "not a JSON object",
		strings.Replace(good, `"group":"g"`, `"group":""`, 1):                                                               "group is missing",
		strings.Replace(good, `"message_id":"m",`, ``, 1):                                                                   "message_id is missing",
		strings.Replace(good, `"attempt":1`, `"attempt":0`, 1):                                                              "attempt is missing",
		strings.Replace(good, `"attempt":1`, `"attempt":"secret"`, 1):                                                       `"attempt" has the wrong type`,
		strings.Replace(good, `"attempt":1`, `"attempt":1.5`, 1):                                                            `"attempt" has the wrong type`,
		strings.Replace(good, `"token":"secret"`, `"token":null`, 1):                                                        "token is missing",
		strings.Replace(good, `"deadline":1`, `"deadline":-1`, 1):                                                           "deadline is missing",
		strings.Replace(good, `"ingress_handle":"h"`, `"x":1`, 1):                                                           "ingress_handle is missing",
		strings.Replace(good, `"group":"g"`, `"group":"../secret"`, 1):                                                      "group does not have the form",
		strings.Replace(good, `"message_id":"m"`, `"message_id":"a b"`, 1):                                                  "visible ASCII",
		strings.Replace(good, `"message_id":"m"`, `"message_id":"`+strings.Repeat("m", routing.MaxMessageIDBytes+1)+`"`, 1): "visible ASCII",
		good + strings.Repeat(" ", routing.MaxEnvelopeBytes):                                                                "bytes",
		strings.Replace(good, `"deadline":1`, `"deadline":1`+zeros(30), 1):                                                  `"deadline" has the wrong type`,
	} {
		_, err := routing.ParseEnvelope(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%.60q: %v, want %q", text, err, want)
		}
	}
}

func zeros(n int) string { return strings.Repeat("0", n) }

func FuzzParseEnvelope(f *testing.F) {
	f.Add(`{"group":"g","message_id":"m","attempt":1,"token":"t","deadline":1,"ingress_handle":"h"}`)
	f.Add(`{"attempt": 1e99}`)
	f.Add(`null`)
	f.Fuzz(func(t *testing.T, text string) {
		e, err := routing.ParseEnvelope(text)
		if err != nil {
			return
		}
		if again, err := routing.ParseEnvelope(e.Text()); err == nil && again != e {
			t.Errorf("%+v became %+v", e, again)
		}
	})
}
