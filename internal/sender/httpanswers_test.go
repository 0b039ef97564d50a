package sender_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/landfall-dev/landfall/internal/egress"
	"github.com/landfall-dev/landfall/internal/lab/egresstest"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/sender"
)

type rule = egress.Rule[outbox.OutcomeKind]

var yes, no = true, false

// rules are those of a remote whose statuses say little.
var rules = []rule{
	{Status: []string{"2xx"}, Pointer: "/errors/0", Test: egress.Test{Exists: &yes}, Then: outbox.KindPermanent},                       // 1
	{Status: []string{"2xx"}, Pointer: "/ok", Test: egress.Test{OneOf: []string{"false"}}, Then: outbox.KindPermanent},                 // 2
	{Status: []string{"200"}, Pointer: "/id", Test: egress.Test{OneOf: []string{big}}, Then: outbox.KindUnknown},                       // 3
	{Status: []string{"200"}, Pointer: "/state", Test: egress.Test{Contains: "queue"}, Then: outbox.KindUnknown},                       // 4
	{Status: []string{"422"}, Header: "transient-error", HeaderTest: egress.Test{OneOf: []string{"true"}}, Then: outbox.KindRetryable}, // 5
	{Status: []string{"400", "5xx"}, Test: egress.Test{Contains: "Try again"}, Then: outbox.KindRetryable},                             // 6
	{Status: []string{"409"}, Pointer: "/code", Test: egress.Test{OneOf: []string{"exists", "done"}}, Then: outbox.KindCompleted},      // 7
	{Status: []string{"404"}, Header: "X-Final", HeaderTest: egress.Test{Exists: &no}, Then: outbox.KindRetryable},                     // 8
	{Status: []string{"202"}, Test: egress.Test{Contains: "error"}, Then: outbox.KindPermanent},                                        // 9
	{Header: "X-Outcome", HeaderTest: egress.Test{Contains: "lost"}, Then: outbox.KindUnknown},                                         // 10
}

const big = "12345678901234567890123"

func said(status int, header, body string) string {
	return fmt.Sprintf("HTTP/1.1 %d Status\r\n%sContent-Length: %d\r\n\r\n%s", status, header, len(body), body)
}

