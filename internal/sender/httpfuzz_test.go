package sender_test

import (
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/landfall-dev/landfall/internal/lab/egresstest"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/sender"
)

func FuzzAnswer(f *testing.F) {
	for _, answer := range []string{
		"", "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{\"id\":\"ch_1\"}", "HTTP/1.1 200 OK\r\nX: 1\r\n",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
		"HTTP/1.1 429 Later\r\nRetry-After: 5\r\n\r\n", "HTTP/1.0 200\n\n", "HTTP/1.0  200 \n\n", "HTTP/1.1 101 Switch\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "\r\n\r\n",
		"HTTP/1.1 200 OK\r\n Folded: x\r\n\r\n", "HTTP/1.1 2e2 OK\r\n\r\n", "HTTP/1.1 303 See\r\nLocation: /\r\n\r\n",
	} {
		f.Add(answer)
	}
	code := regexp.MustCompile(`^landfall\.http\.(status_[2-5]\d\d|cut|bad_answer|early_answer)$`)
	var said atomic.Pointer[string]
	remote := egresstest.Serve(f, func(c *egresstest.Conn) { says(*said.Load())(c) })
	f.Fuzz(func(t *testing.T, answer string) {
		said.Store(&answer)
		out := newHTTP(t, sender.HTTPOptions{URL: remote.URL, RefPointer: "/id"}).Send(t.Context(), order("{}"))
		connections, requests := remote.Take(t)
		switch {
		case out.Kind == outbox.KindCompleted:
			if !strings.HasPrefix(egresstest.FinalStatus(answer), "2") {
				t.Errorf("completed by %q", answer)
			}
		case !code.MatchString(out.Code):
			t.Errorf("%q: code %q", answer, out.Code)
		case out.Kind == outbox.KindRetryable && !strings.HasPrefix(egresstest.FinalStatus(answer), "4"):
			t.Errorf("%q: %+v", answer, out)
		}
		if connections != 1 || requests != 1 {
			t.Errorf("%d connections, %d requests", connections, requests)
		}
	})
}
