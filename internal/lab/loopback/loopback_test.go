package loopback

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// The headers are those that Chromium sends for a page of http://evil.example, then those of programs.
func TestGuardRefusesWhatAWebPageSends(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	server, err := Listen("127.0.0.1:0", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { calls.Add(1) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	address := strings.TrimPrefix(server.URL, "http://")
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	page := "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0.0.0\r\nAccept: */*\r\n"
	for _, c := range []struct {
		name, line, host, headers string
		served                    bool
	}{
		{name: "fetch no-cors", line: "POST /2015-03-31/functions/dispatch/invocations", headers: page + "Content-Type: text/plain;charset=UTF-8\r\nOrigin: http://evil.example\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: empty\r\n"},
		{name: "fetch of an older browser", line: "POST /", headers: page + "Content-Type: text/plain;charset=UTF-8\r\nOrigin: http://evil.example\r\n"},
		{name: "fetch of a sandboxed frame", line: "POST /", headers: page + "Content-Type: text/plain;charset=UTF-8\r\nOrigin: null\r\n"},
		{name: "form", line: "POST /", headers: page + "Content-Type: application/x-www-form-urlencoded\r\nOrigin: http://evil.example\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-User: ?1\r\nSec-Fetch-Dest: document\r\n"},
		{name: "preflight", line: "OPTIONS /", headers: page + "Origin: http://evil.example\r\nAccess-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: x-amz-target\r\nSec-Fetch-Mode: cors\r\nSec-Fetch-Site: cross-site\r\n"},
		{name: "image", line: "GET /ledger", headers: page + "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: image\r\nReferer: http://evil.example/\r\n"},
		{name: "link of a page", line: "GET /ledger", headers: page + "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n"},
		{name: "page of another port", line: "GET /ledger", headers: page + "Sec-Fetch-Site: same-site\r\nSec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: script\r\n"},
		{name: "WebSocket", line: "GET /", headers: page + "Connection: Upgrade\r\nUpgrade: websocket\r\nOrigin: http://evil.example\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"},
		{name: "DNS rebinding", line: "GET /ledger", host: "evil.example:" + port, headers: page},
		{name: "DNS rebinding, POST", line: "POST /", host: "evil.example:" + port, headers: page + "Content-Type: application/x-amz-json-1.0\r\nX-Amz-Target: DynamoDB_20120810.Scan\r\nOrigin: http://evil.example:" + port + "\r\n"},
		{name: "name that begins like ours", line: "GET /", host: "localhost.evil.example:" + port, headers: page},
		{name: "address in a name", line: "GET /", host: "127.0.0.1.evil.example:" + port, headers: page},
		{name: "another port", line: "GET /", host: "127.0.0.1:1", headers: page},
		{name: "no port", line: "GET /", host: "localhost", headers: page},
		{name: "address of the network", line: "GET /", host: "0.0.0.0:" + port, headers: page},

		{name: "typed into the address bar", line: "GET /ledger", headers: page + "Sec-Fetch-Site: none\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-User: ?1\r\nSec-Fetch-Dest: document\r\n", served: true},
		{name: "curl", line: "DELETE /ledger", headers: "User-Agent: curl/8.5.0\r\nAccept: */*\r\n", served: true},
		{name: "an SDK", line: "POST /", headers: "User-Agent: aws-sdk-go-v2/1.41.0\r\nX-Amz-Target: DynamoDB_20120810.Scan\r\n", served: true},
		{name: "fetch of Node", line: "POST /", headers: "User-Agent: node\r\nSec-Fetch-Mode: cors\r\n", served: true},
		{name: "localhost", line: "GET /", host: "LocalHost:" + port, served: true},
		{name: "below localhost", line: "GET /", host: "sqs.us-east-1.localhost:" + port, served: true},
		{name: "IPv6", line: "GET /", host: "[::1]:" + port, served: true},
	} {
		before := calls.Load()
		if c.host == "" {
			c.host = address
		}
		status, header := exchange(t, address, c.line+" HTTP/1.1\r\nHost: "+c.host+"\r\n"+c.headers+"Content-Length: 0\r\n\r\n")
		called := calls.Load() > before
		if c.served != (status == http.StatusOK) || c.served != called || !c.served && status != http.StatusForbidden {
			t.Errorf("%s: status %d, handler called: %t", c.name, status, called)
		}
		for name := range header {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s: %s is set", c.name, name)
			}
		}
	}
}

// exchange sends the bytes of a request, so that no client adds or withholds a header.
func exchange(t *testing.T, address, request string) (status int, header http.Header) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	return answer.StatusCode, answer.Header
}

func TestListenRefusesAddressesOfTheNetwork(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "example.com:0", "127.0.0.1", ""} {
		if s, err := Listen(address, http.NotFoundHandler()); err == nil {
			t.Errorf("%q is served at %s", address, s.URL)
		}
	}
}

// pipes is a listener whose connections are in memory, on the bubble's clock.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error   { close(p); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

func TestBodyThatDoesNotArriveIsCutAndALongPollIsNot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var failed error
		listener := make(pipes)
		server := serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, failed = io.ReadAll(r.Body); failed != nil {
				panic(http.ErrAbortHandler)
			}
			select {
			case <-time.After(time.Hour):
			case <-r.Context().Done():
				failed = context.Cause(r.Context())
			}
		}))
		defer server.Close()
		for body, whole := range map[string]bool{"all of it!": true, "a part": false} {
			began := time.Now()
			ours, theirs := net.Pipe()
			listener <- theirs
			fmt.Fprintf(ours, "POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 10\r\n\r\n%s", body)
			_, err := http.ReadResponse(bufio.NewReader(ours), nil)
			synctest.Wait()
			if took := time.Since(began); whole && (err != nil || failed != nil || took != time.Hour) {
				t.Errorf("a long poll: %v, %v after %v", err, failed, took)
			} else if !whole && (err == nil || failed == nil || took != bodyLimit) {
				t.Errorf("a slow body: %v, %v after %v", err, failed, took)
			}
			ours.Close()
		}
	})
}
