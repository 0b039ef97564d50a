package lookup_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/landfall-dev/landfall/internal/egress"
	"github.com/landfall-dev/landfall/internal/lab/egresstest"
	"github.com/landfall-dev/landfall/internal/lab/lookuptest"
	"github.com/landfall-dev/landfall/internal/lookup"
	"github.com/landfall-dev/landfall/internal/outbox"
)

// TestMain cuts the tests off from every name server.
func TestMain(m *testing.M) {
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, io.ErrUnexpectedEOF
	}}
	os.Exit(m.Run())
}

type rule = egress.Rule[outbox.AnswerKind]

// byStatus are rules as a configuration would have them.
var byStatus = []rule{
	{Status: []string{"200"}, Pointer: "/status", Test: egress.Test{OneOf: []string{"succeeded"}}, Then: outbox.AnswerCompleted},
	{Status: []string{"200"}, Pointer: "/status", Test: egress.Test{OneOf: []string{"failed"}}, Then: outbox.AnswerFailed},
	{Status: []string{"404"}, Then: outbox.AnswerNotFound},
}

func newHTTP(t testing.TB, o lookup.HTTPOptions) *lookup.HTTP {
	t.Helper()
	o.AllowPrivate = true
	if o.Rules == nil {
		o.Rules = byStatus
	}
	l, err := lookup.NewHTTP(o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func row() outbox.Row {
	return outbox.Row{ID: outbox.ID{Destination: "charge", Key: "order-42"}, Status: outbox.StatusOutcomeUnknown}
}

func answer(status int, body string) string {
	return fmt.Sprintf("HTTP/1.1 %d Status\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body)
}

// encoded is an answer whose body is said to be encoded.
func encoded(encoding, body string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\nContent-Length: %d\r\n\r\n%s", encoding, len(body), body)
}

// says answers one request, and closes.
func says(answer string) func(*egresstest.Conn) {
	return func(c *egresstest.Conn) { c.Read(); c.Say(answer) }
}

func TestHTTPPassesTheSuite(t *testing.T) {
	t.Parallel()
	answers := map[lookuptest.Behaviour]string{
		lookuptest.Contradicts: answer(200, `{"status": "succeeded", "status": "failed"}`),
		lookuptest.Failed:      answer(200, `{"status": "failed"}`),
		lookuptest.NotFound:    answer(404, "no such thing"),
		lookuptest.Open:        answer(200, `{"status": "processing"}`),
		lookuptest.Breaks:      answer(500, `{"status": "succeeded"}`),
		lookuptest.Babbles:     answer(200, `<status>succeeded</status>`),
		lookuptest.Floods:      answer(200, `{"status": "succeeded", "more": "`+strings.Repeat("x", egress.MaxBody)+`"}`),
	}
	lookuptest.Run(t, "http", func(t *testing.T, b lookuptest.Behaviour) lookuptest.Remote {
		var mu sync.Mutex
		var asked []string
		received := make(chan struct{}, 100)
		remote := egresstest.Serve(t, func(c *egresstest.Conn) {
			req := c.ReadHead()
			if req == nil {
				return
			}
			key := req.URL.Query().Get("key")
			mu.Lock()
			asked = append(asked, key)
			mu.Unlock()
			received <- struct{}{}
			switch b {
			case lookuptest.Cuts:
			case lookuptest.Stalls:
				c.Drain()
			case lookuptest.Completed:
				body, _ := json.Marshal(map[string]string{"status": "succeeded", "id": "ref of " + key})
				c.Say(answer(200, string(body)))
			case lookuptest.Marks:
				body, _ := json.Marshal(map[string]string{"status": "succeeded", "id": "ref of " + key})
				c.Say(answer(200, "\ufeff"+string(body)))
			default:
				c.Say(answers[b])
			}
		})
		if b == lookuptest.Absent {
			remote.Close(t)
		}
		return lookuptest.Remote{
			Lookup:   newHTTP(t, lookup.HTTPOptions{URL: remote.URL + "/charges?key={idempotency_key}", RefPointer: "/id"}),
			Received: received,
			Asked: func() []string {
				if b != lookuptest.Absent {
					remote.Close(t)
				}
				return asked
			},
		}
	})
}

// TestAnswerDecidesOnlyWhatARuleSays is the table of strange answers.
func TestAnswerDecidesOnlyWhatARuleSays(t *testing.T) {
	t.Parallel()
	// wide has rules that would match if an earlier rule failed silently.
	wide := append(byStatus[:3:3],
		rule{Status: []string{"200"}, Pointer: "/count", Test: egress.Test{OneOf: []string{"0"}}, Then: outbox.AnswerNotFound},
		rule{Status: []string{"200"}, Pointer: "/items/0/ok", Test: egress.Test{OneOf: []string{"true"}}, Then: outbox.AnswerCompleted},
		rule{Status: []string{"202"}, Then: outbox.AnswerUnresolved},
		rule{Status: []string{"410", "3xx"}, Header: "X-Known", HeaderTest: egress.Test{Exists: new(bool)}, Then: outbox.AnswerUnresolved},
		rule{Status: []string{"4xx"}, Test: egress.Test{Contains: "never seen"}, Then: outbox.AnswerNotFound},
		rule{Status: []string{"200"}, Then: outbox.AnswerNotFound},
		rule{Status: []string{"301"}, Then: outbox.AnswerCompleted},
	)
	deep := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	for _, c := range []struct {
		name   string
		script func(*egresstest.Conn)
		want   outbox.AnswerKind
		code   string // below landfall.lookup.http.
	}{
		{"it succeeded", says(answer(200, `{"status": "succeeded"}`)), outbox.AnswerCompleted, ""},
		{"it failed", says(answer(200, `{"status": "failed"}`)), outbox.AnswerFailed, ""},
		{"the first rule that matches", says(answer(200, `{"status": "failed", "count": 0}`)), outbox.AnswerFailed, ""},
		{"a number", says(answer(200, `{"count": 0}`)), outbox.AnswerNotFound, ""},
		{"a truth value in a list", says(answer(200, `{"count": 1, "items": [{"ok": true}]}`)), outbox.AnswerCompleted, ""},
		{"a shorter list", says(answer(200, `{"count": 1, "items": []}`)), outbox.AnswerNotFound, ""},
		{"nothing of it", says(answer(200, `{}`)), outbox.AnswerNotFound, ""},
		{"null", says(answer(200, `{"status": null}`)), outbox.AnswerNotFound, ""},
		{"another spelling", says(answer(200, `{"status": "Succeeded"}`)), outbox.AnswerNotFound, ""},
		{"a name in another spelling", says(answer(200, `{"STATUS": "failed"}`)), outbox.AnswerNotFound, ""},
		{"a status without a rule", says(answer(501, ``)), outbox.AnswerUnresolved, "status_501"},
		{"a header that is missing", says(answer(410, `never seen`)), outbox.AnswerUnresolved, "unresolved"},
		{"a text", says("HTTP/1.1 410 Gone\r\nX-Known: no\r\n\r\n<p>never seen</p>"), outbox.AnswerNotFound, ""},
		{"another text", says(answer(418, `seen`)), outbox.AnswerUnresolved, "status_418"},
		{"a text that was cut", says("HTTP/1.1 418 Tea\r\nContent-Length: 100\r\n\r\nnever seen"), outbox.AnswerUnresolved, "body_incomplete"},
		{"a status of trouble", says(answer(503, `{"status": "failed"}`)), outbox.AnswerUnresolved, "status_503"},
		{"a rule that decides nothing", says(answer(202, ``)), outbox.AnswerUnresolved, "unresolved"},
		{"a redirect is not followed", says("HTTP/1.1 302 Found\r\nX-Known: yes\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n"), outbox.AnswerUnresolved, "status_302"},
		{"a redirect with a rule", says("HTTP/1.1 301 Moved\r\nX-Known: yes\r\nLocation: /charges/1\r\nContent-Length: 0\r\n\r\n"), outbox.AnswerCompleted, ""},
		{"nothing there, says a cache", says("HTTP/1.1 404 Not\r\nAge: 3\r\nContent-Length: 0\r\n\r\n"), outbox.AnswerUnresolved, "cached"},
		{"nothing there, says a cache that has just asked", says("HTTP/1.1 404 Not\r\nAge: 0\r\nContent-Length: 0\r\n\r\n"), outbox.AnswerNotFound, ""},
		{"it succeeded, says a cache", says("HTTP/1.1 200 OK\r\nAge: 3\r\n\r\n{\"status\": \"succeeded\"}"), outbox.AnswerCompleted, ""},
		{"an interim answer", says("HTTP/1.1 103 Early\r\n\r\n" + answer(404, "")), outbox.AnswerNotFound, ""},
		{"a body that was cut, which no rule is about", says("HTTP/1.1 404 Not\r\nContent-Length: 100\r\n\r\nx"), outbox.AnswerNotFound, ""},

		{"a body that was cut", says("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"status\": \"failed\""), outbox.AnswerUnresolved, "body_incomplete"},
		{"a body that is too long", says(answer(200, strings.Repeat(" ", egress.MaxBody+1))), outbox.AnswerUnresolved, "body_incomplete"},
		{"no body", says(answer(200, "")), outbox.AnswerUnresolved, "body_invalid"},
		{"no JSON", says(answer(200, "<html>")), outbox.AnswerUnresolved, "body_invalid"},
		{"half of it", says(answer(200, `{"status": "failed"`)), outbox.AnswerUnresolved, "body_invalid"},
		{"two documents", says(answer(200, `{"status": "failed"} {"status": "succeeded"}`)), outbox.AnswerUnresolved, "body_invalid"},
		{"no UTF-8", says(answer(200, "{\"status\": \"failed\", \"x\": \"\xff\"}")), outbox.AnswerUnresolved, "body_invalid"},
		{"a byte order mark", says(answer(200, "\ufeff{\"status\": \"failed\"}")), outbox.AnswerFailed, ""},
		{"two byte order marks", says(answer(200, "\ufeff\ufeff{}")), outbox.AnswerUnresolved, "body_invalid"},
		{"compressed", says(encoded("gzip", egresstest.Gzip(`{"status": "failed"}`))), outbox.AnswerFailed, ""},
		{"compressed, under the old name", says(encoded("X-GZip", egresstest.Gzip(`{"status": "failed"}`))), outbox.AnswerFailed, ""},
		{"compressed twice", says(encoded("gzip, gzip", egresstest.Gzip(egresstest.Gzip(`{"status": "failed"}`)))), outbox.AnswerFailed, ""},
		{"compressed, with a byte order mark", says(encoded("gzip", egresstest.Gzip("\ufeff{\"status\": \"failed\"}"))), outbox.AnswerFailed, ""},
		{"not compressed, and says so", says(encoded("identity", `{"status": "failed"}`)), outbox.AnswerFailed, ""},
		{"compressed, of a status alone", says("HTTP/1.1 404 Not\r\nContent-Encoding: gzip\r\n\r\nno gzip"), outbox.AnswerNotFound, ""},
		{"compressed, unnamed", says(answer(200, egresstest.Gzip(`{"status": "failed"}`))), outbox.AnswerUnresolved, "body_invalid"},
		{"compressed, the longest", says(encoded("gzip", egresstest.Gzip(`{"status": "failed"}`+strings.Repeat(" ", egress.MaxBody-20)))), outbox.AnswerFailed, ""},
		{"compressed, a bomb", says(encoded("gzip", egresstest.Gzip(`{"status": "failed"}`+strings.Repeat(" ", egress.MaxBody-19)))), outbox.AnswerUnresolved, "body_incomplete"},
		{"compressed, cut", says(encoded("gzip", egresstest.Gzip(`{"status": "failed"}`)[:20])), outbox.AnswerUnresolved, "body_incomplete"},
		{"compressed, with a rest", says(encoded("gzip", egresstest.Gzip(`{"status": "failed"}`)+"x")), outbox.AnswerUnresolved, "body_incomplete"},
		{"compressed, it says", says(encoded("gzip", `{"status": "failed"}`)), outbox.AnswerUnresolved, "body_incomplete"},
		{"compressed in an unknown way", says(encoded("br", `{"status": "failed"}`)), outbox.AnswerUnresolved, "body_incomplete"},
		{"compressed too often", says(encoded("gzip, gzip, gzip", egresstest.Gzip(egresstest.Gzip(egresstest.Gzip(`{"status": "failed"}`))))), outbox.AnswerUnresolved, "body_incomplete"},
		{"nested without end", says(answer(200, deep)), outbox.AnswerUnresolved, "body_invalid"},
		{"a name twice", says(answer(200, `{"status": "failed", "status": "succeeded"}`)), outbox.AnswerUnresolved, "body_ambiguous"},
		{"a name twice, escaped", says(answer(200, `{"status": "failed", "st\u0061tus": "succeeded"}`)), outbox.AnswerUnresolved, "body_ambiguous"},
		{"a name twice, further down", says(answer(200, `{"status": "x", "a": [{"b": 1, "b": 2}]}`)), outbox.AnswerUnresolved, "body_ambiguous"},
		{"an object for a text", says(answer(200, `{"status": {"is": "failed"}}`)), outbox.AnswerUnresolved, "value_invalid"},
		{"a list for a text", says(answer(200, `{"status": ["failed"]}`)), outbox.AnswerUnresolved, "value_invalid"},
		{"a list for an object", says(answer(200, `["failed"]`)), outbox.AnswerUnresolved, "value_invalid"},
		{"a text for an object", says(answer(200, `"internal error"`)), outbox.AnswerUnresolved, "value_invalid"},
		{"a text for a list", says(answer(200, `{"items": "none"}`)), outbox.AnswerUnresolved, "value_invalid"},

		{"nothing", says(""), outbox.AnswerUnresolved, "cut"},
		{"half a head", says("HTTP/1.1 404 Not Found\r\n"), outbox.AnswerUnresolved, "cut"},
		{"an endless head", says("HTTP/1.1 404 Not Found\r\n" + strings.Repeat("X: y\r\n", egress.MaxHead)), outbox.AnswerUnresolved, "bad_answer"},
		{"another protocol", says("SSH-2.0-OpenSSH_9.6\r\n"), outbox.AnswerUnresolved, "bad_answer"},
		{"a stall", (*egresstest.Conn).Drain, outbox.AnswerUnresolved, "no_answer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			remote := egresstest.Serve(t, c.script)
			ctx, cancel := t.Context(), context.CancelFunc(func() {})
			if c.code == "no_answer" {
				ctx, cancel = context.WithTimeout(ctx, 300*time.Millisecond)
			}
			defer cancel()
			a := newHTTP(t, lookup.HTTPOptions{URL: remote.URL + "/by-key/{idempotency_key}", Rules: wide}).Look(ctx, row())
			want := outbox.Answer{Kind: c.want}
			if c.code != "" {
				want.Code = "landfall.lookup.http." + c.code
			}
			if a != want {
				t.Errorf("%+v (%s), want %+v", a, a.Kind, want)
			}
			remote.Close(t)
			if remote.Requests() != 1 {
				t.Errorf("%d requests, want 1", remote.Requests())
			}
		})
	}
}

func TestKeyAndReferenceStayOnePartOfTheURL(t *testing.T) {
	t.Parallel()
	const byKey, byRef = "http://remote.test/by-key/{idempotency_key}", "http://remote.test/x?ref={remote_ref}&k={idempotency_key}"
	for _, c := range []struct{ template, key, ref, want, code string }{
		{byKey, "order-42", "", "/by-key/order-42", ""},
		{byKey, "a b/c?d=e&f#g%h+é", "", "/by-key/a%20b%2Fc%3Fd%3De%26f%23g%25h%2B%C3%A9", ""},
		{byKey, "{remote_ref}", "ref", "/by-key/%7Bremote_ref%7D", ""},
		{byKey, "...", "", "/by-key/...", ""},
		{byKey, "..", "", "", lookup.CodePathUnsafe},
		{byKey, ".", "", "", lookup.CodePathUnsafe},
		{byKey, "x/../y", "", "", lookup.CodePathUnsafe},
		{byKey, `..\y`, "", "", lookup.CodePathUnsafe},
		{"http://remote.test/by-key/.{idempotency_key}", ".", "", "", lookup.CodePathUnsafe},
		{"http://remote.test/by-key/{idempotency_key}.json", "..", "", "/by-key/...json", ""},
		{byRef, "..", "a&b=../", "/x?ref=a%26b%3D..%2F&k=..", ""},
		{byRef, "k", "", "", lookup.CodeRefMissing},
		{byRef, "k", "\r\nHost: x", "/x?ref=%0D%0AHost%3A%20x&k=k", ""},
	} {
		template, err := lookup.ParseTemplate(c.template)
		if err != nil {
			t.Fatal(err)
		}
		u, code := template.Fill(outbox.Row{ID: outbox.ID{Destination: "d", Key: c.key}, RemoteRef: c.ref})
		if code != c.code {
			t.Errorf("%q, %q in %s: code %q, want %q", c.key, c.ref, c.template, code, c.code)
		} else if code == "" && (u.RequestURI() != c.want || u.Host != "remote.test") {
			t.Errorf("%q, %q in %s: asks %s for %s, want %s", c.key, c.ref, c.template, u.Host, u.RequestURI(), c.want)
		}
	}
}

// Servers call a path with an encoded slash, or another character that they do not like, not found without looking.
func TestNotFoundAtADoubtfulPathDecidesNothing(t *testing.T) {
	t.Parallel()
	const byKey, byRef, byQuery = "/by-key/{idempotency_key}", "/by-ref/{remote_ref}", "/search?key={idempotency_key}&ref={remote_ref}"
	for _, c := range []struct {
		path, key, ref string
		status         int
		want           outbox.AnswerKind
	}{
		{byKey, "order-42", "", 404, outbox.AnswerNotFound},
		{byKey, "order:42@x y=z", "", 404, outbox.AnswerNotFound},
		{byKey, "2026/42", "", 404, outbox.AnswerUnresolved},
		{byKey, `2026\42`, "", 404, outbox.AnswerUnresolved},
		{byKey, "100%", "", 404, outbox.AnswerUnresolved},
		{byKey, "a+b", "", 404, outbox.AnswerUnresolved},
		{byKey, "2026/42", "", 200, outbox.AnswerCompleted},
		{byKey, "order-42", "a/b", 404, outbox.AnswerNotFound},
		{byRef, "2026/42", "ch_1", 404, outbox.AnswerNotFound},
		{byRef, "order-42", "a/b", 404, outbox.AnswerUnresolved},
		{byQuery, "2026/42", "a+b", 404, outbox.AnswerNotFound},
	} {
		remote := egresstest.Serve(t, says(answer(c.status, `{"status": "succeeded"}`)))
		r := row()
		r.Key, r.RemoteRef = c.key, c.ref
		a := newHTTP(t, lookup.HTTPOptions{URL: remote.URL + c.path}).Look(t.Context(), r)
		if a.Kind != c.want || (a.Code == lookup.CodePathDoubtful) != (c.want == outbox.AnswerUnresolved) {
			t.Errorf("%s with %q, %q, %d: %+v, want %s", c.path, c.key, c.ref, c.status, a, c.want)
		}
	}
}

func TestAnswerToHalfARequestDecidesNothing(t *testing.T) {
	t.Parallel()
	remote := egresstest.Serve(t, func(c *egresstest.Conn) { // it answers what it cannot have read
		c.Say(answer(404, ""))
		c.Hold()
	})
	long := map[string]string{"X-Long": strings.Repeat("x", 32<<20)}
	a := newHTTP(t, lookup.HTTPOptions{URL: remote.URL + "/{idempotency_key}", Headers: long}).Look(t.Context(), row())
	if a != (outbox.Answer{Code: lookup.CodeEarlyAnswer}) {
		t.Errorf("an early answer: %+v", a)
	}
	astray := row()
	astray.Key = ".."
	a = newHTTP(t, lookup.HTTPOptions{URL: remote.URL + "/{idempotency_key}"}).Look(t.Context(), astray)
	if a != (outbox.Answer{Code: lookup.CodePathUnsafe}) {
		t.Errorf("a key that leads elsewhere: %+v", a)
	}
	if remote.Close(t); remote.Connections() != 1 {
		t.Errorf("%d connections, want 1", remote.Connections())
	}
}

func TestRequestCarriesTheRemotesHeadersAndNothingOfTheRow(t *testing.T) {
	t.Parallel()
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	var got *http.Request
	remote := egresstest.Serve(t, func(c *egresstest.Conn) {
		got = c.ReadHead()
		c.Say(answer(200, `{"id": "`+strings.Repeat("x", outbox.MaxRefBytes+1)+`"}`))
	})
	r := row()
	r.Key, r.Trace, r.Payload, r.Headers = "a/b", trace, []byte("secret"), map[string]string{"X-Row": "secret"}
	a := newHTTP(t, lookup.HTTPOptions{
		URL: remote.URL + "/{idempotency_key}", Method: "POST", Headers: map[string]string{"authorization": "Bearer x"},
		RefPointer: "/id", Rules: []rule{{Status: []string{"200"}, Then: outbox.AnswerCompleted}},
	}).Look(t.Context(), r)
	remote.Close(t)
	if a != (outbox.Answer{Kind: outbox.AnswerCompleted}) {
		t.Errorf("%+v, want completed without half a reference", a)
	}
	if got.Method != "POST" || got.RequestURI != "/a%2Fb" || got.ContentLength != 0 {
		t.Errorf("%s %s with %d bytes", got.Method, got.RequestURI, got.ContentLength)
	}
	for name, want := range map[string]string{
		"Authorization": "Bearer x", "Accept": "application/json", "Accept-Encoding": "identity", "Cache-Control": "no-cache", "Traceparent": trace, "X-Row": "", "Idempotency-Key": "",
	} {
		if v := got.Header.Get(name); v != want {
			t.Errorf("%s: %q, want %q", name, v, want)
		}
	}
	if !strings.HasPrefix(got.UserAgent(), "Landfall ") {
		t.Errorf("user agent %q", got.UserAgent())
	}
}

func TestReferenceIsReadFromAHeader(t *testing.T) {
	t.Parallel()
	remote := egresstest.Serve(t, says("HTTP/1.1 200 OK\r\nX-Charge: ch_1\r\nContent-Length: 0\r\n\r\n"))
	for method, want := range map[string]string{"GET": "ch_1", "HEAD": "ch_1"} {
		a := newHTTP(t, lookup.HTTPOptions{
			URL: remote.URL + "/{idempotency_key}", Method: method, RefHeader: "X-Charge", Rules: []rule{{Status: []string{"200"}, Then: outbox.AnswerCompleted}},
		}).Look(t.Context(), row())
		if a.Kind != outbox.AnswerCompleted || a.Ref != want {
			t.Errorf("%s: %+v", method, a)
		}
	}
}

func TestAnswerToHEADIsJudgedByItsHeaders(t *testing.T) {
	t.Parallel()
	known := func(value string) []rule {
		return []rule{{Status: []string{"2xx"}, Header: "X-State", HeaderTest: egress.Test{OneOf: []string{value}}, Then: outbox.AnswerFailed}}
	}
	remote := egresstest.Serve(t, says("HTTP/1.1 200 OK\r\nX-State: gone\r\nContent-Length: 100\r\n\r\n"))
	for value, want := range map[string]outbox.Answer{"gone": {Kind: outbox.AnswerFailed}, "Gone": {Code: "landfall.lookup.http.status_200"}} {
		a := newHTTP(t, lookup.HTTPOptions{URL: remote.URL + "/{idempotency_key}", Method: "HEAD", Rules: known(value)}).Look(t.Context(), row())
		if a != want {
			t.Errorf("%s: %+v, want %+v", value, a, want)
		}
	}
}

func TestWrongOptionsAreRefusedWithoutTheirSecrets(t *testing.T) {
	t.Parallel()
	const good = "https://remote.test/{idempotency_key}"
	rules := func(r ...rule) []rule { return r }
	for name, o := range map[string]lookup.HTTPOptions{
		"no URL":                       {Rules: byStatus},
		"no rules":                     {URL: good},
		"no placeholder":               {URL: "https://remote.test/secret", Rules: byStatus},
		"an unknown placeholder":       {URL: "https://remote.test/{idempotency_key}/{secret}", Rules: byStatus},
		"half a placeholder":           {URL: good + "/{secret", Rules: byStatus},
		"a closing brace":              {URL: good + "/secret}", Rules: byStatus},
		"a placeholder as host":        {URL: "https://{idempotency_key}/secret", Rules: byStatus},
		"a placeholder as host, loud":  {URL: "HTTPS://{idempotency_key}.test/secret", Rules: byStatus},
		"a placeholder as port":        {URL: "https://remote.test:{remote_ref}/secret", Rules: byStatus},
		"a placeholder as query alone": {URL: "https://remote.test{remote_ref}?secret", Rules: byStatus},
		"a password":                   {URL: "https://user:secret@remote.test/{remote_ref}", Rules: byStatus},
		"a fragment":                   {URL: good + "#secret", Rules: byStatus},
		"another scheme":               {URL: "ftp://secret/{idempotency_key}", Rules: byStatus},
		"dots":                         {URL: "https://remote.test/secret/../{idempotency_key}", Rules: byStatus},
		"another method":               {URL: good, Method: "DELETE", Rules: byStatus},
		"no condition":                 {URL: good, Rules: rules(rule{Then: outbox.AnswerNotFound})},
		"an interim status":            {URL: good, Rules: rules(rule{Status: []string{"100"}, Then: outbox.AnswerNotFound})},
		"a pointer without value":      {URL: good, Rules: rules(rule{Status: []string{"200"}, Pointer: "/x"})},
		"a value without pointer":      {URL: good, Rules: rules(rule{Status: []string{"200"}, Test: egress.Test{OneOf: []string{"x"}}})},
		"a malformed pointer":          {URL: good, Rules: rules(rule{Status: []string{"200"}, Pointer: "x", Test: egress.Test{OneOf: []string{"x"}}})},
		"a text of HEAD":               {URL: good, Method: "HEAD", Rules: rules(rule{Test: egress.Test{Contains: "x"}})},
		"a header without a test":      {URL: good, Rules: rules(rule{Header: "X"})},
		"two tests":                    {URL: good, Rules: rules(rule{Pointer: "/x", Test: egress.Test{OneOf: []string{"x"}, Contains: "x"}})},
		"a body of HEAD":               {URL: good, Method: "HEAD", Rules: byStatus},
		"an unknown answer":            {URL: good, Rules: rules(rule{Status: []string{"200"}, Then: 9})},
		"two references":               {URL: good, Rules: byStatus, RefHeader: "X", RefPointer: "/x"},
		"a malformed reference":        {URL: good, Rules: byStatus, RefPointer: "x"},
		"a header in disguise":         {URL: good, Rules: byStatus, Headers: map[string]string{"X": "a\r\nsecret: b"}},
		"a header without name":        {URL: good, Rules: byStatus, Headers: map[string]string{"": "secret"}},
	} {
		_, err := lookup.NewHTTP(o)
		switch {
		case err == nil:
			t.Errorf("%s: no error", name)
		case strings.Contains(err.Error(), "secret"):
			t.Errorf("%s: the error repeats it: %v", name, err)
		}
	}
}
