// Package egress makes HTTP requests to remotes: one request on one connection, with an exact account of how far it got.
// Senders and lookups build on it. It knows nothing of rows, and does not decide what an answer means.
//
// An exchange is a fresh HTTP/1.1 connection with one request, which is rendered before anything is dialled and written
// once. Nothing is repeated or redirected. The wire format is net/http's, but its Transport is not used: it resends
// requests that it considers safe (any with an Idempotency-Key), and does not report whether a request was written to its
// end. Proxies of the environment are not used either: a proxy would resolve names and connect where the guard of this
// package cannot see it, and could repeat the request.
//
// No error text leaves the package, only a [Trouble]: texts of net and crypto/tls quote URLs and what remotes sent.
package egress

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"syscall"
	"time"
)

// Options of a [Client]. The zero value is the strictest.
type Options struct {
	// AllowPrivate lets connections go to loopback, private and shared addresses (RFC 1918, RFC 6598, RFC 4193).
	// Link-local and metadata addresses stay out of bounds. Defaults to false.
	AllowPrivate bool
}

// Client makes exchanges. It may be used from several goroutines at once. Make one per destination with [New]: it
// remembers TLS sessions, nothing else.
type Client struct {
	guard guard
	tls   *tls.Config
}

// New returns a client.
func New(o Options) *Client {
	return &Client{
		guard: newGuard(o.AllowPrivate),
		tls: &tls.Config{
			// Offered, so that a server of other protocols alone can say so in the handshake, before anything is sent.
			NextProtos:         []string{"http/1.1"},
			ClientSessionCache: tls.NewLRUClientSessionCache(0),
			MinVersion:         tls.VersionTLS12,
		},
	}
}

// Do makes one exchange. It sends at most one request, and returns when the answer was read or, at the latest, when
// ctx ends; nothing of it goes on after that. The body of req is read to its end before anything is dialled.
func (c *Client) Do(ctx context.Context, req *http.Request) Exchange {
	wire, err := render(req)
	if err != nil {
		return Exchange{Trouble: Unsendable}
	}
	raw, trouble := c.dial(ctx, address(req.URL))
	if trouble != "" {
		return Exchange{Trouble: trouble}
	}
	defer func() { _ = raw.Close() }() // without a TLS farewell, which could wait for a peer that does not read
	conn := raw
	if req.URL.Scheme == "https" {
		if conn, trouble = c.secure(ctx, raw, req.URL.Hostname()); trouble != "" {
			return Exchange{Trouble: trouble}
		}
	}
	if over(ctx) {
		return Exchange{Trouble: ConnectTimeout}
	}
	x := exchange(ctx, raw, conn, req, wire)
	if x.Answer != nil {
		x.Answer.Body = decoded(x.Answer.Body, x.Answer.Header)
	}
	return x
}

// ports has the schemes that there are.
var ports = map[string]string{"http": "80", "https": "443"}

// render is the whole request as it will be on the wire.
func render(req *http.Request) ([]byte, error) {
	if ports[req.URL.Scheme] == "" || req.URL.Hostname() == "" {
		return nil, errors.New("want http or https and a host")
	}
	one := *req
	one.Close = true
	var wire bytes.Buffer
	if err := one.Write(&wire); err != nil {
		return nil, fmt.Errorf("render request: %w", err)
	}
	return wire.Bytes(), nil
}

func address(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = ports[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// dial connects to the first address that the guard lets pass and that answers. The guard sees each address
// as it is about to be connected to, so a name that resolves differently from one moment to the next gains nothing.
func (c *Client) dial(ctx context.Context, address string) (net.Conn, Trouble) {
	var passed, refused atomic.Bool // the families are tried side by side
	d := net.Dialer{Control: func(network, address string, conn syscall.RawConn) error {
		err := c.guard.check(network, address, conn)
		if err != nil {
			refused.Store(true)
		} else {
			passed.Store(true)
		}
		return err
	}}
	conn, err := d.DialContext(ctx, "tcp", address)
	switch {
	case err == nil:
		return conn, ""
	case over(ctx):
		return nil, ConnectTimeout
	case refused.Load() && !passed.Load():
		return nil, AddressRefused
	}
	return nil, dialTrouble(err)
}

// secure shakes hands.
func (c *Client) secure(ctx context.Context, raw net.Conn, host string) (net.Conn, Trouble) {
	config := c.tls.Clone()
	config.ServerName = host
	conn := tls.Client(raw, config)
	switch err := conn.HandshakeContext(ctx); {
	case err == nil:
		return conn, ""
	case over(ctx):
		return nil, ConnectTimeout
	default:
		return nil, handshakeTrouble(err)
	}
}

// over reports whether the time is up. It looks at the clock, too: a process that was frozen may see its deadline
// pass before the timer of the context has fired.
func over(ctx context.Context) bool {
	deadline, limited := ctx.Deadline()
	return ctx.Err() != nil || limited && !time.Now().Before(deadline)
}
