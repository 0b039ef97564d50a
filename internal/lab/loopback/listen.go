// Package loopback serves HTTP to programs on this machine alone: not to the network, and not to web pages in a browser
// on this machine. Whatever the laboratory serves can read payloads and secrets and run functions, without credentials.
package loopback

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// Server serves a guarded handler on a loopback address.
type Server struct {
	URL string // http://127.0.0.1:port

	http  *http.Server
	ended chan error
}

// Listen serves h, guarded, on a loopback address such as "127.0.0.1:0". It refuses any other address.
func Listen(address string, h http.Handler) (*Server, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("listen: %q is not a loopback address; use 127.0.0.1:<port>", address)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if addr, ok := l.Addr().(*net.TCPAddr); !ok || !addr.IP.IsLoopback() { // what localhost is, the machine decides
		return nil, errors.Join(fmt.Errorf("listen: %s is not a loopback address", l.Addr()), l.Close())
	}
	return serve(l, h), nil
}

func serve(l net.Listener, h http.Handler) *Server {
	s := &Server{
		URL:   "http://" + l.Addr().String(),
		http:  &http.Server{Handler: Guard(arrivingInTime(h)), ReadHeaderTimeout: 10 * time.Second},
		ended: make(chan error, 1),
	}
	go func() { s.ended <- s.http.Serve(l) }()
	return s
}

// Close stops listening, lets requests under way finish for up to a second, then cuts them.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.http.Close()
	}
	if served := <-s.ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// bodyLimit is how long the body of a request may take to arrive. Only the arrival is bounded: an answer may take as long
// as a long poll does.
const bodyLimit = 20 * time.Second

// arrivingInTime cuts requests whose bodies do not arrive within bodyLimit.
func arrivingInTime(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != nil && r.Body != http.NoBody {
			control := http.NewResponseController(w)
			if control.SetReadDeadline(time.Now().Add(bodyLimit)) == nil {
				r.Body = &arriving{body: r.Body, arrived: func() { _ = control.SetReadDeadline(time.Time{}) }}
			}
		}
		h.ServeHTTP(w, r)
	})
}

// arriving is a body whose end, good or bad, ends the time for its arrival.
type arriving struct {
	body    io.ReadCloser
	arrived func()
}

func (a *arriving) Read(p []byte) (int, error) {
	n, err := a.body.Read(p)
	if err != nil {
		a.arrived()
	}
	return n, err
}

func (a *arriving) Close() error { return a.body.Close() }
