package egress_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/landfall-dev/landfall/internal/egress"
	"github.com/landfall-dev/landfall/internal/lab/egresstest"
)

const huge = egresstest.TooMuch

func post(t testing.TB, url string, size int) *http.Request {
	t.Helper()
	req, err := http.NewRequest("POST", url, bytes.NewReader(make([]byte, size)))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func private() *egress.Client { return egress.New(egress.Options{AllowPrivate: true}) }

func TestExchangeReportsExactlyWhatHappened(t *testing.T) {
	t.Parallel()
	says := func(text string) func(*egresstest.Conn) {
		return func(c *egresstest.Conn) { c.Read(); c.Say(text) }
	}
	for _, tc := range []struct {
		name   string
		size   int
		script func(c *egresstest.Conn)
		want   egress.Trouble
		status int
		body   string
		// unwritten: the request did not leave as a whole.
		unwritten bool
	}{
		{name: "answer", script: says("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"), status: 200, body: "hi"},
		{name: "answer of HTTP/1.0", script: says("HTTP/1.0 201 Created\r\n\r\nhi"), status: 201, body: "hi"},
		{name: "answer with bare line feeds", script: says("HTTP/1.1 200 OK\n\n"), status: 200},
		{name: "answer without reason", script: says("HTTP/1.1 200 \r\n\r\n"), status: 200},
		{name: "interim answers", script: says("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n"), status: 204},
		{name: "interim answer, then cut", script: says("HTTP/1.1 100 Continue\r\n\r\n"), want: egress.Cut},
		{name: "interim answers without end", script: says(strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 4000)), want: egress.BadAnswer},
		{name: "a second answer", script: says("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"), status: 500},
		{name: "body in chunks", script: says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"), status: 200, body: "hi"},
		{name: "body shorter than it says", script: says("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi"), status: 200},
		{name: "body longer than it says", script: says("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi there"), status: 200, body: "hi"},
		{name: "body in broken chunks", script: says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\nhi"), status: 200},
		{name: "longest body", script: says("HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("b", egress.MaxBody)), status: 200, body: strings.Repeat("b", egress.MaxBody)},
		{name: "body too long", script: says("HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("b", egress.MaxBody+1)), status: 200},
		{name: "body without end", script: func(c *egresstest.Conn) {
			c.Read()
			c.Say("HTTP/1.1 200 OK\r\n\r\nhi")
			c.GiveUpSoon()
			c.Drain()
		}, status: 200},
		{name: "longest head", script: says("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", egress.MaxHead-30) + "\r\n\r\n"), status: 200},
		{name: "head too long", script: says("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", egress.MaxHead) + "\r\n\r\n"), want: egress.BadAnswer},
		{name: "head without blank line", script: says("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"), want: egress.Cut},
		{name: "half a status line", script: says("HTTP/1.1 200"), want: egress.Cut},
		{name: "nothing", script: says(""), want: egress.Cut},
		{name: "no HTTP", script: says("SSH-2.0-OpenSSH_9.9\r\n"), want: egress.BadAnswer},
		{name: "HTTP/2", script: says("HTTP/2.0 200 OK\r\n\r\n"), want: egress.BadAnswer},
		{name: "switch of protocols", script: says("HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"), want: egress.BadAnswer},
		{name: "status 099", script: says("HTTP/1.1 099 No\r\n\r\n"), want: egress.BadAnswer},
		{name: "status 600", script: says("HTTP/1.1 600 No\r\n\r\n"), want: egress.BadAnswer},
		{name: "status of two digits", script: says("HTTP/1.1 20 No\r\n\r\n"), want: egress.BadAnswer},
		{name: "header without colon", script: says("HTTP/1.1 200 OK\r\nnonsense\r\n\r\n"), want: egress.BadAnswer},
		{name: "lengths that differ", script: says("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"), want: egress.BadAnswer},
		{name: "talks first", script: func(c *egresstest.Conn) { c.Say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"); c.Drain() }, status: 200},

		{name: "yes before it read all, and reads on", size: huge, script: func(c *egresstest.Conn) {
			req := c.ReadHead()
			c.Say("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
			if n, err := new(bytes.Buffer).ReadFrom(req.Body); n != huge {
				t.Errorf("the rest did not come: %d bytes, %v", n, err)
			}
		}, status: 202},
		{name: "yes before it read all, and resets", size: huge, unwritten: true, script: func(c *egresstest.Conn) {
			c.ReadHead()
			c.Say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
			c.Reset()
		}, status: 200},
		{name: "yes before it read all, and stalls", size: huge, unwritten: true, script: func(c *egresstest.Conn) {
			c.ReadHead()
			c.Say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
			c.GiveUpSoon()
			c.Hold()
		}, status: 200},
		{name: "no before it read all, and resets", size: huge, unwritten: true, script: func(c *egresstest.Conn) {
			c.ReadHead()
			c.Say("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
			c.Reset()
		}, status: 413},
		{name: "no before it read all, and waits", size: huge, unwritten: true, script: func(c *egresstest.Conn) {
			c.ReadHead()
			c.Say("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
			c.Drain()
		}, status: 413},
		{name: "resets before it read a head", size: huge, unwritten: true, script: func(c *egresstest.Conn) {
			_, _ = c.Conn.Read(make([]byte, 1)) // a reset any earlier may fail the connecting itself
			c.Reset()
		}, want: egress.Cut},
		{name: "reads the head, says nothing", size: huge, unwritten: true, script: func(c *egresstest.Conn) {
			c.ReadHead()
			c.GiveUp()
			c.Hold()
		}, want: egress.NoAnswer},
		{name: "resets instead of an answer", script: func(c *egresstest.Conn) { c.Read(); c.Reset() }, want: egress.Cut},
		{name: "answers and resets", script: func(c *egresstest.Conn) {
			c.Read()
			c.Say("HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n")
			c.Reset()
		}, status: 503},
		{name: "stalls", script: func(c *egresstest.Conn) { c.Read(); c.GiveUp(); c.Drain() }, want: egress.NoAnswer},
		{name: "stalls in the head", script: func(c *egresstest.Conn) {
			c.Read()
			c.Say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n")
			c.GiveUp()
			c.Drain()
		}, want: egress.NoAnswer},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			remote := egresstest.Serve(t, tc.script)
			x := private().Do(remote.Context(), post(t, remote.URL, tc.size))
			remote.Close(t)
			if !x.Began || x.Trouble != tc.want || (x.Answer == nil) != (tc.want != "") {
				t.Fatalf("got %+v, want trouble %q, status %d", x, tc.want, tc.status)
			}
			if tc.size > 0 && x.Written == tc.unwritten {
				t.Errorf("Written = %v", x.Written)
			}
			if a := x.Answer; a != nil && (a.Status != tc.status || string(a.Body) != tc.body) {
				t.Errorf("got %d %.20q, want %d %.20q", a.Status, a.Body, tc.status, tc.body)
			}
			if remote.Connections() != 1 {
				t.Errorf("%d connections", remote.Connections())
			}
		})
	}
}
