package egress_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landfall-dev/landfall/internal/egress"
	"github.com/landfall-dev/landfall/internal/lab/egresstest"
)

func yes(c *egresstest.Conn) {
	c.Read()
	c.Say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	c.Drain()
}

func TestRequestWithoutAConnectionLeavesNothing(t *testing.T) {
	t.Parallel()
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = gone.Close()
	closed := "http://" + gone.Addr().String()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	remote := egresstest.Serve(t, yes)
	for _, tc := range []struct {
		name string
		ctx  context.Context
		url  string
		want egress.Trouble
	}{
		{"nothing listens", t.Context(), closed, egress.ConnectRefused},
		{"no such name", t.Context(), "http://gone.test", egress.DNS},
		{"port that does not exist", t.Context(), "http://127.0.0.1:70000", egress.Connect},
		{"time is up", ended, remote.URL, egress.ConnectTimeout},
		{"another scheme", t.Context(), "gopher" + remote.URL[len("http"):], egress.Unsendable},
		{"no host", t.Context(), "http:///path", egress.Unsendable},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := egress.Exchange{Trouble: tc.want}
			if diff := cmp.Diff(want, private().Do(tc.ctx, post(t, tc.url, 1))); diff != "" {
				t.Error(diff)
			}
		})
	}
	remote.Close(t)
	if n := remote.Connections(); n != 0 {
		t.Errorf("%d connections", n)
	}
}

func TestRequestWithAnUnreadableBodyIsUnsendable(t *testing.T) {
	t.Parallel()
	remote := egresstest.Serve(t, yes)
	req := post(t, remote.URL, 3)
	req.Body = io.NopCloser(bytes.NewReader([]byte{1, 2})) // one less than its length
	got := private().Do(t.Context(), req)
	remote.Close(t)
	if got.Trouble != egress.Unsendable || remote.Connections() != 0 {
		t.Errorf("got %+v, %d connections", got, remote.Connections())
	}
}

func TestHandshakeThatFailsSendsNothing(t *testing.T) {
	t.Parallel()
	inAnHour := time.Now().Add(time.Hour)
	good := egresstest.Certificate(t, "127.0.0.1", inAnHour)
	expired := egresstest.Certificate(t, "127.0.0.1", time.Now().Add(-time.Hour))
	elsewhere := egresstest.Certificate(t, "127.0.0.9", inAnHour)
	untrusted := egresstest.UntrustedCertificate(t, "127.0.0.1", inAnHour)
	server := func(c tls.Certificate) *tls.Config { return &tls.Config{Certificates: []tls.Certificate{c}} }
	old := server(good)
	old.MaxVersion = tls.VersionTLS11
	other := server(good)
	other.NextProtos = []string{"smtp"}
	for _, tc := range []struct {
		name   string
		server *tls.Config // nil: the server does not speak TLS
		script func(*egresstest.Conn)
		want   egress.Trouble
	}{
		{"untrusted", server(untrusted), yes, egress.TLSCertificate},
		{"expired", server(expired), yes, egress.TLSCertificate},
		{"for another host", server(elsewhere), yes, egress.TLSCertificate},
		{"too old", old, yes, egress.TLS},
		{"another protocol", other, yes, egress.TLS},
		{"no certificate", &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return nil, io.EOF }}, yes, egress.TLS},
		{"cut", nil, func(c *egresstest.Conn) { _, _ = c.Conn.Read(make([]byte, 1)) }, egress.TLS},
		{"reset", nil, func(c *egresstest.Conn) { _, _ = c.Conn.Read(make([]byte, 1)); c.Reset() }, egress.TLS},
		{"plain HTTP", nil, func(c *egresstest.Conn) {
			c.Say("HTTP/1.1 400 Plain HTTP\r\n\r\n")
			c.Drain()
		}, egress.TLS},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			remote := egresstest.Serve(t, tc.script)
			if tc.server != nil {
				remote = egresstest.ServeTLS(t, tc.server, tc.script)
			}
			got := private().Do(t.Context(), post(t, "https"+remote.URL[len(remote.URL)-len("://127.0.0.1:00000"):], 100))
			remote.Close(t)
			if diff := cmp.Diff(egress.Exchange{Trouble: tc.want}, got); diff != "" {
				t.Error(diff)
			}
			if n := remote.Requests(); n != 0 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