func TestFirstRuleThatMatchesDecidesWhatAnAnswerMeans(t *testing.T) {
	t.Parallel()
	const prefix = "landfall.http."
	for name, tc := range map[string]struct {
		answer string
		want   outbox.OutcomeKind
		code   string // below prefix
	}{
		"it went well":                          {said(200, "", `{"ok": true}`), outbox.KindCompleted, ""},
		"it says no":                            {said(200, "", `{"ok": false}`), outbox.KindPermanent, "answer_rule_2"},
		"it says no as text":                    {said(201, "", `{"ok": "false"}`), outbox.KindPermanent, "answer_rule_2"},
		"errors of GraphQL":                     {said(200, "", `{"data": null, "errors": [{"message": "no"}]}`), outbox.KindPermanent, "answer_rule_1"},
		"errors before all":                     {said(200, "", `{"ok": false, "errors": ["no"]}`), outbox.KindPermanent, "answer_rule_1"},
		"an empty list of errors":               {said(200, "", `{"errors": []}`), outbox.KindCompleted, ""},
		"null for errors":                       {said(200, "", `{"errors": null}`), outbox.KindCompleted, ""},
		"null for the first error":              {said(200, "", `{"errors": [null]}`), outbox.KindCompleted, ""},
		"a huge integer":                        {said(200, "", `{"id": `+big+`}`), outbox.KindUnknown, "answer_rule_3"},
		"the next huge integer":                 {said(200, "", `{"id": 12345678901234567890124}`), outbox.KindCompleted, ""},
		"a huge integer as another writes it":   {said(200, "", `{"id": 1.2345678901234567890123e22}`), outbox.KindCompleted, ""},
		"a part of a value":                     {said(200, "", `{"state": "requeued"}`), outbox.KindUnknown, "answer_rule_4"},
		"a transient refusal":                   {said(422, "Transient-Error: true\r\n", ""), outbox.KindRetryable, "answer_rule_5"},
		"a refusal that is not transient":       {said(422, "Transient-Error: false\r\n", ""), outbox.KindPermanent, "status_422"},
		"a header in another case":              {said(422, "TRANSIENT-ERROR:  true \r\n", ""), outbox.KindRetryable, "answer_rule_5"},
		"a header that is repeated":             {said(422, "Transient-Error: no\r\nTransient-Error: true\r\n", ""), outbox.KindRetryable, "answer_rule_5"},
		"a header that contains the value":      {said(422, "Transient-Error: true, false\r\n", ""), outbox.KindPermanent, "status_422"},
		"a header of an answer of any status":   {said(418, "X-Outcome: maybe lost\r\n", ""), outbox.KindUnknown, "answer_rule_10"},
		"a header that is missing":              {said(404, "", ""), outbox.KindRetryable, "answer_rule_8"},
		"a header that must be missing":         {said(404, "X-Final:\r\n", ""), outbox.KindPermanent, "status_404"},
		"a text of a class":                     {said(503, "", "<p>Try again</p>"), outbox.KindRetryable, "answer_rule_6"},
		"a text of another status":              {said(403, "", "<p>Try again</p>"), outbox.KindPermanent, "status_403"},
		"a text in another case":                {said(400, "", "try again"), outbox.KindPermanent, "status_400"},
		"one of two codes":                      {said(409, "", `{"code": "done"}`), outbox.KindCompleted, ""},
		"neither code":                          {said(409, "", `{"code": "busy"}`), outbox.KindPermanent, "status_409"},
		"a status of statuses":                  {said(418, "", ""), outbox.KindCompleted, ""},
		"compressed":                            {said(200, "Content-Encoding: gzip\r\n", egresstest.Gzip(`{"ok": false}`)), outbox.KindPermanent, "answer_rule_2"},
		"compressed text":                       {said(503, "Content-Encoding: gzip\r\n", egresstest.Gzip("Try again")), outbox.KindRetryable, "answer_rule_6"},
		"a byte order mark":                     {said(200, "", "\ufeff"+`{"ok": false}`), outbox.KindPermanent, "answer_rule_2"},
		"2xx with a name twice":                 {said(200, "", `{"ok": true, "ok": false}`), outbox.KindUnknown, "body_ambiguous"},
		"2xx that is not JSON":                  {said(200, "", "fine"), outbox.KindUnknown, "body_invalid"},
		"2xx without a body":                    {said(204, "", ""), outbox.KindUnknown, "body_invalid"},
		"2xx with an object for a value":        {said(200, "", `{"ok": {"really": false}}`), outbox.KindUnknown, "value_invalid"},
		"2xx with a text for a list":            {said(200, "", `{"errors": "none"}`), outbox.KindUnknown, "value_invalid"},
		"2xx that was cut":                      {"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"ok\": true}", outbox.KindUnknown, "body_incomplete"},
		"2xx that is too long":                  {said(200, "", `{"ok": true}`+strings.Repeat(" ", egress.MaxBody)), outbox.KindUnknown, "body_incomplete"},
		"2xx in an unknown encoding":            {said(200, "Content-Encoding: br\r\n", `{"ok": true}`), outbox.KindUnknown, "body_incomplete"},
		"a refusal that was cut":                {"HTTP/1.1 409 No\r\nContent-Length: 100\r\n\r\n{\"code\":", outbox.KindPermanent, "status_409"},
		"a text that was cut":                   {"HTTP/1.1 503 No\r\nContent-Length: 100\r\n\r\nTry again", outbox.KindUnknown, "status_503"},
		"a refusal whose code is not JSON":      {said(409, "", "exists"), outbox.KindPermanent, "status_409"},
		"a refusal that no rule needs the body": {"HTTP/1.1 410 Gone\r\nContent-Length: 100\r\n\r\nx", outbox.KindPermanent, "status_410"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			remote := egresstest.Serve(t, says(tc.answer))
			s := newHTTP(t, sender.HTTPOptions{URL: remote.URL, Answers: rules, Statuses: map[int]outbox.OutcomeKind{418: outbox.KindCompleted}})
			want := outbox.Outcome{Kind: tc.want}
			if tc.code != "" {
				want.Code = prefix + tc.code
			}
			if got := s.Send(t.Context(), order("{}")); got != want {
				t.Errorf("%+v (%s), want %+v", got, got.Kind, want)
			}
		})
	}
}

func TestTextOfASuccessDecidesByARule(t *testing.T) {
	t.Parallel()
	remote := egresstest.Serve(t, says(said(200, "", "<html>An error occurred</html>")))
	s := newHTTP(t, sender.HTTPOptions{URL: remote.URL, Answers: []rule{{Status: []string{"2xx"}, Test: egress.Test{Contains: "error"}, Then: outbox.KindPermanent}}})
	if got, want := s.Send(t.Context(), order("{}")), outbox.Permanent("landfall.http.answer_rule_1"); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// A remote that answers before it has the whole request may still be reading, or never get the rest.
func TestEarlySuccessIsUnknownWhateverARuleSays(t *testing.T) {
	t.Parallel()
	for _, then := range []outbox.OutcomeKind{outbox.KindCompleted, outbox.KindRetryable, outbox.KindPermanent, outbox.KindUnknown} {
		remote := egresstest.Serve(t, func(c *egresstest.Conn) { c.ReadHead(); c.Say(said(200, "", "")); c.Reset() })
		s := newHTTP(t, sender.HTTPOptions{URL: remote.URL, Answers: []rule{{Status: []string{"200"}, Then: then}}})
		if got, want := s.Send(t.Context(), order(strings.Repeat("x", egresstest.TooMuch))), outbox.Unknown("", sender.CodeEarlyAnswer); got != want {
			t.Errorf("%s: %+v, want %+v", then, got, want)
		}
	}
}

func TestWaitOfAnAnswerCountsForARule(t *testing.T) {
	t.Parallel()
	remote := egresstest.Serve(t, says(said(422, "Retry-After: 7\r\n", "")))
	s := newHTTP(t, sender.HTTPOptions{URL: remote.URL, Answers: []rule{{Status: []string{"422"}, Then: outbox.KindRetryable}}})
	if got := s.Send(t.Context(), order("{}")); got.Kind != outbox.KindRetryable || got.After.Seconds() != 7 {
		t.Errorf("%s after %s, want retryable after 7s", got.Kind, got.After)
	}
}
