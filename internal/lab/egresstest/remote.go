// Package egresstest is the far end of tests of clients: a listener on loopback that treats each connection as the test's
// script says, and keeps every byte that it read.
//
// Scripts need no timing: a script that stalls tells the client to give up, and waits until it has.
package egresstest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// Remote is a listener. Make one with [Serve] or [ServeTLS].
type Remote struct {
	// URL has no path.
	URL string

	listener *net.TCPListener
	script   func(*Conn)
	release  func()         // ends the scripts that hold
	loop     sync.WaitGroup // accepting
	handlers sync.WaitGroup
	closing  chan struct{}
	ctx      context.Context
	giveUp   context.CancelFunc

	mu    sync.Mutex
	conns []*Conn
	// last is the address of the connection that reach makes, behind all others; reached is closed once it was accepted.
	last    string
	reached chan struct{}
}

// Conn is one connection as its script sees it.
type Conn struct {
	Conn   net.Conn
	remote *Remote
	in     *bufio.Reader
	raw    bytes.Buffer
	// requests counts complete heads.
	requests int
}

// Serve runs script for every connection, and closes the connection after it.
func Serve(t testing.TB, script func(*Conn)) *Remote { return serve(t, nil, script) }

// ServeTLS is Serve over TLS.
func ServeTLS(t testing.TB, config *tls.Config, script func(*Conn)) *Remote {
	return serve(t, config, script)
}

func serve(t testing.TB, config *tls.Config, script func(*Conn)) *Remote {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &Remote{
		URL: "http://" + listener.Addr().String(), listener: listener.(*net.TCPListener), script: script,
		closing: make(chan struct{}),
	}
	r.ctx, r.giveUp = context.WithCancel(t.Context())
	r.release = sync.OnceFunc(func() { close(r.closing) })
	wrap := func(c net.Conn) net.Conn { return c }
	if config != nil {
		r.URL = "https://" + listener.Addr().String()
		wrap = func(c net.Conn) net.Conn { return tls.Server(c, config) }
	}
	r.loop.Go(func() {
		for {
			raw, err := r.listener.AcceptTCP()
			if err != nil {
				return
			}
			_ = raw.SetReadBuffer(64 << 10) // so that TooMuch is too much
			r.handle(raw, wrap(raw))
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		r.release()
		r.loop.Wait()
		r.handlers.Wait()
	})
	return r
}

func (r *Remote) handle(raw *net.TCPConn, conn net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if raw.RemoteAddr().String() == r.last {
		_ = raw.SetLinger(0) // leave no trace in the kernel
		_ = raw.Close()
		close(r.reached)
		return
	}
	c := &Conn{Conn: conn, remote: r}
	c.in = bufio.NewReader(io.TeeReader(conn, &c.raw))
	r.conns = append(r.conns, c)
	r.handlers.Go(func() {
		defer func() { _ = conn.Close() }()
		r.script(c)
	})
}

// Close stops listening, after every connection that was made so far was served to its end.
func (r *Remote) Close(t testing.TB) {
	r.reach(t)
	_ = r.listener.Close()
	r.release()
	r.loop.Wait()
	r.handlers.Wait()
}

// Take waits until every connection that was made so far was served to its end, returns the numbers of connections and
// requests, and forgets them. It is for fuzzing: a listener for every input would use up the machine's ports.
func (r *Remote) Take(t testing.TB) (connections, requests int) {
	r.reach(t)
	r.handlers.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	connections, requests = r.Connections(), r.Requests()
	r.conns = nil
	return connections, requests
}

// reach returns when every connection that was made so far is being served.
func (r *Remote) reach(t testing.TB) {
	r.mu.Lock() // until the address of the last one is known
	last, err := net.Dial("tcp", r.listener.Addr().String())
	if err != nil {
		r.mu.Unlock()
		t.Fatal(err)
	}
	r.last, r.reached = last.LocalAddr().String(), make(chan struct{})
	r.mu.Unlock()
	<-r.reached // connections are accepted in their order
	for _, c := range r.conns {
		_ = c.Conn.SetReadDeadline(time.Now().Add(10 * time.Second)) // should the client have left it open
	}
	_ = last.Close()
}

// TooMuch is more bytes than a client can write to a remote that does not read.
const TooMuch = 8 << 20

// Context is for the client to use. It ends when a script says so, or with the test.
func (r *Remote) Context() context.Context { return r.ctx }

// Connections is the number of connections that were made. Call it after Close.
func (r *Remote) Connections() int { return len(r.conns) }

// Requests is the number of requests whose head was read whole. Call it after Close.
func (r *Remote) Requests() int {
	n := 0
	for _, c := range r.conns {
		n += c.requests
	}
	return n
}

// Raw is everything that was read. Call it after Close.
func (r *Remote) Raw() []byte {
	var all []byte
	for _, c := range r.conns {
		all = append(all, c.raw.Bytes()...)
	}
	return all
}

// Read reads one request to its end and reports whether it came whole.
func (c *Conn) Read() bool {
	req := c.ReadHead()
	if req == nil {
		return false
	}
	_, err := io.Copy(io.Discard, req.Body)
	return err == nil
}

// ReadHead reads the head of a request; nil if none came.
func (c *Conn) ReadHead() *http.Request {
	req, err := http.ReadRequest(c.in)
	if err != nil {
		return nil
	}
	c.requests++
	return req
}

// Say writes, and reports whether that worked: whether the client is still there, as far as the kernel can tell.
func (c *Conn) Say(text string) bool {
	_, err := io.WriteString(c.Conn, text)
	return err == nil
}

// Drain reads, and counts requests, until the client closes or resets the connection.
func (c *Conn) Drain() {
	for c.Read() {
	}
	_, _ = io.Copy(io.Discard, c.in)
}

// GiveUp ends the client's context.
func (c *Conn) GiveUp() { c.remote.giveUp() }

// GiveUpSoon ends the client's context after the client has had ample time to read what was said.
func (c *Conn) GiveUpSoon() { time.AfterFunc(time.Second, c.remote.giveUp) }

// Hold waits, without reading, until the remote is closed: by then the client is done.
func (c *Conn) Hold() { <-c.remote.closing }

// Reset ends the connection at once, and discards what the client did not read.
func (c *Conn) Reset() {
	conn := c.Conn
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	_ = conn.(*net.TCPConn).SetLinger(0)
	_ = conn.Close()
}