func TestHandshakeThatStallsSendsNothing(t *testing.T) {
	t.Parallel()
	remote := egresstest.Serve(t, func(c *egresstest.Conn) {
		_, _ = c.Conn.Read(make([]byte, 1))
		c.GiveUp()
		c.Hold()
	})
	got := private().Do(remote.Context(), post(t, "https"+remote.URL[len("http"):], 1))
	if diff := cmp.Diff(egress.Exchange{Trouble: egress.ConnectTimeout}, got); diff != "" {
		t.Error(diff)
	}
}

// frozen is a context whose deadline passes without its timer firing: the process was stopped meanwhile.
type frozen struct {
	context.Context
	passed atomic.Bool
}

func (f *frozen) Deadline() (time.Time, bool) { return time.Now().Add(-time.Second), f.passed.Load() }

func TestProcessThatWasFrozenPastItsDeadlineSendsNothing(t *testing.T) {
	t.Parallel()
	certificate := egresstest.Certificate(t, "127.0.0.1", time.Now().Add(time.Hour))
	ctx := &frozen{Context: t.Context()}
	remote := egresstest.ServeTLS(t, &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		ctx.passed.Store(true)
		return &certificate, nil
	}}, yes)
	got := private().Do(ctx, post(t, remote.URL, 1))
	remote.Close(t)
	if diff := cmp.Diff(egress.Exchange{Trouble: egress.ConnectTimeout}, got); diff != "" {
		t.Error(diff)
	}
	if n := remote.Requests(); n != 0 {
		t.Errorf("%d requests", n)
	}
}

// A remote that wakes up after the client has given up must not find a whole request in its socket, which the client's
// kernel went on delivering.
func TestRequestThatTimedOutNeverArrivesWhole(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	done := make(chan struct{})
	remote := egresstest.Serve(t, func(c *egresstest.Conn) {
		_ = c.Conn.(*net.TCPConn).SetReadBuffer(4 << 10)
		req := c.ReadHead()
		c.GiveUp()
		<-done
		if n, _ := io.Copy(io.Discard, req.Body); n == size {
			t.Error("the request arrived after it was given up")
		}
	})
	got := private().Do(remote.Context(), post(t, remote.URL, size))
	close(done)
	if !got.Began || got.Trouble != egress.NoAnswer {
		t.Errorf("got %+v", got)
	}
}

func TestEachRequestHasItsOwnConnection(t *testing.T) {
	t.Parallel()
	certificate := egresstest.Certificate(t, "127.0.0.1", time.Now().Add(time.Hour))
	var mu sync.Mutex
	var resumed []bool
	remote := egresstest.ServeTLS(t, &tls.Config{
		Certificates: []tls.Certificate{certificate},
		NextProtos:   []string{"h2", "http/1.1"},
	}, func(c *egresstest.Conn) {
		req := c.ReadHead()
		if req.ProtoMajor != 1 || !req.Close {
			t.Errorf("%s, close %v", req.Proto, req.Close)
		}
		mu.Lock()
		resumed = append(resumed, c.Conn.(*tls.Conn).ConnectionState().DidResume)
		mu.Unlock()
		c.Say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n")
		c.Drain()
	})
	client := private()
	for range 3 {
		if x := client.Do(t.Context(), post(t, remote.URL, 0)); x.Answer == nil {
			t.Fatalf("got %+v", x)
		}
	}
	remote.Close(t)
	if remote.Connections() != 3 || remote.Requests() != 3 {
		t.Errorf("%d connections, %d requests", remote.Connections(), remote.Requests())
	}
	if diff := cmp.Diff([]bool{false, true, true}, resumed); diff != "" {
		t.Errorf("TLS sessions resumed (-want +got):\n%s", diff)
	}
}

func TestRequestWithoutABodyIsExactToTheByte(t *testing.T) {
	t.Parallel()
	remote := egresstest.Serve(t, func(c *egresstest.Conn) {
		c.Read()
		c.Say("HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}")
	})
	req, err := http.NewRequest("GET", remote.URL+"/by-key/a%2Fb?x=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	x := private().Do(t.Context(), req)
	remote.Close(t)
	if x.Answer == nil || x.Answer.Status != 404 || string(x.Answer.Body) != "{}" {
		t.Errorf("got %+v", x)
	}
	want := "GET /by-key/a%2Fb?x=1 HTTP/1.1\r\nHost: " + remote.URL[len("http://"):] + "\r\nUser-Agent: Go-http-client/1.1\r\nConnection: close\r\n\r\n"
	if got := string(remote.Raw()); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
