package lookup_test

import (
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/landfall-dev/landfall/internal/lab/egresstest"
	"github.com/landfall-dev/landfall/internal/lookup"
	"github.com/landfall-dev/landfall/internal/outbox"
)

func FuzzAnswer(f *testing.F) {
	for _, body := range []string{
		`{"status": "succeeded"}`, `{"status": "failed"}`, `{"status": "failed", "status": "succeeded"}`, `{"status": ["failed"]}`,
		`{"status": 1e999}`, `[[[[]]]]`, `"succeeded"`, "{\"status\": \"\\ud800\"}", "", "\x00",
	} {
		f.Add(answer(200, body))
	}
	for _, raw := range []string{
		"", answer(404, ""), "HTTP/1.1 404 Not\r\n", "HTTP/1.1 100 Go\r\n\r\nHTTP/1.1 404 Not\r\n\r\n", "HTTP/1.0 404\n\n", "HTTP/1.0  404 \n\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n17\r\n{\"status\": \"succeeded\"}\r\n0\r\n\r\n", answer(503, ""),
	} {
		f.Add(raw)
	}
	code := regexp.MustCompile(`^landfall\.lookup\.http\.(status_[2-5]\d\d|cut|bad_answer|early_answer|cached|body_(incomplete|invalid|ambiguous)|value_invalid)$`)
	var said atomic.Pointer[string]
	remote := egresstest.Serve(f, func(c *egresstest.Conn) { says(*said.Load())(c) })
	f.Fuzz(func(t *testing.T, raw string) {
		said.Store(&raw)
		a := newHTTP(t, lookup.HTTPOptions{URL: remote.URL + "/{idempotency_key}", RefPointer: "/id"}).Look(t.Context(), row())
		connections, requests := remote.Take(t)
		switch {
		case a.Kind == outbox.AnswerUnresolved:
			if !code.MatchString(a.Code) {
				t.Errorf("%q: code %q", raw, a.Code)
			}
		case a.Kind == outbox.AnswerNotFound && egresstest.FinalStatus(raw) != "404",
			a.Kind != outbox.AnswerNotFound && egresstest.FinalStatus(raw) != "200":
			t.Errorf("%q: %s", raw, a.Kind)
		}
		if connections != 1 || requests != 1 {
			t.Errorf("%d connections, %d requests", connections, requests)
		}
	})
}

func FuzzTemplate(f *testing.F) {
	f.Add("https://remote.test/by-key/{idempotency_key}?r={remote_ref}", "order-42", "ch_1")
	f.Add("http://[::1]:80/{idempotency_key}", "../x", "")
	f.Add("https://remote.test/a/{idempotency_key}.{remote_ref}/b", ".", "\x00\xff%2e/\\")
	f.Add("https://{idempotency_key}@remote.test/", "a", "b")
	f.Fuzz(func(t *testing.T, text, key, ref string) {
		template, err := lookup.ParseTemplate(text)
		if err != nil {
			return
		}
		plain, code := template.Fill(outbox.Row{ID: outbox.ID{Destination: "d", Key: "k"}, RemoteRef: "r"})
		if code != "" {
			t.Fatalf("%q cannot be filled with plain text: %s", text, code)
		}
		u, code := template.Fill(outbox.Row{ID: outbox.ID{Destination: "d", Key: key}, RemoteRef: ref})
		if code != "" {
			return
		}
		parts := func(u *url.URL) int { return strings.Count(u.EscapedPath(), "/") }
		fields := func(u *url.URL) int { return strings.Count(u.RawQuery, "&") + strings.Count(u.RawQuery, "=") }
		if u.Host != plain.Host || u.Scheme != plain.Scheme || u.User != nil || parts(u) != parts(plain) || fields(u) != fields(plain) {
			t.Errorf("%q with %q, %q leads to %s", text, key, ref, u)
		}
	})
}
