package sender_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/landfall-dev/landfall/internal/egress/egresstest"
	"github.com/landfall-dev/landfall/internal/outbox"
	"github.com/landfall-dev/landfall/internal/sender"
)

// completeYes is a complete head of a 2xx answer, behind complete interim ones.
var completeYes = regexp.MustCompile(`^(?s:HTTP/1\.\d 1\d\d.*?\n\r?\n)*HTTP/1\.\d 2\d\d(?s:[ \r\n].*?)?\n\r?\n`)

func FuzzAnswer(f *testing.F) {
	for _, answer := range []string{
		"", "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{\"id\":\"ch_1\"}", "HTTP/1.1 200 OK\r\nX: 1\r\n",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
		"HTTP/1.1 429 Later\r\nRetry-After: 5\r\n\r\n", "HTTP/1.0 200\n\n", "HTTP/1.1 101 Switch\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "\r\n\r\n",
		"HTTP/1.1 200 OK\r\n Folded: x\r\n\r\n", "HTTP/1.1 2e2 OK\r\n\r\n", "HTTP/1.1 303 See\r\nLocation: /\r\n\r\n",
	} {
		f.Add(answer)
	}
	code := regexp.MustCompile(`^landfall\.http\.(status_[2-5]\d\d|cut|bad_answer|early_answer)$`)
	f.Fuzz(func(t *testing.T, answer string) {
		remote := egresstest.Serve(t, says(answer))
		out := newHTTP(t, sender.HTTPOptions{URL: remote.URL, RefPointer: "/id"}).Send(t.Context(), order("{}"))
		remote.Close(t)
		switch {
		case out.Kind == outbox.Landed:
			if !completeYes.MatchString(answer) {
				t.Errorf("completed by %q", answer)
			}
		case !code.MatchString(out.Code):
			t.Errorf("%q: code %q", answer, out.Code)
		case out.Kind == outbox.NotArrived && !strings.Contains(answer, " 4"):
			t.Errorf("%q: %+v", answer, out)
		}
		if remote.Connections() != 1 || remote.Requests() != 1 {
			t.Errorf("%d connections, %d requests", remote.Connections(), remote.Requests())
		}
	})
}
